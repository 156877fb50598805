//! A command between pipes: standard input in, standard output and standard error out, each byte as it was.

use std::io::{self, Write};

use atoll_api::bash::{AttachBash, BashEncoding, BashEvent, BashInput, BashSignal, BashStatus};
use atoll_client::Speaking;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Plan, TIMED_OUT, exit_code};
use crate::failure::Failure;
use crate::output::written;
use crate::program::Session;
use crate::stdin;

/// Bytes of input that may be on their way to a command that does not read.
const AHEAD: u64 = 1 << 20;
/// How often an interrupt may be asked for before the command is killed.
const PATIENCE: u8 = 3;

/// Runs a command; the answer is its exit code.
pub(super) async fn run(session: &Session, plan: &Plan) -> Result<u8, Failure> {
    let attach = AttachBash { session_id: plan.session.clone(), encoding: BashEncoding::Base64 };
    let talk = session.client.converse(attach).await.map_err(|error| session.explain(error))?;
    let (speaking, mut hearing) = talk.split();
    let mut run = Running { session, speaking, sent: 0, taken: 0, started: false, offsets: [0, 0] };
    run.say(BashInput::Exec {
        data: plan.command.clone().unwrap_or_default(),
        exec_dir: plan.directory.clone(),
        env: Some(plan.environment.clone()),
        hard_timeout: plan.timeout,
    })
    .await?;
    let mut input = stdin::pieces()?;
    let mut input_open = true;
    let mut signals = Signals::new()?;
    loop {
        tokio::select! {
            event = hearing.receive() => {
                let event = event.ok_or_else(|| {
                    Failure::no_server("the connection ended before the command did")
                })?;
                let event = event.map_err(|error| session.explain(error))?;
                if let Some(code) = run.hear(event, plan).await? {
                    return Ok(code);
                }
            }
            piece = input.recv(), if input_open && run.has_room() => {
                input_open = piece.is_some();
                run.feed(piece).await?;
            }
            signal = signals.next() => run.say(BashInput::Kill { signal }).await?,
        }
    }
}

struct Running<'a> {
    session: &'a Session,
    speaking: Speaking<AttachBash>,
    sent: u64,
    taken: u64,
    started: bool,
    /// Bytes of standard output and standard error seen.
    offsets: [u64; 2],
}

impl Running<'_> {
    fn has_room(&self) -> bool {
        self.sent - self.taken < AHEAD
    }

    async fn say(&mut self, message: BashInput) -> Result<(), Failure> {
        let said = self.speaking.send(&message).await;
        said.map_err(|error| self.session.explain(error))
    }

    /// Passes input on; none is its end.
    async fn feed(&mut self, piece: Option<Vec<u8>>) -> Result<(), Failure> {
        let Some(piece) = piece else {
            return self.say(BashInput::CloseStdin {}).await;
        };
        self.sent += piece.len() as u64;
        self.say(BashInput::Input { data: BASE64.encode(&piece) }).await
    }

    /// Takes an event; the answer is an exit code when the command has ended.
    async fn hear(&mut self, event: BashEvent, plan: &Plan) -> Result<Option<u8>, Failure> {
        match event {
            BashEvent::CommandStarted { .. } => self.started = true,
            BashEvent::Output { data, offset, .. } => {
                self.print(&mut io::stdout().lock(), 0, &data, offset)?;
            }
            BashEvent::Stderr { data, stderr_offset, .. } => {
                self.print(&mut io::stderr().lock(), 1, &data, stderr_offset)?;
            }
            BashEvent::InputTaken { bytes } => self.taken = bytes,
            BashEvent::CommandDone { status: BashStatus::TimedOut, .. } => {
                let seconds = plan.timeout.unwrap_or_default();
                eprintln!("atoll: the command was killed: its {seconds} seconds were over");
                return Ok(Some(TIMED_OUT));
            }
            BashEvent::CommandDone { exit_code: code, .. } => return Ok(Some(exit_code(code))),
            BashEvent::Ping { .. } => self.say(BashInput::Pong {}).await?,
            BashEvent::Error { data } if !self.started => return Err(Failure::failed(data)),
            BashEvent::Error { data } => eprintln!("atoll: {data}"),
            BashEvent::SessionId { .. } | BashEvent::Pong { .. } => {}
        }
        Ok(None)
    }

    /// Prints a piece of a stream, which must follow on what was printed of it.
    fn print(
        &mut self,
        sink: &mut dyn Write,
        stream: usize,
        data: &str,
        offset: u64,
    ) -> Result<(), Failure> {
        let unreadable = |error| Failure::failed(format!("output cannot be read: {error}"));
        let bytes = BASE64.decode(data).map_err(unreadable)?;
        if let Some(seen) = self.offsets.get_mut(stream) {
            let lost = offset.saturating_sub(*seen + bytes.len() as u64);
            if lost > 0 {
                return Err(Failure::failed(format!(
                    "{lost} bytes of the output were lost: nobody read them before the sandbox had no room left"
                )));
            }
            *seen = offset;
        }
        written(sink.write_all(&bytes).and_then(|()| sink.flush()))
    }
}

/// Signals meant for the command.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    interrupts: u8,
}

impl Signals {
    fn new() -> Result<Self, Failure> {
        let listen = |kind| {
            let failed = |error| Failure::failed(format!("signals cannot be heard: {error}"));
            signal(kind).map_err(failed)
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            interrupts: 0,
        })
    }

    /// The next signal for the command. Who insists on an interrupt gets an end.
    async fn next(&mut self) -> BashSignal {
        tokio::select! {
            _ = self.interrupt.recv() => {
                self.interrupts = self.interrupts.saturating_add(1);
                if self.interrupts < PATIENCE { BashSignal::Int } else { BashSignal::Kill }
            }
            _ = self.terminate.recv() => BashSignal::Term,
            _ = self.hang_up.recv() => BashSignal::Term,
        }
    }
}

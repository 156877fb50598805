//! A command with a terminal of its own, shown on this one. Keys go in raw, so that every key means there what it means
//! here; this terminal is as it was before when the command is over, whatever happens.

use std::io;
use std::time::Duration;

use atoll_api::shell::{
    AttachShell, CloseShell, CreateShell, ExecShell, ShellCommandResult, ShellStatus,
    TerminalInput, TerminalOutput, TerminalSize, WriteShell,
};
use atoll_client::{Events, Hearing, Speaking, StreamEvent};
use futures::StreamExt;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};

use super::keys::Keys;
use super::{Plan, TIMED_OUT, exit_code};
use crate::failure::Failure;
use crate::output::print;
use crate::program::Session;
use crate::stdin;

/// How long the sandbox may take to learn the size of the terminal.
const SETTLE: Duration = Duration::from_secs(5);
/// Past the end of any terminal's stream: nothing of it is to be shown again.
const FROM_NOW_ON: u64 = u64::MAX >> 1;

/// How it ended.
enum End {
    Over(u8),
    Left,
}

/// Runs a command, or shows a session's terminal; the answer is an exit code.
pub(super) async fn run(session: &Session, plan: &Plan) -> Result<u8, Failure> {
    let create = CreateShell { id: plan.session.clone(), ..CreateShell::default() };
    let made = session.client.call(create).await.map_err(|error| session.explain(error))?;
    let id = made.session_id;
    // A session that is named is looked at as it is; otherwise a shell is a command like any other.
    let command = match (&plan.command, &plan.session) {
        (None, Some(_)) => None,
        (command, _) => Some(command.clone().unwrap_or_else(|| "bash -i".to_owned())),
    };
    let ended = attached(session, plan, &id, command).await;
    match &ended {
        Ok(End::Left) => {
            eprintln!("atoll: left; return with: atoll exec --session {id}");
        }
        _ if plan.session.is_none() => {
            // It has nobody else who knows of it; one that is gone already is closed too.
            let _gone = session.client.call(CloseShell { session_id: id }).await;
        }
        _ => {}
    }
    Ok(match ended? {
        End::Over(code) => code,
        End::Left => 0,
    })
}

async fn attached(
    session: &Session,
    plan: &Plan,
    id: &str,
    command: Option<String>,
) -> Result<End, Failure> {
    let offset = command.is_some().then_some(FROM_NOW_ON);
    let attach = AttachShell { session_id: Some(id.to_owned()), offset };
    let talk = session.client.converse(attach).await.map_err(|error| session.explain(error))?;
    let (mut speaking, mut hearing) = talk.split();
    resize(session, &mut speaking).await?;
    let raw = RawMode::enter()?;
    let events = if let Some(command) = command {
        settled(session, &mut speaking, &mut hearing).await?;
        Some(start(session, plan, id, command).await?)
    } else {
        print(format!("[session {id}; Enter ~ . leaves it]\r\n").as_bytes())?;
        None
    };
    let ended = Attached { session, id, speaking, hearing, events, first: true }.follow().await;
    drop(raw);
    ended
}

/// Waits until the sandbox has done what was said so far, so that the command finds its terminal as large as it is.
async fn settled(
    session: &Session,
    speaking: &mut Speaking<AttachShell>,
    hearing: &mut Hearing<AttachShell>,
) -> Result<(), Failure> {
    let said = speaking.send(&TerminalInput::Ping { timestamp: None }).await;
    said.map_err(|error| session.explain(error))?;
    let answered = async {
        while let Some(Ok(message)) = hearing.receive().await {
            if matches!(message, TerminalOutput::Pong { .. }) {
                return;
            }
        }
    };
    // Without an answer the size comes a little late, which is no reason to give up.
    let _in_time = tokio::time::timeout(SETTLE, answered).await;
    Ok(())
}

async fn start(
    session: &Session,
    plan: &Plan,
    id: &str,
    command: String,
) -> Result<Events, Failure> {
    let mut environment = plan.environment.clone();
    if let Ok(kind) = std::env::var("TERM") {
        environment.entry("TERM".to_owned()).or_insert(kind);
    }
    let exec = ExecShell {
        id: Some(id.to_owned()),
        exec_dir: plan.directory.clone(),
        command,
        strict: Some(true),
        no_change_timeout: Some(0),
        hard_timeout: plan.timeout,
        truncate: true,
        env: Some(environment),
        ..ExecShell::default()
    };
    session.client.stream(exec, None).await.map_err(|error| session.explain(error))
}

async fn resize(session: &Session, speaking: &mut Speaking<AttachShell>) -> Result<(), Failure> {
    let Ok(size) = tcgetwinsize(io::stdin()) else {
        return Ok(());
    };
    if size.ws_col == 0 || size.ws_row == 0 {
        return Ok(());
    }
    let data = TerminalSize { cols: size.ws_col, rows: size.ws_row };
    let said = speaking.send(&TerminalInput::Resize { data }).await;
    said.map_err(|error| session.explain(error))
}

struct Attached<'a> {
    session: &'a Session,
    id: &'a str,
    speaking: Speaking<AttachShell>,
    hearing: Hearing<AttachShell>,
    /// What the command prints; none where the session itself is looked at.
    events: Option<Events>,
    /// Whether nothing was typed yet.
    first: bool,
}

impl Attached<'_> {
    async fn follow(mut self) -> Result<End, Failure> {
        let failed = |error| Failure::failed(format!("signals cannot be heard: {error}"));
        let mut resized = signal(SignalKind::window_change()).map_err(failed)?;
        let mut terminated = signal(SignalKind::terminate()).map_err(failed)?;
        let mut hung_up = signal(SignalKind::hangup()).map_err(failed)?;
        let mut input = stdin::pieces()?;
        let mut keys = Keys::new();
        loop {
            tokio::select! {
                event = next(self.events.as_mut()) => {
                    if let Some(code) = self.show(event)? {
                        return Ok(End::Over(code));
                    }
                }
                message = self.hearing.receive() => {
                    if let Some(end) = self.hear(message).await? {
                        return Ok(end);
                    }
                }
                piece = input.recv() => {
                    let Some(piece) = piece else {
                        return Ok(End::Left);
                    };
                    let typed = keys.take(&piece);
                    if !typed.text.is_empty() {
                        self.type_in(typed.text).await?;
                    }
                    if typed.leave {
                        return Ok(End::Left);
                    }
                }
                _ = resized.recv() => resize(self.session, &mut self.speaking).await?,
                _ = terminated.recv() => return Ok(End::Over(143)),
                // The terminal is gone, not the person: what runs can be returned to.
                _ = hung_up.recv() => return Ok(End::Left),
            }
        }
    }

    /// Shows what the command printed; the answer is its exit code when it has ended.
    fn show(
        &self,
        event: Option<Result<StreamEvent, atoll_client::ClientError>>,
    ) -> Result<Option<u8>, Failure> {
        let broken = || Failure::no_server("the connection ended before the command did");
        let event = event.ok_or_else(broken)?.map_err(|error| self.session.explain(error))?;
        match event.name.as_str() {
            "output" => print(event.data["data"].as_str().unwrap_or_default().as_bytes())?,
            "result" => {
                let result: ShellCommandResult =
                    serde_json::from_value(event.data).map_err(|error| {
                        Failure::failed(format!("the result cannot be read: {error}"))
                    })?;
                return Ok(Some(match result.status {
                    ShellStatus::HardTimeout => TIMED_OUT,
                    _ => exit_code(result.exit_code),
                }));
            }
            _ => {}
        }
        Ok(None)
    }

    /// Takes a message of the session's own terminal.
    async fn hear(
        &mut self,
        message: Option<Result<TerminalOutput, atoll_client::ClientError>>,
    ) -> Result<Option<End>, Failure> {
        let broken = || Failure::no_server("the connection ended");
        let message = message.ok_or_else(broken)?.map_err(|error| self.session.explain(error))?;
        match message {
            TerminalOutput::Output { data, .. } if self.events.is_none() => print(data.as_bytes())?,
            TerminalOutput::Error { data } if self.events.is_none() => {
                print(format!("\r\n[{data}]\r\n").as_bytes())?;
            }
            TerminalOutput::Ping { .. } => {
                let said = self.speaking.send(&TerminalInput::Pong {}).await;
                said.map_err(|error| self.session.explain(error))?;
            }
            _ => {}
        }
        Ok(None)
    }

    async fn type_in(&mut self, text: String) -> Result<(), Failure> {
        // The first keys wait until the command has begun: the shell before it would swallow them.
        if std::mem::take(&mut self.first) && self.events.is_some() {
            let write = WriteShell { id: self.id.to_owned(), input: text, press_enter: false };
            let written = self.session.client.call(write).await;
            return written.map(|_| ()).map_err(|error| self.session.explain(error));
        }
        let said = self.speaking.send(&TerminalInput::Input { data: text }).await;
        said.map_err(|error| self.session.explain(error))
    }
}

async fn next(
    events: Option<&mut Events>,
) -> Option<Result<StreamEvent, atoll_client::ClientError>> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

/// This terminal with its keys raw, until this is dropped.
struct RawMode {
    before: Termios,
}

impl RawMode {
    fn enter() -> Result<Self, Failure> {
        let failed = |error| Failure::failed(format!("the terminal cannot be set up: {error}"));
        let before = tcgetattr(io::stdin()).map_err(failed)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw).map_err(failed)?;
        Ok(Self { before })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // A terminal that is gone need not be restored.
        let _gone = tcsetattr(io::stdin(), OptionalActions::Drain, &self.before);
    }
}

//! A flood through a terminal: read directly, through Atoll's WebSocket, and through terminado's.
//!
//! Twice: with lines of one letter, where the kernel's line discipline is the bottleneck, and with lines as wide as a
//! terminal, where the reader is. All terminals turn a line end into two bytes, and each reader compares every byte it
//! gets with what must come.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use super::Setting;
use crate::Failure;
use crate::http::PATIENCE;
use crate::report::{Bar, Report};
use crate::server::{Launch, Server, in_clean_environment, locate};
use crate::statistics::Samples;
use crate::usage::{processor_seconds, to_float};

const DIRECT_BAR: f64 = 0.9;
/// What goes before the flood; split where it is written, so that its echo is not taken for it.
const BEGIN: &str = "-begin-\r\n";

/// What one reading took.
struct Reading {
    time: Duration,
    /// Processor time of the server, where there is one.
    processor: Option<f64>,
}

/// A flood: what is repeated, and how much of it is written.
#[derive(Clone, Copy)]
struct Text {
    name: &'static str,
    letters: usize,
    written: usize,
}

impl Text {
    fn command(self) -> String {
        format!("yes {} | head -c {}", "y".repeat(self.letters), self.written)
    }

    /// A line as the terminal's reader gets it.
    fn line(self) -> String {
        "y".repeat(self.letters) + "\r\n"
    }

    /// Bytes the terminal's reader gets.
    fn received(self) -> usize {
        self.written / (self.letters + 1) * (self.letters + 2)
    }
}

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let written = setting.choose(100_000_000, 8_000_000);
    let terminado = Launch::terminado(&setting.peers);
    let mut report = Report {
        title: "100 MB through a terminal",
        about: format!(
            "`yes … | head -c {written}` in a terminal, read to its last byte; all bytes decoded and compared. MB/s \
             count the bytes received, which are more: the terminal makes two of each line end. With lines of one \
             letter the kernel handles little else than line ends, and hands them over in crumbs."
        ),
        columns: vec!["", "rounds", "best MB/s", "p50 MB/s", "p50 / direct", "server CPU s"],
        ..Report::default()
    };
    for text in [
        Text { name: "lines of 1 letter", letters: 1, written },
        Text { name: "lines of 79 letters", letters: 79, written },
    ] {
        // A round of short lines takes a minute, one of long lines a few seconds.
        let rounds = setting.choose(if text.letters == 1 { 3 } else { 9 }, 1);
        contend(setting, &terminado, text, rounds, &mut report)?;
    }
    Ok(report)
}

fn contend(
    setting: &Setting,
    terminado: &Launch,
    text: Text,
    rounds: usize,
    report: &mut Report,
) -> Result<(), Failure> {
    let (mut direct, mut ours, mut theirs) = (Tally::default(), Tally::default(), Tally::default());
    for _ in 0..rounds {
        direct.add(read_directly(text));
        ours.add(setting.atoll.start().and_then(|server| read_atoll(&server, text)));
        theirs.add(terminado.start().and_then(|server| read_terminado(&server, text)));
    }
    let rate = |time: Duration| to_float(text.received() as u64) / 1e6 / time.as_secs_f64();
    let floor = rate(direct.times.median());
    for (name, tally) in
        [("floor: read directly", &direct), ("Atoll", &ours), (terminado.name, &theirs)]
    {
        let name = format!("{name}, {}", text.name);
        if let Some(why) = &tally.failure {
            report.absent(&name, why);
            continue;
        }
        let median = rate(tally.times.median());
        report.row([
            name,
            tally.times.count().to_string(),
            format!("{:.1}", rate(tally.times.least())),
            format!("{median:.1}"),
            format!("{:.2}", median / floor),
            tally.processor.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.2}")),
        ]);
    }
    if let Some(why) = ours.failure.or(direct.failure) {
        return Err(why.into());
    }
    let median = rate(ours.times.median());
    let share = median / floor;
    let peers = theirs.failure.is_none().then(|| rate(theirs.times.median()));
    let asked = format!("{}: ≥ 0.9 × reading directly", text.name);
    report.bars.push(Bar::new(asked, format!("{share:.2} × it"), share >= DIRECT_BAR));
    report.bars.push(Bar::ahead(terminado.name, median, peers, false).about(text.name));
    Ok(())
}

#[derive(Default)]
struct Tally {
    times: Samples,
    /// The latest round's.
    processor: Option<f64>,
    failure: Option<String>,
}

impl Tally {
    fn add(&mut self, reading: Result<Reading, Failure>) {
        match reading {
            Ok(reading) => {
                self.times.push(reading.time);
                self.processor = reading.processor;
            }
            Err(error) => self.failure = Some(error.to_string()),
        }
    }
}

/// Compares a flood with what must come.
struct Flood {
    /// A stretch of lines to compare with.
    pattern: Vec<u8>,
    line: usize,
    received: usize,
    expected: usize,
}

impl Flood {
    fn new(text: Text) -> Self {
        let line = text.line();
        let pattern = line.repeat((1 << 20) / line.len()).into_bytes();
        Self { pattern, line: line.len(), received: 0, expected: text.received() }
    }

    /// Takes the next bytes; true when everything is here. What follows the flood is not looked at.
    fn accept(&mut self, bytes: &[u8]) -> Result<bool, Failure> {
        let mut bytes = &bytes[..bytes.len().min(self.expected - self.received)];
        while !bytes.is_empty() {
            let phase = self.received % self.line;
            let count = bytes.len().min(self.pattern.len() - phase);
            if bytes[..count] != self.pattern[phase..phase + count] {
                return Err(format!("the output is wrong near byte {}", self.received).into());
            }
            self.received += count;
            bytes = &bytes[count..];
        }
        Ok(self.received == self.expected)
    }
}

fn read_directly(text: Text) -> Result<Reading, Failure> {
    let mut flood = Flood::new(text);
    let primary = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&primary)?;
    unlockpt(&primary)?;
    let name = ptsname(&primary, Vec::new())?;
    let secondary = OpenOptions::new().read(true).write(true).open(&*name.to_string_lossy())?;
    let mut command = Command::new(locate("bash")?);
    command.args(["-c", &text.command()]);
    command.stdin(Stdio::null()).stdout(secondary.try_clone()?).stderr(secondary);
    in_clean_environment(&mut command, &std::env::temp_dir());
    let mut primary = File::from(primary);
    let mut buffer = vec![0; 64 << 10];
    let started = Instant::now();
    let mut child = command.spawn()?;
    loop {
        let count = primary.read(&mut buffer)?;
        if flood.accept(&buffer[..count])? {
            break;
        }
    }
    let time = started.elapsed();
    child.wait()?;
    Ok(Reading { time, processor: None })
}

fn read_atoll(server: &Server, text: Text) -> Result<Reading, Failure> {
    let mut terminal = Terminal::open(server, "/v1/shell/ws", decode_atoll)?;
    terminal.flood(server, |line| json!({"type": "input", "data": line}), text)
}

fn read_terminado(server: &Server, text: Text) -> Result<Reading, Failure> {
    let mut terminal = Terminal::open(server, "/terminal", decode_terminado)?;
    terminal.flood(server, |line| json!(["stdin", line]), text)
}

/// The text a message brings, none when it is about something else.
pub(super) type Decode = fn(&str) -> Result<Option<String>, Failure>;

/// A terminal at the other end of a WebSocket.
pub(super) struct Terminal {
    socket: WebSocket<TcpStream>,
    decode: Decode,
}

impl Terminal {
    pub(super) fn open(server: &Server, path: &str, decode: Decode) -> Result<Self, Failure> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let address = format!("ws://localhost:{}{path}", server.port);
        let (socket, _) =
            tungstenite::client(address, stream).map_err(|error| format!("handshake: {error}"))?;
        Ok(Self { socket, decode })
    }

    /// The next piece of the terminal's output.
    pub(super) fn read(&mut self) -> Result<String, Failure> {
        loop {
            if let Message::Text(text) = self.socket.read()?
                && let Some(output) = (self.decode)(&text)?
            {
                return Ok(output);
            }
        }
    }

    /// Types, in a message of the server's kind.
    pub(super) fn send(&mut self, message: &Value) -> Result<(), Failure> {
        Ok(self.socket.send(Message::text(message.to_string()))?)
    }

    /// Reads until the text so far satisfies the condition, and returns it.
    pub(super) fn wait_for(&mut self, condition: impl Fn(&str) -> bool) -> Result<String, Failure> {
        let mut text = String::new();
        while !condition(&text) {
            text.push_str(&self.read()?);
        }
        Ok(text)
    }

    /// Runs the flood in the shell at the other end, once that shows its prompt.
    fn flood(
        &mut self,
        server: &Server,
        type_line: impl Fn(&str) -> Value,
        text: Text,
    ) -> Result<Reading, Failure> {
        self.wait_for(|shown| shown.contains(['$', '#']))?;
        let mut flood = Flood::new(text);
        // The server itself: what runs in the terminal is its child.
        let own = [server.pid()];
        let spent = processor_seconds(&own);
        let line = format!("printf -- '-beg''in-\\n'; {}\n", text.command());
        let started = Instant::now();
        self.send(&type_line(&line))?;
        let shown = self.wait_for(|shown| shown.contains(BEGIN))?;
        let start = shown.find(BEGIN).map_or(shown.len(), |position| position + BEGIN.len());
        let mut complete = flood.accept(&shown.as_bytes()[start..])?;
        while !complete {
            complete = flood.accept(self.read()?.as_bytes())?;
        }
        let time = started.elapsed();
        Ok(Reading { time, processor: Some(processor_seconds(&own) - spent) })
    }
}

#[derive(serde::Deserialize)]
struct AtollMessage<'a> {
    r#type: &'a str,
    data: String,
}

pub(super) fn decode_atoll(message: &str) -> Result<Option<String>, Failure> {
    match serde_json::from_str::<AtollMessage<'_>>(message) {
        Ok(AtollMessage { r#type: "output", data }) => Ok(Some(data)),
        Ok(AtollMessage { r#type: "error", data }) => Err(data.into()),
        Ok(_) => Ok(None),
        // A `ping` carries a number.
        Err(error) => match serde_json::from_str::<Value>(message)?["type"].as_str() {
            Some("ping" | "pong") => Ok(None),
            _ => Err(error.into()),
        },
    }
}

pub(super) fn decode_terminado(message: &str) -> Result<Option<String>, Failure> {
    match serde_json::from_str::<(&str, String)>(message) {
        Ok(("stdout", text)) => Ok(Some(text)),
        Ok(_) => Ok(None),
        Err(error) => match serde_json::from_str::<Value>(message)?[0].as_str() {
            Some("setup") => Ok(None),
            _ => Err(error.into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Text = Text { name: "", letters: 1, written: 4 };

    #[test]
    fn a_flood_is_complete_at_its_last_byte_whatever_follows() {
        let mut flood = Flood::new(SHORT);
        assert!(!flood.accept(b"y\r").unwrap());
        assert!(!flood.accept(b"\ny").unwrap());
        assert!(flood.accept(b"\r\n$ ").unwrap());
    }

    #[test]
    fn a_byte_lost_in_a_flood_is_found() {
        assert!(Flood::new(SHORT).accept(b"y\ry\r\n").is_err());
        assert!(Flood::new(SHORT).accept(b"y\n").is_err());
    }

    #[test]
    fn messages_of_both_servers_are_decoded() {
        let output = decode_atoll(r#"{"type":"output","data":"a\r\n","offset":3}"#);
        assert_eq!(output.unwrap().unwrap(), "a\r\n");
        assert!(decode_atoll(r#"{"type":"ping","timestamp":1,"data":1}"#).unwrap().is_none());
        assert!(decode_atoll(r#"{"type":"error","data":"gone"}"#).is_err());
        assert_eq!(decode_terminado(r#"["stdout","a"]"#).unwrap().unwrap(), "a");
        assert!(decode_terminado(r#"["setup",{}]"#).unwrap().is_none());
    }

    #[test]
    fn a_terminal_read_directly_gives_what_must_come() {
        for letters in [1, 79] {
            let reading = read_directly(Text { name: "", letters, written: 8000 }).unwrap();
            assert!(reading.processor.is_none());
        }
    }
}

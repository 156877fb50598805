//! What travels between a Node.js process and us: one JSON message per line. Those from the process begin with a secret;
//! a line without it was written by the user's code, and is dropped.

use serde::{Deserialize, Serialize};

/// To a process, as its first line.
#[derive(Debug, Serialize)]
pub(crate) struct Settings<'a> {
    pub(crate) secret: &'a str,
    /// Directories of packages that everybody may use.
    pub(crate) roots: &'a [String],
    /// Characters of a result, a message or a traceback.
    pub(crate) limit: usize,
    #[serde(flatten)]
    pub(crate) program: Option<Program<'a>>,
}

/// The program of a process that runs only one.
#[derive(Debug, Serialize)]
pub(crate) struct Program<'a> {
    pub(crate) code: &'a str,
    pub(crate) typescript: bool,
    /// Where it finds modules.
    pub(crate) directory: &'a str,
    /// Where it may be put if it must be a file.
    pub(crate) module_directory: &'a str,
}

/// To a session.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Order<'a> {
    Execute {
        id: u64,
        code: &'a str,
        typescript: bool,
        stdin: Option<&'a str>,
        directory: Option<&'a str>,
    },
    Interrupt {
        id: u64,
    },
}

/// From a process.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Message {
    Ready,
    Result { text: String },
    Error { name: String, message: String, traceback: Vec<String> },
    Done { id: u64, status: DoneStatus, cwd: Option<String> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DoneStatus {
    Ok,
    Error,
    Interrupted,
}

/// A message as a line.
pub(crate) fn line(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Lines from a process, put together from what is read and bounded.
#[derive(Debug)]
pub(crate) struct Lines {
    prefix: Vec<u8>,
    buffer: Vec<u8>,
    max: usize,
}

impl Lines {
    pub(crate) fn new(secret: &str, max: usize) -> Self {
        Self { prefix: format!("{secret} ").into_bytes(), buffer: Vec::new(), max }
    }

    /// Takes bytes, and gives back the messages that are complete.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<Message> {
        let mut messages = Vec::new();
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.grow(rest.get(..end).unwrap_or_default());
            messages.extend(self.read());
            self.buffer.clear();
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        self.grow(rest);
        messages
    }

    /// A line that is too long cannot be ours; it is cut, and makes no sense then.
    fn grow(&mut self, bytes: &[u8]) {
        let room = self.max.saturating_sub(self.buffer.len());
        self.buffer.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    fn read(&self) -> Option<Message> {
        let body = self.buffer.strip_prefix(self.prefix.as_slice())?;
        let message = serde_json::from_slice(body);
        message.inspect_err(|error| tracing::debug!(%error, "unreadable message from node")).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_with_the_secret_are_messages() {
        let mut lines = Lines::new("s3cret", 100);
        let forged = lines.take(b"{\"type\":\"ready\"}\ns3cre {\"type\":\"ready\"}\nwrong {}\ns3c");
        assert_eq!(forged, []);
        let own = lines.take(b"ret {\"type\":\"ready\"}\ns3cret nonsense\n\n");
        assert_eq!(own, [Message::Ready]);
    }

    #[test]
    fn a_line_without_end_is_dropped_and_the_next_one_read() {
        let mut lines = Lines::new("s", 100);
        for _ in 0..1000 {
            assert_eq!(lines.take(&[b'x'; 1000]), []);
        }
        assert!(lines.buffer.len() <= 100);
        assert_eq!(lines.take(b"\ns {\"type\":\"ready\"}\n"), [Message::Ready]);
    }
}

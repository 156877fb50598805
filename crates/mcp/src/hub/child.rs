//! A server that is a program: JSON-RPC lines on its standard streams, started and ended like any other command here,
//! with everything it starts.

use std::sync::Arc;
use std::time::Duration;

use atoll_process::{Input, InputError, Piped};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;

/// Bytes read at once.
const CHUNK: usize = 256 << 10;
/// Bytes of one message. A program that writes more without a line break speaks something else.
const MESSAGE: usize = 64 << 20;
/// How long a program may take to end once its input is closed.
const GRACE: Duration = Duration::from_secs(2);

/// The way to a program.
pub(super) struct ChildTransport {
    piped: Arc<Piped>,
    stdin: Input,
    offset: u64,
    buffer: Vec<u8>,
    /// Bytes of the buffer known to hold no line break.
    searched: usize,
}

impl ChildTransport {
    pub(super) fn new(piped: Arc<Piped>) -> Self {
        let stdin = piped.stdin().clone();
        Self { piped, stdin, offset: 0, buffer: Vec::new(), searched: 0 }
    }

    /// The next whole line, if there is one.
    fn line(&mut self) -> Option<Vec<u8>> {
        let rest = self.buffer.get(self.searched..)?;
        let Some(at) = rest.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let rest = self.buffer.split_off(self.searched + at + 1);
        self.searched = 0;
        Some(std::mem::replace(&mut self.buffer, rest))
    }
}

impl Transport<RoleClient> for ChildTransport {
    type Error = InputError;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), InputError>> + Send + 'static {
        // A message that cannot be written would be a mistake in its type; the program then sees an empty line.
        let mut line = serde_json::to_vec(&message).unwrap_or_default();
        line.push(b'\n');
        std::future::ready(self.stdin.write(&line))
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            while let Some(line) = self.line() {
                let line = line.trim_ascii();
                if line.is_empty() {
                    continue;
                }
                match serde_json::from_slice(line) {
                    Ok(message) => return Some(message),
                    // Programs print greetings; those are not for us.
                    Err(error) => tracing::debug!(%error, "a line of a server is no message"),
                }
            }
            if self.buffer.len() > MESSAGE {
                tracing::warn!("a server writes without end; it is given up");
                return None;
            }
            let stdout = self.piped.stdout();
            stdout.wait_past(self.offset).await;
            let chunk = stdout.read(self.offset, CHUNK);
            if chunk.bytes.is_empty() && chunk.progress.closed {
                return None;
            }
            if chunk.offset > self.offset {
                // Some of it was dropped unread: what is half of a message would be read as another.
                tracing::warn!("a server wrote faster than it was read; it is given up");
                return None;
            }
            self.offset = chunk.offset + chunk.bytes.len() as u64;
            self.buffer.extend_from_slice(&chunk.bytes);
        }
    }

    async fn close(&mut self) -> Result<(), InputError> {
        // It is asked to end first; whether it can be asked does not matter.
        let _closed = self.stdin.close();
        drop(tokio::time::timeout(GRACE, self.piped.wait()).await);
        self.piped.child().kill_all().await;
        Ok(())
    }
}

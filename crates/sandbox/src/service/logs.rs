//! What a service has printed: its last lines, and what comes after them.

use atoll_api::service::{ReadServiceLog, ServiceLog};
use atoll_operation::{Context, Error, Event, Handle, Stream, Streaming};
use atoll_process::Log;
use futures::StreamExt;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::control::Found;
use super::services::Services;

/// Bytes looked at first; four times as many when they do not hold enough lines.
const LOOK: u64 = 64 << 10;
/// Bytes of one event.
const CHUNK: usize = 64 << 10;
const NO_LOG: &str = "a part of the sandbox keeps no log here; what concerns it is in the server's";

impl Handle<ReadServiceLog> for Services {
    async fn handle(&self, cx: &Context, input: ReadServiceLog) -> Result<ServiceLog, Error> {
        let (log, name) = match self.find(&input.name)? {
            Found::Unit(unit) => (unit.log.clone(), input.name),
            Found::Part(_) => {
                cx.hint(NO_LOG);
                let output = String::new();
                return Ok(ServiceLog { name: input.name, output, truncated: false, offset: 0 });
            }
        };
        let (start, end) = tail(&log, input.lines);
        let chunk = log.read(start, usize::try_from(end - start).unwrap_or(usize::MAX));
        Ok(ServiceLog {
            name,
            output: String::from_utf8_lossy(&chunk.bytes).into_owned(),
            truncated: chunk.offset > 0,
            offset: chunk.offset + chunk.bytes.len() as u64,
        })
    }
}

impl Streaming<ReadServiceLog> for Services {
    async fn stream(&self, cx: &Context, input: ReadServiceLog) -> Result<Stream, Error> {
        let Found::Unit(unit) = self.find(&input.name)? else {
            return Ok(futures::stream::empty().boxed());
        };
        let log = unit.log.clone();
        let resumed = cx.resume_after().and_then(|id| id.parse().ok());
        let offset = resumed.unwrap_or_else(|| tail(&log, input.lines).0);
        let stop = self.surroundings.programs.foundation().stop.clone();
        let following = Following { log, offset, stop };
        Ok(futures::stream::unfold(following, Following::next).boxed())
    }
}

struct Following {
    log: Log,
    offset: u64,
    stop: CancellationToken,
}

impl Following {
    async fn next(mut self) -> Option<(Event, Self)> {
        loop {
            let chunk = self.log.read_text(self.offset, CHUNK);
            if !chunk.text.is_empty() {
                self.offset = chunk.next;
                let data = json!({ "data": chunk.text, "offset": chunk.next });
                let id = Some(chunk.next.to_string());
                return Some((Event { name: "output", id, data }, self));
            }
            if chunk.progress.closed {
                return None;
            }
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return None,
                () = self.log.wait_past(chunk.progress.end) => {}
            }
        }
    }
}

/// Where the last lines begin, and where the log ends.
fn tail(log: &Log, lines: u64) -> (u64, u64) {
    let end = log.progress().end;
    let lines = usize::try_from(lines).unwrap_or(usize::MAX);
    if lines == 0 {
        return (end, end);
    }
    let mut look = LOOK;
    loop {
        let from = end.saturating_sub(look);
        let chunk = log.read(from, usize::try_from(look).unwrap_or(usize::MAX));
        // The newline at the very end belongs to the last line.
        let body = chunk.bytes.strip_suffix(b"\n").unwrap_or(&chunk.bytes);
        let mut breaks = body.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
        if let Some((position, _)) = breaks.nth(lines - 1) {
            return (chunk.offset + position as u64 + 1, end);
        }
        if from == 0 || chunk.offset > from {
            return (chunk.offset, end);
        }
        look = look.saturating_mul(4);
    }
}

#[cfg(test)]
mod tests {
    use atoll_process::{LogSettings, SpillBudget};

    use super::*;

    #[test]
    fn the_last_lines_are_found_however_long_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let log = Log::new(LogSettings {
            directory: directory.path().to_owned(),
            kept_bytes: 1 << 20,
            budget: SpillBudget::new(1 << 20),
        });
        assert_eq!(tail(&log, 10), (0, 0));
        log.append(b"one\ntwo\nthree");
        assert_eq!(tail(&log, 1), (8, 13));
        assert_eq!(tail(&log, 2), (4, 13));
        assert_eq!(tail(&log, 3), (0, 13));
        assert_eq!(tail(&log, 4), (0, 13));
        assert_eq!(tail(&log, 0), (13, 13));
        log.append(b"\n");
        assert_eq!(tail(&log, 1), (8, 14));
        log.append(&vec![b'x'; 200 << 10]);
        assert_eq!(tail(&log, 1).0, 14);
        assert_eq!(tail(&log, 2).0, 8);
    }
}

//! A watcher's events as they happen.
//!
//! Nothing runs for a stream but the stream itself: when it is dropped, nothing is left. One without a place to resume
//! from begins with the oldest event kept, so that what happens between making a watcher and following it is not missed.

use std::collections::VecDeque;

use atoll_api::file::FollowWatch;
use atoll_operation::{Context, Error, Event, Stream, Streaming};
use futures::StreamExt;
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::service::Watches;
use super::watcher::{Reader, file_event};

/// Events taken from the watcher at once.
const CHUNK: usize = 64;

impl Streaming<FollowWatch> for Watches {
    async fn stream(&self, cx: &Context, input: FollowWatch) -> Result<Stream, Error> {
        let reader = self.reader(&input.watcher_id)?;
        let entry = reader.entry();
        let resumed = cx.resume_after().and_then(|id| id.rsplit_once(':'));
        let resumed = resumed.filter(|(id, _)| *id == entry.id);
        let cursor = resumed.and_then(|(_, seq)| seq.parse().ok()).unwrap_or(0);
        let cursor = entry.watcher.progress().latest.min(cursor);
        let started = json(entry.describe());
        let mut following =
            Following { reader, stop: self.stop.clone(), cursor, ready: VecDeque::new() };
        following.push("watch_started", cursor, started);
        Ok(futures::stream::unfold(following, Following::next).boxed())
    }
}

struct Following {
    reader: Reader,
    stop: CancellationToken,
    cursor: u64,
    ready: VecDeque<Event>,
}

impl Following {
    async fn next(mut self) -> Option<(Event, Self)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some((event, self));
            }
            let entry = self.reader.entry();
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return None,
                () = entry.ended.cancelled() => return None,
                () = entry.watcher.past(self.cursor) => {}
            }
            self.take();
        }
    }

    /// Takes what the watcher has.
    fn take(&mut self) {
        let batch = self.reader.entry().watcher.read(self.cursor, CHUNK);
        if batch.lost {
            let cursor = batch.events.first().map_or(batch.cursor, |event| event.seq - 1);
            self.push("overflow", cursor, json!({ "cursor": cursor }));
        }
        for event in batch.events {
            self.push("file_change", event.seq, json(file_event(event)));
        }
        self.cursor = batch.cursor;
    }

    fn push(&mut self, name: &'static str, seq: u64, data: Value) {
        let id = Some(format!("{}:{seq}", self.reader.entry().id));
        self.ready.push_back(Event { name, id, data });
    }
}

fn json(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

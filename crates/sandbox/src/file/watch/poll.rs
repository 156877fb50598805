//! Reading a watcher's events: now, or when there are some.

use std::time::Duration;

use atoll_api::file::{FollowWatch, PollWatch, WatchEvents};
use atoll_operation::{Context, Error, Handle};

use super::service::Watches;

/// Events one answer carries.
const MOST: usize = 1000;

impl Handle<PollWatch> for Watches {
    async fn handle(&self, _cx: &Context, input: PollWatch) -> Result<WatchEvents, Error> {
        let reader = self.reader(&input.watcher_id)?;
        let entry = reader.entry();
        let limit = usize::try_from(input.limit).unwrap_or(MOST).clamp(1, MOST);
        let mut batch = entry.watcher.read(input.cursor, limit);
        if batch.events.is_empty() && !batch.lost && input.timeout > 0 {
            tokio::select! {
                () = entry.watcher.past(batch.cursor) => {}
                () = tokio::time::sleep(Duration::from_secs(input.timeout)) => {}
                () = self.stop.cancelled() => {}
                () = entry.ended.cancelled() => return Err(self.not_found(&input.watcher_id)),
            }
            batch = entry.watcher.read(batch.cursor, limit);
        }
        Ok(entry.events(batch))
    }
}

impl Handle<FollowWatch> for Watches {
    async fn handle(&self, _cx: &Context, input: FollowWatch) -> Result<WatchEvents, Error> {
        let reader = self.reader(&input.watcher_id)?;
        let entry = reader.entry();
        Ok(entry.events(entry.watcher.read(0, MOST)))
    }
}

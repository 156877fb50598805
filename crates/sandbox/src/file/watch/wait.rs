//! Waiting for one file.

use std::time::Duration;

use atoll_api::file::{FileEventKind, WaitForFile, WaitedEvent};
use atoll_operation::{Context, Error, Handle, Kind};
use atoll_watch::{Change, wait_for};

use super::fault::fault;
use super::service::{Watches, stopping};
use super::watcher::file_event;
use crate::file::paths::show;

impl Handle<WaitForFile> for Watches {
    async fn handle(&self, _cx: &Context, input: WaitForFile) -> Result<WaitedEvent, Error> {
        if input.event_types.is_empty() {
            let message = "must name what to wait for: create, write, remove, rename or chmod";
            return Err(Error::field("event_types", "min_items", message));
        }
        let wanted: Vec<_> = input.event_types.iter().map(|kind| change(*kind)).collect();
        let path = self.path(&input.path)?;
        let _room = self.take_room()?;
        let found = tokio::select! {
            found = wait_for(&path, &wanted, Duration::from_secs(input.timeout)) => found,
            () = self.stop.cancelled() => return Err(stopping()),
        };
        match found.map_err(fault)? {
            Some(event) => Ok(WaitedEvent { event: file_event(event) }),
            None => Err(Error::new(
                Kind::DeadlineExceeded,
                "watch.timeout",
                format!(
                    "timed out waiting for {} after {} seconds; wait again, or longer",
                    show(&path),
                    input.timeout
                ),
            )),
        }
    }
}

fn change(kind: FileEventKind) -> Change {
    match kind {
        FileEventKind::Create => Change::Create,
        FileEventKind::Write => Change::Write,
        FileEventKind::Remove => Change::Remove,
        FileEventKind::Rename => Change::Rename,
        FileEventKind::Chmod => Change::Chmod,
    }
}

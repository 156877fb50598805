//! Bytes on their way into a program that may not be reading: a bounded queue and a task that empties it.

use std::sync::Arc;

use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio_util::task::TaskTracker;

use crate::descriptor::Descriptor;

/// Why input was not taken. Nothing of it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InputError {
    /// The program does not read, and the queue is full.
    #[error("the program is not reading its input: {waiting} bytes wait already")]
    Full {
        /// Bytes that wait.
        waiting: usize,
    },
    /// The program's input is closed.
    #[error("the program's input is closed")]
    Closed,
}

/// The way into a program.
#[derive(Debug, Clone)]
pub struct Input {
    queue: mpsc::UnboundedSender<Option<Vec<u8>>>,
    waiting: watch::Sender<usize>,
    max: usize,
}

impl Input {
    /// Feeds a descriptor. The queue is bounded in bytes by `max`, which counts more than messages.
    pub(crate) fn new(descriptor: Arc<Descriptor>, max: usize, tasks: &TaskTracker) -> Self {
        let (queue, mut messages) = mpsc::unbounded_channel::<Option<Vec<u8>>>();
        let (waiting, _) = watch::channel(0);
        let written = waiting.clone();
        tasks.spawn(async move {
            while let Some(Some(bytes)) = messages.recv().await {
                if descriptor.write_all(&bytes).await.is_err() {
                    break;
                }
                written.send_modify(|waiting| *waiting -= bytes.len());
            }
            // Whoever waits for room must learn that there is nobody left to read.
            drop(messages);
            written.send_modify(|waiting| *waiting = 0);
        });
        Self { queue, waiting, max }
    }

    /// Queues bytes, all or none.
    pub fn write(&self, bytes: &[u8]) -> Result<(), InputError> {
        if self.queue.is_closed() {
            return Err(InputError::Closed);
        }
        let mut before = 0;
        let fits = self.waiting.send_if_modified(|waiting| {
            before = *waiting;
            let fits = *waiting + bytes.len() <= self.max;
            if fits {
                *waiting += bytes.len();
            }
            fits
        });
        if !fits {
            return Err(InputError::Full { waiting: before });
        }
        self.queue.send(Some(bytes.to_vec())).map_err(|_| InputError::Closed)
    }

    /// Queues bytes, all or none, as soon as there is room for them; what never fits is refused.
    pub async fn write_when_room(&self, bytes: &[u8]) -> Result<(), InputError> {
        let mut waiting = self.waiting.subscribe();
        loop {
            waiting.mark_unchanged();
            match self.write(bytes) {
                Err(InputError::Full { .. }) if bytes.len() <= self.max => {
                    if waiting.changed().await.is_err() {
                        return Err(InputError::Closed);
                    }
                }
                written => return written,
            }
        }
    }

    /// Closes the program's input after what is queued.
    pub fn close(&self) -> Result<(), InputError> {
        self.queue.send(None).map_err(|_| InputError::Closed)
    }
}

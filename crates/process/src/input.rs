//! Bytes on their way into a program that may not be reading: a bounded queue and a task that empties it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use thiserror::Error;
use tokio::sync::mpsc;
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
    waiting: Arc<AtomicUsize>,
    max: usize,
}

impl Input {
    /// Feeds a descriptor. The queue is bounded in bytes by `max`, which counts more than messages.
    pub(crate) fn new(descriptor: Arc<Descriptor>, max: usize, tasks: &TaskTracker) -> Self {
        let (queue, mut messages) = mpsc::unbounded_channel::<Option<Vec<u8>>>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&waiting);
        tasks.spawn(async move {
            while let Some(Some(bytes)) = messages.recv().await {
                if descriptor.write_all(&bytes).await.is_err() {
                    break;
                }
                written.fetch_sub(bytes.len(), Ordering::Relaxed);
            }
        });
        Self { queue, waiting, max }
    }

    /// Queues bytes, all or none.
    pub fn write(&self, bytes: &[u8]) -> Result<(), InputError> {
        let waiting = self.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
        if waiting + bytes.len() > self.max && waiting > 0 || bytes.len() > self.max {
            self.waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
            return Err(InputError::Full { waiting });
        }
        self.queue.send(Some(bytes.to_vec())).map_err(|_| InputError::Closed)
    }

    /// Closes the program's input after what is queued.
    pub fn close(&self) -> Result<(), InputError> {
        self.queue.send(None).map_err(|_| InputError::Closed)
    }
}

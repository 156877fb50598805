//! What a program says: a queue of outputs with one writer and one reader, bounded by what is put into it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// One of a program's two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Something a program said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// It wrote to a stream.
    Text {
        /// The stream.
        channel: Channel,
        /// The text.
        text: String,
    },
    /// The value of its last expression, as the console shows it.
    Result {
        /// The value.
        text: String,
    },
    /// Something was thrown and not caught.
    Error {
        /// Class of the error.
        name: String,
        /// Its message.
        message: String,
        /// Its stack, line by line.
        traceback: Vec<String>,
    },
}

impl Output {
    /// Bytes it holds, roughly.
    pub(crate) fn size(&self) -> usize {
        match self {
            Output::Text { text, .. } | Output::Result { text } => text.len(),
            Output::Error { name, message, traceback } => {
                let lines: usize = traceback.iter().map(|line| line.len() + 1).sum();
                name.len() + message.len() + lines
            }
        }
    }
}

/// Outputs on their way to whoever asked for them. The writer never waits: text that follows text of the same stream
/// joins it, and how much there can be is bounded where it is written. Clones share the queue.
#[derive(Debug, Clone, Default)]
pub struct Outputs(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Output>,
    closed: bool,
}

impl Outputs {
    /// A queue of nothing that will stay so.
    pub fn closed() -> Self {
        let outputs = Self::default();
        outputs.close();
        outputs
    }

    /// The next output, when there is one; `None` when no more will come.
    pub async fn next(&self) -> Option<Output> {
        loop {
            let changed = self.0.changed.notified();
            {
                let mut state = self.state();
                if let Some(output) = state.waiting.pop_front() {
                    return Some(output);
                }
                if state.closed {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Everything that waits.
    pub fn take(&self) -> Vec<Output> {
        self.state().waiting.drain(..).collect()
    }

    pub(crate) fn push(&self, output: Output) {
        {
            let mut state = self.state();
            match (state.waiting.back_mut(), output) {
                (
                    Some(Output::Text { channel: last, text }),
                    Output::Text { channel, text: more },
                ) if *last == channel => text.push_str(&more),
                (_, output) => state.waiting.push_back(output),
            }
        }
        self.0.changed.notify_one();
    }

    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.0.changed.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(channel: Channel, text: &str) -> Output {
        Output::Text { channel, text: text.to_owned() }
    }

    #[tokio::test]
    async fn text_of_one_stream_joins_and_the_end_is_seen() {
        let outputs = Outputs::default();
        outputs.push(text(Channel::Stdout, "a"));
        outputs.push(text(Channel::Stdout, "b"));
        outputs.push(text(Channel::Stderr, "c"));
        outputs.push(text(Channel::Stdout, "d"));
        assert_eq!(outputs.next().await, Some(text(Channel::Stdout, "ab")));
        outputs.push(text(Channel::Stdout, "e"));
        assert_eq!(outputs.take(), [text(Channel::Stderr, "c"), text(Channel::Stdout, "de")]);
        let reader = tokio::spawn({
            let outputs = outputs.clone();
            async move { (outputs.next().await, outputs.next().await) }
        });
        outputs.push(Output::Result { text: "1".into() });
        outputs.close();
        let last = Output::Result { text: "1".into() };
        assert_eq!(reader.await.unwrap(), (Some(last), None));
    }
}

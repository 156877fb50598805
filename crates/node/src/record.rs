//! What is kept of a program's output: all of it up to a bound, past it the beginning and the end.
//!
//! The beginning is passed on as it comes; the end, once it is known. Whatever lies between is counted and dropped, so
//! that a program can print for ever without waiting for anybody and without filling memory.

use std::collections::VecDeque;

use crate::output::{Channel, Output, Outputs};

/// Everything one execution says.
#[derive(Debug)]
pub(crate) struct Recording {
    stdout: Recorder,
    stderr: Recorder,
    /// Bytes of results and errors that may still come.
    rest: usize,
    /// Results and errors that were left out.
    dropped: u64,
    outputs: Outputs,
}

impl Recording {
    /// Keeps up to `limit` bytes of each stream, and as many of results and errors.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            stdout: Recorder::new(limit),
            stderr: Recorder::new(limit),
            rest: limit.saturating_mul(2),
            dropped: 0,
            outputs: Outputs::default(),
        }
    }

    /// Where what is said goes.
    pub(crate) fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    pub(crate) fn write(&mut self, channel: Channel, bytes: &[u8]) {
        let text = self.recorder(channel).write(bytes);
        self.push(channel, text);
    }

    /// Adds a result or an error. The first one always has room.
    pub(crate) fn say(&mut self, output: Output) {
        if self.rest == 0 {
            self.dropped += 1;
            return;
        }
        self.rest = self.rest.saturating_sub(output.size().max(64));
        self.outputs.push(output);
    }

    /// Passes on what was held back; nothing more will come.
    pub(crate) fn finish(mut self) {
        for channel in [Channel::Stdout, Channel::Stderr] {
            let text = self.recorder(channel).finish();
            self.push(channel, text);
        }
        if self.dropped > 0 {
            let message = format!("{} more errors were left out", self.dropped);
            self.outputs.push(Output::Error { name: "Error".into(), message, traceback: vec![] });
        }
        self.outputs.close();
    }

    fn recorder(&mut self, channel: Channel) -> &mut Recorder {
        match channel {
            Channel::Stdout => &mut self.stdout,
            Channel::Stderr => &mut self.stderr,
        }
    }

    fn push(&self, channel: Channel, text: String) {
        if !text.is_empty() {
            self.outputs.push(Output::Text { channel, text });
        }
    }
}

/// One stream.
#[derive(Debug)]
struct Recorder {
    /// Bytes of the beginning that may still come.
    head_left: usize,
    /// The beginning of a character whose end has not come.
    incomplete: Vec<u8>,
    tail: VecDeque<u8>,
    tail_max: usize,
    /// Bytes that went out of the tail.
    dropped: u64,
}

impl Recorder {
    fn new(limit: usize) -> Self {
        Self {
            head_left: limit / 2,
            incomplete: Vec::new(),
            tail: VecDeque::new(),
            tail_max: limit - limit / 2,
            dropped: 0,
        }
    }

    /// Takes bytes, and gives back the text that can be passed on at once.
    fn write(&mut self, bytes: &[u8]) -> String {
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_left));
        self.head_left -= head.len();
        let mut text = String::new();
        if !head.is_empty() {
            self.incomplete.extend_from_slice(head);
            let complete = complete_prefix(&self.incomplete);
            text.push_str(&String::from_utf8_lossy(
                self.incomplete.get(..complete).unwrap_or_default(),
            ));
            self.incomplete.drain(..complete);
        }
        // Of very many bytes at once only the last can stay.
        let skipped = rest.len().saturating_sub(self.tail_max);
        self.tail.extend(rest.get(skipped..).unwrap_or_default());
        let over = self.tail.len().saturating_sub(self.tail_max);
        self.tail.drain(..over);
        self.dropped += (skipped + over) as u64;
        text
    }

    /// What was held back.
    fn finish(&mut self) -> String {
        let tail: Vec<u8> = self.tail.drain(..).collect();
        if self.dropped == 0 {
            let mut bytes = std::mem::take(&mut self.incomplete);
            bytes.extend(tail);
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        let start = tail.iter().take(3).position(|byte| !(0x80..0xC0).contains(byte)).unwrap_or(0);
        let left_out = self.dropped + (self.incomplete.len() + start) as u64;
        let tail = String::from_utf8_lossy(tail.get(start..).unwrap_or_default());
        format!("\n\n... [{left_out} bytes left out] ...\n\n{tail}")
    }
}

/// Length of the longest prefix that does not end inside a character.
fn complete_prefix(bytes: &[u8]) -> usize {
    let start = bytes.len().saturating_sub(3);
    let tail = bytes.get(start..).unwrap_or_default();
    let lead = tail.iter().rposition(|byte| !(0x80..0xC0).contains(byte));
    let begun =
        lead.and_then(|lead| tail.get(lead..)).and_then(|begun| std::str::from_utf8(begun).err());
    match (lead, begun) {
        (Some(lead), Some(error)) if error.error_len().is_none() => start + lead,
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(limit: usize, pieces: &[&[u8]]) -> String {
        let mut recorder = Recorder::new(limit);
        let mut text: String = pieces.iter().map(|piece| recorder.write(piece)).collect();
        text.push_str(&recorder.finish());
        text
    }

    #[test]
    fn past_the_bound_the_beginning_and_the_end_stay() {
        let text = record(10, &[b"01234", b"56789"]);
        assert_eq!(text, "0123456789");
        let text = record(10, &[b"0123456", b"789", b"abcde"]);
        assert_eq!(text, "01234\n\n... [5 bytes left out] ...\n\nabcde");
        let text = record(10, &["ab".repeat(1000).as_bytes()]);
        assert_eq!(text, "ababa\n\n... [1990 bytes left out] ...\n\nbabab");
    }

    #[test]
    fn characters_are_never_cut() {
        let text = record(10, &["€€€€€€€".as_bytes()]);
        assert_eq!(text, "€\n\n... [15 bytes left out] ...\n\n€");
    }

    #[test]
    fn errors_without_end_are_counted() {
        let mut recording = Recording::new(1000);
        let outputs = recording.outputs().clone();
        for _ in 0..10_000 {
            let (name, message) = ("Error".to_owned(), "again".to_owned());
            recording.say(Output::Error { name, message, traceback: Vec::new() });
        }
        recording.finish();
        let kept = outputs.take();
        assert!(kept.len() < 50, "{}", kept.len());
        let Some(Output::Error { message, .. }) = kept.last() else { panic!("{kept:?}") };
        assert!(message.contains("more errors were left out"), "{message}");
    }

    proptest! {
        #[test]
        fn text_below_the_bound_is_whole_in_any_pieces(text in "\\PC{0,40}", cuts in prop::collection::vec(1usize..6, 0..60)) {
            let bytes = text.as_bytes();
            let mut pieces = Vec::new();
            let mut at = 0;
            for cut in cuts {
                let end = (at + cut).min(bytes.len());
                pieces.push(&bytes[at..end]);
                at = end;
            }
            pieces.push(&bytes[at..]);
            prop_assert_eq!(record(bytes.len().max(1), &pieces), text);
        }

        #[test]
        fn whatever_comes_the_bound_holds(bytes in prop::collection::vec(any::<u8>(), 0..500), limit in 1usize..50) {
            let text = record(limit, &[&bytes]);
            prop_assert!(text.len() <= limit * 3 + 60, "{}", text.len());
        }
    }
}

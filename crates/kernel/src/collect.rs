//! Collects an execution's outputs in bounded memory.
//!
//! Chunks of one stream that follow each other become one output; a display that is updated is replaced where it
//! stands; clearing forgets what came before. Printed text keeps its beginning and its end, each half of the bound, and
//! says between them how much is left out; rich results have a bound of their own, since one picture may be larger than
//! any reasonable text.

use std::collections::VecDeque;

use serde_json::Value;

use crate::output::{Event, OUTPUT_COST, Output, OutputLimits, Rich, json_size, json_size_of};

/// Characters of each part of an error.
const LONGEST_ERROR: usize = 64 << 10;
/// Errors kept, the latest: code may show any number of them before the one that ends it.
const MOST_ERRORS: usize = 64;
const PLAIN: &str = "text/plain";

/// Collects outputs.
#[derive(Debug)]
pub(crate) struct Outputs {
    limits: OutputLimits,
    /// The beginning. Closed once there is a tail or a gap.
    head: Vec<Output>,
    /// The end, its text trimmed to the bound now and then.
    tail: VecDeque<Output>,
    head_bytes: usize,
    tail_bytes: usize,
    rich_bytes: usize,
    errors: usize,
    /// Bytes of text dropped between them.
    dropped: u64,
    /// Bytes left out altogether, for whoever asks.
    left_out: u64,
    clear_before_next: bool,
}

impl Outputs {
    pub(crate) fn new(limits: OutputLimits) -> Self {
        Self {
            limits,
            head: Vec::new(),
            tail: VecDeque::new(),
            head_bytes: 0,
            tail_bytes: 0,
            rich_bytes: 0,
            errors: 0,
            dropped: 0,
            left_out: 0,
            clear_before_next: false,
        }
    }

    /// Notes what happened.
    pub(crate) fn apply(&mut self, event: Event) {
        match event {
            Event::Clear { wait: true } => self.clear_before_next = true,
            Event::Clear { wait: false } => self.clear(),
            Event::Update(rich) => self.update(rich),
            Event::Output(output) => {
                if std::mem::take(&mut self.clear_before_next) {
                    self.clear();
                }
                match output {
                    Output::Stream { name, text } => self.print(&name, &text),
                    Output::Result(rich) => self.show(rich, Output::Result),
                    Output::Display(rich) => self.show(rich, Output::Display),
                    error @ Output::Error { .. } => self.fail(shorten_error(error)),
                }
            }
        }
    }

    /// Notes that so much text, which never came this far, belongs here. What is older than the gap goes too, but for
    /// the beginning, or there would be several gaps.
    pub(crate) fn leave_out(&mut self, bytes: u64) {
        self.trim(0);
        self.dropped += bytes;
        self.left_out += bytes;
    }

    /// The outputs, and how many bytes they lack.
    pub(crate) fn finish(mut self) -> (Vec<Output>, u64) {
        self.trim(self.half());
        let mut outputs = self.head;
        if self.dropped > 0 {
            let mark = format!("\n\n... [{} bytes of output left out] ...\n\n", self.dropped);
            let name = match (outputs.last(), self.tail.front()) {
                (Some(Output::Stream { name, .. }), _) | (_, Some(Output::Stream { name, .. })) => {
                    name.clone()
                }
                _ => "stdout".to_owned(),
            };
            append(&mut outputs, &name, &mark);
        }
        for output in self.tail {
            match output {
                Output::Stream { name, text } => append(&mut outputs, &name, &text),
                other => outputs.push(other),
            }
        }
        (outputs, self.left_out)
    }

    fn half(&self) -> usize {
        self.limits.text_bytes / 2
    }

    fn head_is_open(&self) -> bool {
        self.tail.is_empty() && self.dropped == 0
    }

    fn clear(&mut self) {
        self.head.clear();
        self.tail.clear();
        (self.head_bytes, self.tail_bytes, self.rich_bytes) = (0, 0, 0);
        (self.errors, self.dropped) = (0, 0);
    }

    fn print(&mut self, name: &str, text: &str) {
        let mut rest = text;
        if self.head_is_open() {
            let follows =
                matches!(self.head.last(), Some(Output::Stream { name: last, .. }) if last == name);
            let cost = if follows { 0 } else { OUTPUT_COST };
            let room = self.half().saturating_sub(self.head_bytes + cost);
            let (first, later) = text.split_at(text.floor_char_boundary(room));
            if !first.is_empty() {
                append(&mut self.head, name, first);
                self.head_bytes += cost + first.len();
            }
            rest = later;
        }
        if rest.is_empty() {
            return;
        }
        let skip = rest.ceil_char_boundary(rest.len().saturating_sub(self.half()));
        let (skipped, last) = rest.split_at(skip);
        if !skipped.is_empty() {
            self.leave_out(skipped.len() as u64);
        }
        match self.tail.back_mut() {
            Some(Output::Stream { name: open, text }) if open == name => text.push_str(last),
            _ => {
                self.tail_bytes += OUTPUT_COST;
                self.tail
                    .push_back(Output::Stream { name: name.to_owned(), text: last.to_owned() });
            }
        }
        self.tail_bytes += last.len();
        // Twice the bound before it is trimmed: each byte is moved once, not at every chunk.
        if self.tail_bytes > 2 * self.half() {
            self.trim(self.half());
        }
    }

    /// Drops the oldest text of the tail until this much is left.
    fn trim(&mut self, bound: usize) {
        let mut excess = self.tail_bytes.saturating_sub(bound);
        let (mut freed, mut dropped) = (0, 0);
        self.tail.retain_mut(|output| {
            let Output::Stream { text, .. } = output else { return true };
            if excess == 0 {
                return true;
            }
            if text.len() + OUTPUT_COST <= excess {
                excess -= text.len() + OUTPUT_COST;
                freed += text.len() + OUTPUT_COST;
                dropped += text.len() as u64;
                return false;
            }
            let cut = text.ceil_char_boundary(excess.min(text.len()));
            text.drain(..cut);
            freed += cut;
            dropped += cut as u64;
            excess = 0;
            true
        });
        self.tail_bytes -= freed;
        self.dropped += dropped;
        self.left_out += dropped;
    }

    fn show(&mut self, mut rich: Rich, wrap: fn(Rich) -> Output) {
        if self.rich_bytes >= self.limits.rich_bytes {
            self.left_out += rich.size() as u64;
            return;
        }
        self.fit(&mut rich);
        self.rich_bytes += rich.size();
        self.push(wrap(rich));
    }

    fn fail(&mut self, error: Output) {
        if self.errors == MOST_ERRORS {
            let is_error = |output: &Output| matches!(output, Output::Error { .. });
            if let Some(oldest) = self.head.iter().position(is_error) {
                self.head.remove(oldest);
            } else if let Some(oldest) = self.tail.iter().position(is_error) {
                self.tail.remove(oldest);
            }
        } else {
            self.errors += 1;
        }
        self.push(error);
    }

    /// Replaces the display this updates; shows it anew when it is none of this execution's.
    fn update(&mut self, mut rich: Rich) {
        let shown = self.head.iter().chain(&self.tail).any(|output| is_display(output, &rich));
        if !shown {
            return self.show(rich, Output::Display);
        }
        let outputs = self.head.iter().chain(&self.tail);
        let replaced: usize = outputs
            .filter(|output| is_display(output, &rich))
            .map(|output| match output {
                Output::Result(old) | Output::Display(old) => old.size(),
                Output::Stream { .. } | Output::Error { .. } => 0,
            })
            .sum();
        self.rich_bytes -= replaced;
        self.fit(&mut rich);
        for output in self.head.iter_mut().chain(&mut self.tail) {
            if is_display(output, &rich)
                && let Output::Result(old) | Output::Display(old) = output
            {
                old.data.clone_from(&rich.data);
                old.metadata.clone_from(&rich.metadata);
                self.rich_bytes += old.size();
            }
        }
    }

    /// Leaves out the forms for which there is no room, and says so.
    fn fit(&mut self, rich: &mut Rich) {
        let mut room = self.limits.rich_bytes.saturating_sub(self.rich_bytes + OUTPUT_COST);
        let mut left_out = Vec::new();
        rich.data.retain(|media, value| {
            let size = media.len() + json_size(value);
            let fits = size <= room;
            if fits {
                room -= size;
            } else {
                self.left_out += size as u64;
                left_out.push(format!("[{media} of {size} bytes left out]"));
            }
            fits
        });
        if json_size_of(&rich.metadata) > room {
            rich.metadata.clear();
        }
        if !left_out.is_empty() && !rich.data.contains_key(PLAIN) {
            rich.data.insert(PLAIN.to_owned(), Value::String(left_out.join("\n")));
        }
    }

    fn push(&mut self, output: Output) {
        if self.head_is_open() {
            self.head.push(output);
        } else {
            self.tail.push_back(output);
        }
    }
}

/// Adds text to a list of outputs, to the last one if it is of the same stream.
fn append(outputs: &mut Vec<Output>, name: &str, chunk: &str) {
    match outputs.last_mut() {
        Some(Output::Stream { name: open, text }) if open == name => text.push_str(chunk),
        _ => outputs.push(Output::Stream { name: name.to_owned(), text: chunk.to_owned() }),
    }
}

fn is_display(output: &Output, update: &Rich) -> bool {
    match output {
        Output::Display(shown) | Output::Result(shown) => {
            update.display_id.is_some() && shown.display_id == update.display_id
        }
        Output::Stream { .. } | Output::Error { .. } => false,
    }
}

fn shorten_error(error: Output) -> Output {
    let Output::Error { name, value, mut traceback } = error else { return error };
    let total: usize = traceback.iter().map(String::len).sum();
    if total > LONGEST_ERROR {
        traceback = vec![shorten(traceback.join("\n"))];
    }
    Output::Error { name: shorten(name), value: shorten(value), traceback }
}

fn shorten(text: String) -> String {
    let cut = atoll_process::cut_middle(&text, &text, text.len() as u64, LONGEST_ERROR);
    cut.unwrap_or(text)
}

#[cfg(test)]
mod tests;

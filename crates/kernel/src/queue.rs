//! Events that wait for a follower, in bounded memory: one that reads too slowly finds a mark in place of what there was
//! no room for.

use std::collections::VecDeque;

use crate::output::{Event, Output};

/// Events that wait for a follower.
#[derive(Debug)]
pub(crate) struct Queue {
    events: VecDeque<Event>,
    bytes: usize,
    bound: usize,
    /// Bytes of events there was no room for.
    missed: usize,
}

impl Queue {
    pub(crate) fn new(bound: usize) -> Self {
        Self { events: VecDeque::new(), bytes: 0, bound, missed: 0 }
    }

    /// Adds an event; a chunk of the stream that came last joins it.
    pub(crate) fn push(&mut self, event: &Event) {
        let size = event.size();
        if self.missed > 0 || self.bytes + size > self.bound {
            self.missed += size;
            return;
        }
        self.bytes += size;
        if let Event::Output(Output::Stream { name, text }) = event
            && let Some(Event::Output(Output::Stream { name: last, text: open })) =
                self.events.back_mut()
            && last == name
        {
            open.push_str(text);
        } else {
            self.events.push_back(event.clone());
        }
    }

    /// Notes that so much was left out here.
    pub(crate) fn leave_out(&mut self, bytes: usize) {
        if self.missed == 0 {
            let mark = mark(bytes);
            self.bytes += mark.size();
            self.events.push_back(mark);
        } else {
            self.missed = self.missed.saturating_add(bytes);
        }
    }

    /// Everything that waits.
    pub(crate) fn take(&mut self) -> Vec<Event> {
        let mut events: Vec<_> = self.events.drain(..).collect();
        self.bytes = 0;
        let missed = std::mem::take(&mut self.missed);
        if missed > 0 {
            events.push(mark(missed));
        }
        events
    }
}

fn mark(bytes: usize) -> Event {
    let text = format!("\n\n... [about {bytes} bytes of output left out] ...\n\n");
    Event::Output(Output::Stream { name: "stdout".to_owned(), text })
}

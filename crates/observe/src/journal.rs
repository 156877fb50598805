//! What happened that somebody who looks for a cause wants to know: bounded, the oldest forgotten first.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When, as RFC 3339 has it.
    pub ts: String,
    /// What: `oom_kill`, `cpu_throttled`, `disk_full`, `service_restart`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// The same for people.
    pub message: String,
    /// Figures for programs.
    pub data: Map<String, Value>,
}

/// The events kept.
#[derive(Debug)]
pub struct Journal {
    state: Mutex<State>,
    kept: usize,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Event>,
    /// Events there ever were.
    count: u64,
}

impl Journal {
    /// Keeps this many events.
    pub fn new(kept: usize) -> Self {
        Self { state: Mutex::default(), kept }
    }

    /// Adds an event of this moment. `data` must be an object; anything else is left out.
    pub fn push(&self, kind: &str, message: impl Into<String>, data: Value) {
        let data = match data {
            Value::Object(data) => data,
            _ => Map::new(),
        };
        let ts = format!("{:.6}", Timestamp::now());
        let event = Event { ts, kind: kind.to_owned(), message: message.into(), data };
        let mut state = self.state();
        state.count += 1;
        state.events.push_back(event);
        if state.events.len() > self.kept {
            state.events.pop_front();
        }
    }

    /// Events there ever were: a place to read from.
    pub fn count(&self) -> u64 {
        self.state().count
    }

    /// The latest events, the oldest of them first.
    pub fn recent(&self, most: usize) -> Vec<Event> {
        let state = self.state();
        let skipped = state.events.len().saturating_sub(most);
        state.events.iter().skip(skipped).cloned().collect()
    }

    /// What was added after there were `count` events and before there were `until`, as far as it is kept.
    pub fn between(&self, count: u64, until: u64) -> Vec<Event> {
        let state = self.state();
        let first = state.count - state.events.len() as u64;
        let numbered = (first..).zip(&state.events);
        let within = |number: &u64| (count..until).contains(number);
        numbered.filter(|(number, _)| within(number)).map(|(_, event)| event.clone()).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_oldest_events_are_forgotten_first_and_places_stay_exact() {
        let journal = Journal::new(3);
        for number in 0..5 {
            journal.push("test", number.to_string(), json!({ "number": number }));
        }
        let messages =
            |events: Vec<Event>| events.into_iter().map(|event| event.message).collect::<Vec<_>>();
        assert_eq!(messages(journal.recent(2)), ["3", "4"]);
        assert_eq!(messages(journal.recent(9)), ["2", "3", "4"]);
        assert_eq!(journal.count(), 5);
        assert_eq!(messages(journal.between(3, 4)), ["3"]);
        assert_eq!(messages(journal.between(0, 9)), ["2", "3", "4"]);
        assert_eq!(journal.recent(1)[0].data["number"], 4);
    }
}

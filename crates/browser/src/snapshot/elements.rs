//! The elements a page offers to be acted on, those in frames among them, by index.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::element::engine::DEPTH;
use crate::element::{Key, Said};
use crate::snapshot::Scope;
use crate::snapshot::text::read_frame;
use crate::{Frame, Result, Tab};

/// Elements that are listed at most.
const ELEMENTS: usize = 5000;

/// The elements of a page.
#[derive(Debug, Clone)]
pub struct ElementsSnapshot {
    /// Each as an object; its `index` names it until the next listing.
    pub elements: Vec<Value>,
    /// What to give as `since` the next time.
    pub snapshot: String,
    /// Indices of the named snapshot that are no more.
    pub removed: Vec<usize>,
    /// How many elements were left out for want of room.
    pub left_out: usize,
    /// Whether only changes are told.
    pub is_delta: bool,
}

impl ElementsSnapshot {
    /// What a reader should know about it.
    pub fn note(&self) -> Option<String> {
        let mut note = Vec::new();
        if self.is_delta {
            let gone = match self.removed.as_slice() {
                [] => String::new(),
                removed => format!(
                    "; gone: {}",
                    removed.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
                ),
            };
            note.push(format!(
                "only new and changed elements are listed, all others keep their index{gone}"
            ));
        }
        if self.left_out > 0 {
            note.push(format!(
                "{} elements were left out; raise max_chars or narrow it with a selector",
                self.left_out
            ));
        }
        (!note.is_empty()).then(|| note.join("; "))
    }
}

/// Where a frame's viewport begins in the page's, and how it is scaled.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Origin {
    x: f64,
    y: f64,
    scale_x: f64,
    scale_y: f64,
}

impl Origin {
    pub(super) const PAGE: Self = Self { x: 0.0, y: 0.0, scale_x: 1.0, scale_y: 1.0 };

    /// That of a frame within this one.
    pub(super) fn of(self, inner: Self) -> Self {
        Self {
            x: self.x + inner.x * self.scale_x,
            y: self.y + inner.y * self.scale_y,
            scale_x: self.scale_x * inner.scale_x,
            scale_y: self.scale_y * inner.scale_y,
        }
    }

    /// Turns an entry's box of the frame into one of the page.
    pub(super) fn place(self, entry: &mut Value) {
        if (self.x, self.y, self.scale_x, self.scale_y) == (0.0, 0.0, 1.0, 1.0) {
            return;
        }
        let hundredths = |number: f64| (number * 100.0).round() / 100.0;
        let found = &mut entry["bounding_box"];
        for (side, start, scale) in [("x", self.x, self.scale_x), ("y", self.y, self.scale_y)] {
            let at = found[side].as_f64().unwrap_or_default();
            found[side] = Value::from(hundredths(start + at * scale));
        }
        for (side, scale) in [("width", self.scale_x), ("height", self.scale_y)] {
            let length = found[side].as_f64().unwrap_or_default();
            found[side] = Value::from(hundredths(length * scale));
        }
    }
}

/// A frame's element, as the engine tells it.
#[derive(Debug, Deserialize)]
pub(super) struct FramePlace {
    pub(super) number: u64,
    /// The number of entries before it.
    #[serde(default)]
    pub(super) at: usize,
    pub(super) origin: Origin,
}

/// An element with its key.
type Entry = (Key, Value);

impl Tab {
    /// The elements a page offers to be acted on. From here on indices mean these; a listing of changes keeps those of
    /// the snapshot it is compared with.
    pub async fn elements_snapshot(self: &Arc<Self>, scope: &Scope) -> Result<ElementsSnapshot> {
        let request = json!({ "limit": ELEMENTS });
        let (frame, told) = self.read("list", request, scope.selector.as_deref()).await?;
        let origin = if frame.is_main() {
            Origin::PAGE
        } else {
            let offset = frame.offset().await?;
            Origin { x: offset.x, y: offset.y, ..Origin::PAGE }
        };
        let mut left_out = 0;
        let entries = collect(&frame, told, origin, DEPTH, &mut left_out).await;
        let before = match scope.since.as_deref().and_then(|token| self.elements().recall(token)) {
            Some(Said::Elements(before)) => Some(before),
            _ => None,
        };
        let is_delta = before.is_some();
        let numbered = number(entries, before.as_deref().unwrap_or_default());
        let present: HashSet<usize> = numbered.iter().map(|(index, ..)| *index).collect();
        let earlier: HashMap<usize, &Value> =
            before.iter().flatten().map(|(index, _, entry)| (*index, entry)).collect();
        let mut removed: Vec<usize> =
            earlier.keys().copied().filter(|index| !present.contains(index)).collect();
        removed.sort_unstable();

        let length = numbered.iter().map(|(index, ..)| index + 1).max().unwrap_or_default();
        let mut listed = vec![None; length];
        for (index, key, _) in &numbered {
            listed[*index] = Some(key.clone());
        }
        self.elements().list(listed);
        let snapshot = self.elements().remember(Said::Elements(numbered.clone()));

        let changed = numbered
            .into_iter()
            .filter(|(index, _, entry)| earlier.get(index) != Some(&entry))
            .map(|(index, _, entry)| with_index(index, entry))
            .collect();
        let elements = within(changed, scope.max_chars, &mut left_out);
        Ok(ElementsSnapshot { elements, snapshot, removed, left_out, is_delta })
    }
}

/// All entries of a frame and, at their places, of the frames in it.
fn collect<'a>(
    frame: &'a Arc<Frame>,
    mut told: Value,
    origin: Origin,
    depth: usize,
    left_out: &'a mut usize,
) -> BoxFuture<'a, Vec<Entry>> {
    Box::pin(async move {
        let more = told["more"].as_u64().unwrap_or_default();
        *left_out += usize::try_from(more).unwrap_or(usize::MAX);
        let epoch = told["epoch"].as_str().unwrap_or_default().to_owned();
        let frames: Vec<FramePlace> =
            serde_json::from_value(told["frames"].take()).unwrap_or_default();
        let Value::Array(elements) = told["elements"].take() else { return Vec::new() };
        let mut frames = frames.into_iter().peekable();
        let mut entries = Vec::with_capacity(elements.len());
        let end = elements.len();
        for (at, element) in elements.into_iter().map(Some).chain([None]).enumerate() {
            while let Some(place) = frames.next_if(|place| place.at <= at.min(end)) {
                if depth == 0 || entries.len() >= ELEMENTS {
                    continue;
                }
                let request = json!({ "limit": ELEMENTS - entries.len() });
                let read = read_frame(frame, place.number, "list", &request).await;
                let Ok((inner, told)) = read else { continue };
                let origin = origin.of(place.origin);
                entries.extend(collect(&inner, told, origin, depth - 1, left_out).await);
            }
            let Some(mut entry) = element else { continue };
            origin.place(&mut entry);
            let number = entry["number"].as_u64().unwrap_or_default();
            if let Some(fields) = entry.as_object_mut() {
                fields.shift_remove("number");
                let name = if frame.is_main() { Value::Null } else { Value::from(frame.url()) };
                fields.insert("frame".to_owned(), name);
            }
            let key = Key { frame: frame.id().to_owned(), epoch: epoch.clone(), number };
            entries.push((key, entry));
        }
        entries
    })
}

/// Gives every element an index: known ones keep theirs, the others come after.
fn number(entries: Vec<Entry>, before: &[(usize, Key, Value)]) -> Vec<(usize, Key, Value)> {
    let known: HashMap<&Key, usize> = before.iter().map(|(index, key, _)| (key, *index)).collect();
    let mut next = before.iter().map(|(index, ..)| index + 1).max().unwrap_or_default();
    let mut give = |key: &Key| {
        known.get(key).copied().unwrap_or_else(|| {
            next += 1;
            next - 1
        })
    };
    entries.into_iter().map(|(key, entry)| (give(&key), key, entry)).collect()
}

fn with_index(index: usize, entry: Value) -> Value {
    let mut indexed = serde_json::Map::from_iter([("index".to_owned(), Value::from(index))]);
    if let Value::Object(fields) = entry {
        indexed.extend(fields);
    }
    Value::Object(indexed)
}

/// As many elements as have room.
fn within(elements: Vec<Value>, max_chars: Option<usize>, left_out: &mut usize) -> Vec<Value> {
    let Some(max) = max_chars else { return elements };
    let count = elements.len();
    let mut used = 2;
    let kept: Vec<Value> = elements
        .into_iter()
        .take_while(|element| {
            used += element.to_string().chars().count() + 1;
            used <= max
        })
        .collect();
    *left_out += count - kept.len();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> Key {
        Key { frame: "f".to_owned(), epoch: "e".to_owned(), number }
    }

    #[test]
    fn known_elements_keep_their_index_and_new_ones_come_after() {
        let before = [(0, key(5), json!({})), (1, key(6), json!({})), (2, key(7), json!({}))];
        let now = vec![(key(9), json!({})), (key(7), json!({})), (key(5), json!({}))];
        let indices: Vec<usize> =
            number(now, &before).into_iter().map(|(index, ..)| index).collect();
        assert_eq!(indices, [3, 2, 0]);
    }

    #[test]
    fn elements_without_room_are_counted() {
        let elements = vec![json!({ "a": 1 }), json!({ "b": 2 }), json!({ "c": 3 })];
        let mut left_out = 0;
        let kept = within(elements, Some(20), &mut left_out);
        assert_eq!((kept.len(), left_out), (2, 1));
    }

    #[test]
    fn a_box_in_a_scaled_frame_is_told_in_the_pages_pixels() {
        let half = Origin { x: 100.0, y: 50.0, scale_x: 0.5, scale_y: 0.5 };
        let mut entry = json!({ "bounding_box": { "x": 10, "y": 20, "width": 30, "height": 40 } });
        Origin::PAGE.of(half).place(&mut entry);
        let expected = json!({ "x": 105.0, "y": 60.0, "width": 15.0, "height": 20.0 });
        assert_eq!(entry["bounding_box"], expected);
    }
}

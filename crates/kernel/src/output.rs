//! What code put out, as a notebook would show it.

use serde_json::{Map, Value};

/// What an output costs beyond its content: as much as its frame in an answer takes.
pub(crate) const OUTPUT_COST: usize = 200;

/// Something code put out.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Text it printed.
    Stream {
        /// `stdout` or `stderr`.
        name: String,
        /// The text.
        text: String,
    },
    /// The value of its last expression.
    Result(Rich),
    /// Something it displayed: a picture, a table, a plot.
    Display(Rich),
    /// The exception that ended it.
    Error {
        /// Its class.
        name: String,
        /// What it says.
        value: String,
        /// Where it happened; may hold ANSI colours.
        traceback: Vec<String>,
    },
}

/// A value in several forms.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rich {
    /// Each form by its media type; bytes are base64.
    pub data: Map<String, Value>,
    /// About the forms, by media type.
    pub metadata: Map<String, Value>,
    /// For the value of an expression: its number.
    pub execution_count: Option<u64>,
    /// By which a display is updated later.
    pub display_id: Option<String>,
}

/// Something that happened to the outputs, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// An output, or another chunk of a stream.
    Output(Output),
    /// The display with this id changed.
    Update(Rich),
    /// What came before is cleared: now, or when the next output comes.
    Clear {
        /// Not before the next output.
        wait: bool,
    },
}

/// How much is kept of one execution's outputs.
#[derive(Debug, Clone, Copy)]
pub struct OutputLimits {
    /// Bytes of printed text.
    pub text_bytes: usize,
    /// Bytes of rich results.
    pub rich_bytes: usize,
}

impl Event {
    /// Bytes it takes while it waits for a reader, about.
    pub(crate) fn size(&self) -> usize {
        let content = match self {
            Event::Output(Output::Stream { text, .. }) => text.len(),
            Event::Output(Output::Result(rich) | Output::Display(rich)) | Event::Update(rich) => {
                rich.size()
            }
            Event::Output(Output::Error { value, traceback, .. }) => {
                value.len() + traceback.iter().map(String::len).sum::<usize>()
            }
            Event::Clear { .. } => 0,
        };
        OUTPUT_COST + content
    }
}

impl Rich {
    /// Bytes it takes in an answer, about.
    pub(crate) fn size(&self) -> usize {
        OUTPUT_COST + json_size_of(&self.data) + json_size_of(&self.metadata)
    }
}

pub(crate) fn json_size_of(map: &Map<String, Value>) -> usize {
    map.iter().map(|(name, value)| name.len() + json_size(value)).sum()
}

/// About how long a value is as JSON.
pub(crate) fn json_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| 1 + json_size(item)).sum::<usize>(),
        Value::Object(map) => 2 + map.len() * 4 + json_size_of(map),
    }
}

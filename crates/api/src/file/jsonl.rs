//! Files that hold one JSON value per line.

use atoll_operation::{Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FAULTS;

/// Count the lines of a file that holds one JSON value per line.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CountJsonLines {
    /// The file.
    pub file: String,
}

/// How many lines there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JsonLineCount {
    /// Lines; a last one without line break counts.
    pub lines: u64,
}

impl Operation for CountJsonLines {
    type Output = JsonLineCount;
    const SPEC: Spec =
        Spec::post("file_jsonl_count", "/v1/jsonl/count", "file:read").errors(FAULTS);
}

/// Read lines of a file that holds one JSON value per line.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReadJsonLines {
    /// The file.
    pub file: String,
    /// First line, from 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub start_line: u64,
    /// Lines to read at most; all when omitted.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub count: Option<u64>,
}

/// Lines read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JsonLines {
    /// The lines as they are, without their line breaks.
    pub lines: Vec<String>,
}

impl Operation for ReadJsonLines {
    type Output = JsonLines;
    const SPEC: Spec = Spec::post("file_jsonl_read", "/v1/jsonl/read", "file:read").errors(FAULTS);
}

/// One text, or several.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl OneOrMany {
    /// Each of them.
    pub fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        }
    }
}

/// Add JSON values to the end of a file, one per line, making it and its directories when they are missing.
///
/// All of them are added or none. A value written over several lines is put on one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AppendJsonLines {
    /// The file.
    pub file: String,
    /// The value as JSON text, or a list of such values.
    pub json_string: OneOrMany,
}

/// What was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AppendedJsonLines {
    /// The file.
    pub file: String,
    /// Lines added.
    pub lines: u64,
}

impl Operation for AppendJsonLines {
    type Output = AppendedJsonLines;
    const SPEC: Spec = Spec::post("file_jsonl_append", "/v1/jsonl/append", "file:write")
        .errors(FAULTS)
        .large_body();
}

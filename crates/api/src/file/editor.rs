//! The editor agents know: view, create, replace, insert, undo; and the edit that forgives inexact quotes.

use atoll_operation::{Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What the editor shall do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditorCommand {
    /// Show a file with line numbers, or a directory two levels deep.
    View,
    /// Create a file that does not exist yet.
    Create,
    /// Replace a text.
    StrReplace,
    /// Insert lines.
    Insert,
    /// Undo the latest edit of a file, the creation of one included.
    UndoEdit,
}

/// Which occurrences to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum ReplaceMode {
    /// Every one.
    All,
    /// The first.
    First,
    /// The last.
    Last,
}

/// View and edit files step by step.
///
/// Lines are counted from 1 here. An edit that cannot be made, because the text is missing or not unique, is an error
/// and changes nothing. Line endings and a missing last line break are kept.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StrReplaceEditor {
    /// What to do.
    pub command: EditorCommand,
    /// The file, or directory for `view`.
    pub path: String,
    /// Text of the file for `create`.
    #[serde(default)]
    pub file_text: Option<String>,
    /// Text to replace for `str_replace`; it must occur exactly once unless `replace_mode` is given.
    #[serde(default)]
    pub old_str: Option<String>,
    /// Text to put in its place, or to insert; nothing when omitted for `str_replace`.
    #[serde(default)]
    pub new_str: Option<String>,
    /// Line to insert after; 0 for the top.
    #[serde(default)]
    pub insert_line: Option<i64>,
    /// First and last line to view; -1 for the end of the file.
    #[serde(default)]
    pub view_range: Vec<i64>,
    /// Which occurrences `str_replace` replaces.
    #[serde(default)]
    pub replace_mode: Option<ReplaceMode>,
    /// First and last page of a PDF to view.
    #[serde(default)]
    pub page_range: Option<Vec<i64>>,
    /// Sheet of a workbook to view.
    #[serde(default)]
    pub sheet_name: Option<String>,
    /// First and last row of a sheet to view.
    #[serde(default)]
    pub row_range: Option<Vec<i64>>,
    /// First and last slide of a presentation to view.
    #[serde(default)]
    pub slide_range: Option<Vec<i64>>,
    /// Return what is known of a document beside its text.
    #[serde(default)]
    pub enable_metadata: bool,
}

/// What the editor did.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StrReplaceEditorResult {
    /// The outcome for an agent: what was viewed, or the lines round the edit.
    pub output: String,
    /// What went wrong, where something did.
    pub error: Option<String>,
    /// The file.
    pub path: String,
    /// Whether it existed before.
    pub prev_exist: bool,
    /// Its text before an edit.
    pub old_content: Option<String>,
    /// Its text after an edit; null when the edit removed it.
    pub new_content: Option<String>,
    /// What is known of a document, when asked for.
    pub metadata: Option<Map<String, Value>>,
}

impl Operation for StrReplaceEditor {
    type Output = StrReplaceEditorResult;
    const SPEC: Spec =
        Spec::post("file_str_replace_editor", "/v1/file/str_replace_editor", "file:write")
            .sdk("file", "str_replace_editor")
            .mcp(Mcp::Destructive)
            .errors(&[
                "file.not_found",
                "file.permission_denied",
                "file.invalid_target",
                "file.invalid_path",
                "file.read_only_filesystem",
                "file.no_space_left",
                "file.decode_error",
                "file.too_large",
                "file.io_error",
                "editor.exists",
                "editor.no_match",
                "editor.not_unique",
                "editor.range",
                "editor.nothing_to_undo",
                "editor.changed_meanwhile",
                "editor.missing_argument",
                "convert.timeout",
                "convert.busy",
            ])
            .large_body();
}

/// Replace a text in a file, forgiving small differences between the text given and the text in the file.
///
/// The text is looked for as it is, then with other white space, indentation or escapes round it, then by its first and
/// last lines; the first way that finds it wins, and the new text is indented as the old one was. What could mean several
/// places is refused with their lines, and nothing is changed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct EditFile {
    /// The file.
    pub file: String,
    /// The text to replace, with enough round it to be the only one.
    pub old_string: String,
    /// The text to put in its place.
    pub new_string: String,
    /// Replace every occurrence instead of the only one.
    #[serde(default)]
    pub replace_all: bool,
}

/// How the text to replace was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditMatch {
    /// As it is.
    Exact,
    /// Lines equal but for space round them.
    LineTrimmed,
    /// First and last lines equal, the lines between much alike.
    BlockAnchor,
    /// Equal but for the amount of white space.
    WhitespaceNormalized,
    /// Lines equal but for a common indentation.
    IndentationFlexible,
    /// Equal once escapes such as `\n` are taken for what they stand for.
    EscapeNormalized,
    /// Equal but for white space at its beginning and end.
    TrimmedBoundary,
    /// As many lines, the first and last and half of the others equal.
    ContextAware,
    /// As it is, in several places.
    MultiOccurrence,
}

/// What an edit did.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EditFileResult {
    /// The file.
    pub file: String,
    /// Places changed.
    pub replaced_count: u64,
    /// How the text was recognised.
    pub matched: EditMatch,
    /// The lines round the first change, numbered.
    pub snippet: String,
}

impl Operation for EditFile {
    type Output = EditFileResult;
    const SPEC: Spec = Spec::post("file_edit", "/v1/file/edit", "file:write")
        .mcp(Mcp::Destructive)
        .errors(&[
            "file.not_found",
            "file.permission_denied",
            "file.invalid_target",
            "file.invalid_path",
            "file.read_only_filesystem",
            "file.no_space_left",
            "file.decode_error",
            "file.too_large",
            "file.io_error",
            "editor.no_match",
            "editor.not_unique",
            "editor.missing_argument",
        ])
        .large_body();
}

//! What a tool returns, and how a failure is told to a model: what went wrong, and what to do next.

use atoll_operation::{Error, Kind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, ResourceContents};
use serde_json::Value;

/// The result of a tool.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    content: Vec<ContentBlock>,
    structured: Option<Value>,
    failed: bool,
}

impl Reply {
    /// A text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { content: vec![ContentBlock::text(text)], ..Self::default() }
    }

    /// A value, also as JSON text for clients that know only texts.
    pub(crate) fn json(value: Value) -> Self {
        let text = match &value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        Self::text(text).with(value)
    }

    /// A picture.
    pub(crate) fn image(bytes: &[u8], media_type: &str) -> Self {
        let image = ContentBlock::image(STANDARD.encode(bytes), media_type.to_owned());
        Self { content: vec![image], ..Self::default() }
    }

    /// A picture that is in base64 already.
    pub(crate) fn encoded_image(data: &str, media_type: &str) -> Self {
        let image = ContentBlock::image(data.to_owned(), media_type.to_owned());
        Self { content: vec![image], ..Self::default() }
    }

    /// A file, by the address it has.
    pub(crate) fn file(bytes: &[u8], media_type: &str, uri: &str) -> Self {
        let contents =
            ResourceContents::blob(STANDARD.encode(bytes), uri).with_mime_type(media_type);
        Self { content: vec![ContentBlock::resource(contents)], ..Self::default() }
    }

    /// Adds a text after what there is.
    pub(crate) fn and_text(mut self, text: impl Into<String>) -> Self {
        self.content.push(ContentBlock::text(text));
        self
    }

    /// Adds another reply's content.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.content.extend(other.content);
        self
    }

    /// Adds the value for programs. What is not an object is put into one, as the protocol wants it.
    pub(crate) fn with(mut self, value: Value) -> Self {
        self.structured = Some(match value {
            Value::Object(_) => value,
            other => serde_json::json!({ "result": other }),
        });
        self
    }

    /// Says that the tool did its work and what it did failed, as a command with another exit code than 0.
    pub(crate) fn failed_if(mut self, failed: bool) -> Self {
        self.failed = failed;
        self
    }

    pub(crate) fn into_result(self) -> CallToolResult {
        let mut result = if self.failed {
            CallToolResult::error(self.content)
        } else {
            CallToolResult::success(self.content)
        };
        result.structured_content = self.structured;
        result
    }
}

/// A failure for a model.
pub(crate) fn failure(error: &Error) -> CallToolResult {
    let mut text = error.message().to_owned();
    let advice = error.hint().unwrap_or(match error.kind() {
        Kind::InvalidInput => "Correct the arguments named here and call the tool again.",
        Kind::PermissionDenied | Kind::Unauthenticated => {
            "This client is not allowed to do that; go on without it or ask the user."
        }
        Kind::ResourceExhausted => "End something that is no longer needed, then try again.",
        Kind::DeadlineExceeded => "Ask for less at a time, or allow more time.",
        Kind::Cancelled => "The call was cancelled.",
        Kind::Internal => "Trying once more may help; if it does not, go on without this tool.",
        _ => "",
    });
    if !advice.is_empty() {
        text = format!("{text}\n{advice}");
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    let code = serde_json::Map::from_iter([("atoll/code".to_owned(), Value::from(error.code()))]);
    result.meta = Some(MetaObject::from(code));
    result
}

//! Conversion of documents.

use atoll_operation::{Declaration, Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[Declaration::of::<ConvertToMarkdown>()];

/// Convert a document to Markdown: a web page, PDF, Word, Excel, PowerPoint, CSV, JSON, XML, a feed, a book, a notebook,
/// an archive of such, or what is known of a picture.
///
/// What a document is, is seen from its content first. Headings, lists, tables and links are kept; of a web page that is
/// an article the article. Other kinds go to Python's `markitdown` where the sandbox has it installed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UtilConvertToMarkdownRequest")]
pub struct ConvertToMarkdown {
    /// The document: an address (`http:`, `https:`), a file (`file:` or a path), or the document itself (`data:`).
    pub uri: String,
}

impl Operation for ConvertToMarkdown {
    type Output = String;
    const SPEC: Spec =
        Spec::post("util_convert_to_markdown", "/v1/util/convert_to_markdown", "file:read")
            .sdk("util", "convert_to_markdown")
            .mcp(Mcp::ReadOnly)
            .large_body()
            .errors(&[
                "convert.invalid_uri",
                "convert.unsupported",
                "convert.failed",
                "convert.protected",
                "convert.no_text",
                "convert.too_large",
                "convert.timeout",
                "convert.busy",
                "convert.unavailable",
                "file.not_found",
                "file.permission_denied",
                "file.invalid_target",
                "file.invalid_path",
                "file.io_error",
                "web.invalid_url",
                "web.refused",
                "web.unreachable",
                "web.bad_answer",
                "web.status",
                "web.too_large",
                "web.timeout",
            ]);
}

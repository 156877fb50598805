//! What pages wrote to the console.

use atoll_operation::{Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Read what the pages of the active tab wrote to the console, exceptions nobody caught included.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetConsole {
    /// Forget it afterwards.
    #[serde(default)]
    pub clear: bool,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

/// A line of the console.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConsoleRecord {
    /// Its level: `log`, `info`, `warning`, `error`, `debug`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// Who wrote it: `console`, `exception`, or a part of the browser such as `network`.
    pub source: String,
    /// Its text.
    pub text: String,
    /// When it was written.
    #[schemars(extend("format" = "date-time"))]
    pub timestamp: String,
    /// Address of the page or script that wrote it.
    pub url: Option<String>,
    /// Line in that script, from 1.
    pub line: Option<u64>,
    /// Column in that line, from 1.
    pub column: Option<u64>,
}

impl Operation for GetConsole {
    type Output = Vec<ConsoleRecord>;
    const SPEC: Spec = Spec::get("browser_get_console", "/v1/browser/page/console", "browser:read")
        .sdk("browser.page", "get_console")
        .mcp(Mcp::ReadOnly)
        .errors(common![]);
}

/// Write what the pages of the active tab wrote to the console to a JSON file.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ExportConsole {
    /// The file.
    pub save_path: String,
    /// Forget it afterwards.
    #[serde(default)]
    pub clear: bool,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

/// Records in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportedRecords {
    /// The file.
    pub path: String,
    /// Records in it.
    pub count: u64,
}

impl Operation for ExportConsole {
    type Output = ExportedRecords;
    const SPEC: Spec =
        Spec::post("browser_export_console", "/v1/browser/page/console/export", "browser:write")
            .sdk("browser.page", "export_console")
            .mcp(Mcp::Mutating)
            .errors(common![
                "file.not_found",
                "file.permission_denied",
                "file.invalid_path",
                "file.invalid_target",
                "file.no_space_left",
                "file.io_error"
            ]);
}

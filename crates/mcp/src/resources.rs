//! Files of the workspace as resources: those at its top are listed, any other is read by its address.

use std::path::Path;

use atoll_operation::Kind;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use crate::calls::Calls;

/// Files listed.
const LISTED: usize = 200;
/// What a path must not hold in an address.
const PATH: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'`');

/// The address of a file.
fn uri(path: &str) -> String {
    format!("file://{}", utf8_percent_encode(path, PATH))
}

/// The templates by which any file and directory is reached.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("file:///{+path}", "file")
            .with_title("A file or directory of the sandbox")
            .with_description("Text as text, anything else as bytes, a directory as a list. `path` is absolute without its first slash."),
    ]
}

/// Files at the top of the workspace.
pub(crate) async fn list(calls: &Calls, workspace: &Path) -> Vec<Resource> {
    let input = json!({"path": workspace, "show_hidden": false});
    // A workspace that cannot be read has nothing to list.
    let Ok(listed) = calls.ask("file_list", input).await else {
        return Vec::new();
    };
    let entries = listed.get("files").and_then(Value::as_array).cloned().unwrap_or_default();
    let files =
        entries.iter().filter(|entry| entry.get("is_directory") == Some(&Value::Bool(false)));
    files
        .take(LISTED)
        .filter_map(|entry| {
            let (path, name) = (entry.get("path")?.as_str()?, entry.get("name")?.as_str()?);
            let mut resource =
                Resource::new(uri(path), name).with_description(format!("The file {path}"));
            resource.size = entry.get("size").and_then(Value::as_u64);
            resource.mime_type = media_type(name).map(str::to_owned);
            Some(resource)
        })
        .collect()
}

/// The file or directory at an address.
pub(crate) async fn read(calls: &Calls, address: &str) -> Result<ReadResourceResult, ErrorData> {
    let not_found =
        |why: String| ErrorData::resource_not_found(why, Some(json!({ "uri": address })));
    let path = address.strip_prefix("file://").filter(|path| path.starts_with('/'));
    let path = path.and_then(|path| percent_decode_str(path).decode_utf8().ok());
    let Some(path) = path else {
        return Err(not_found(format!("{address:?} is no address of a file; write file:///path")));
    };
    let refused = |error: atoll_operation::Error| match error.kind() {
        Kind::NotFound => not_found(error.message().to_owned()),
        Kind::Internal | Kind::Unavailable => {
            ErrorData::internal_error(error.message().to_owned(), None)
        }
        _ => ErrorData::invalid_params(error.message().to_owned(), None),
    };
    let stat = calls.ask("file_stat", json!({"path": path})).await.map_err(refused)?;
    if stat.get("exists") == Some(&Value::Bool(false)) {
        return Err(not_found(format!("there is no file {path}")));
    }
    if stat.get("is_dir") == Some(&Value::Bool(true)) {
        let listed = calls.ask("file_list", json!({"path": path})).await.map_err(refused)?;
        let contents = ResourceContents::text(listed.to_string(), address);
        return Ok(ReadResourceResult::new(vec![contents.with_mime_type("application/json")]));
    }
    let content = |result: &Value| {
        result.get("content").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let contents = match calls.ask("file_read", json!({"file": path})).await {
        Ok(result) => {
            let kind = media_type(&path).unwrap_or("text/plain");
            ResourceContents::text(content(&result), address).with_mime_type(kind)
        }
        Err(error) if error.code() == "file.decode_error" => {
            let input = json!({"file": path, "base64": true});
            let result = calls.ask("file_read", input).await.map_err(refused)?;
            let kind = media_type(&path).unwrap_or("application/octet-stream");
            ResourceContents::blob(content(&result), address).with_mime_type(kind)
        }
        Err(error) => return Err(refused(error)),
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

fn media_type(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "md" => "text/markdown",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        "txt" | "log" | "py" | "rs" | "ts" | "sh" | "toml" | "yaml" | "yml" => "text/plain",
        _ => return None,
    })
}

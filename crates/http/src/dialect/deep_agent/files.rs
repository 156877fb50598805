//! Files as this family asks for them and reads them.

use serde_json::{Map, Value, json};

use super::base::Base;
use super::values::{mode, unix_time};

const FILES: u64 = 100;
/// What only the other family says when it looks for files.
const OTHERS: [&str; 9] = [
    "exclude",
    "include_hidden",
    "files_only",
    "include_metadata",
    "max_results",
    "sort_by",
    "sort_desc",
    "gitignore",
    "timeout",
];

/// How found files are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Each with all that is known of it.
    Objects,
    /// By their paths.
    Paths,
}

/// How a search for files is answered; `theirs` says that a client of this family asks.
pub(crate) fn glob_form(input: &Map<String, Value>, theirs: bool) -> Form {
    let said = |name: &&str| input.get(*name).is_some_and(|value| !value.is_null());
    if theirs && !OTHERS.iter().any(said) { Form::Paths } else { Form::Objects }
}

/// Reads a search for files in this family's words: hidden ones too, those changed last first.
pub(in crate::dialect) fn read_glob(input: &mut Map<String, Value>, base: Option<&Base>) {
    read_search(input, base);
    let limit = input.remove("limit");
    let limit = limit.as_ref().and_then(Value::as_u64).filter(|limit| *limit > 0);
    for (name, value) in [
        ("max_results", json!(limit.unwrap_or(FILES).min(50_000))),
        ("include_hidden", json!(true)),
        ("sort_by", json!("modified")),
        ("sort_desc", json!(true)),
    ] {
        input.insert(name.to_owned(), value);
    }
    // To this family a pattern without a slash is a name at any depth.
    if let Some(Value::String(pattern)) = input.get_mut("pattern")
        && !pattern.is_empty()
        && !pattern.contains('/')
    {
        pattern.insert_str(0, "**/");
    }
}

/// A search that does not say where is one in the directory the request begins in.
pub(in crate::dialect) fn read_search(input: &mut Map<String, Value>, base: Option<&Base>) {
    let given = input.get("path").is_some_and(|path| !path.is_null() && path != "");
    if !given {
        let here = base.map_or_else(|| ".".to_owned(), Base::path);
        input.insert("path".to_owned(), json!(here));
    }
    if input.get("output_mode").is_some_and(|mode| mode == "files_with_matches") {
        input.insert("output_mode".to_owned(), json!("files_only"));
    }
    // Its client sends what nobody chose as an empty text.
    input.retain(|name, value| name != "output_mode" || value != "");
}

/// Adds `output` and `count`, and tells files in the form asked for.
pub(in crate::dialect) fn answer_glob(form: Form, result: &mut Map<String, Value>) {
    let files = result.get("files").and_then(Value::as_array).map(Vec::as_slice);
    let paths: Vec<_> = files
        .unwrap_or_default()
        .iter()
        .filter_map(|file| file["path"].as_str().map(str::to_owned))
        .collect();
    let more = result.get("truncated") == Some(&Value::Bool(true));
    let mut output = if paths.is_empty() { "No files found".to_owned() } else { paths.join("\n") };
    if more {
        output.push_str("\n\n(there is more: use a narrower path or pattern)");
    }
    result.insert("count".to_owned(), json!(paths.len()));
    result.insert("output".to_owned(), json!(output));
    if form == Form::Paths {
        result.insert("files".to_owned(), json!(paths));
    }
}

/// Reads a list of files in this family's words, which shows modes.
pub(in crate::dialect) fn read_list(input: &mut Map<String, Value>) {
    input.entry("include_permissions").or_insert(json!(true));
}

/// Adds to each file of a list what this family reads of it.
pub(in crate::dialect) fn answer_list(result: &mut Map<String, Value>) {
    let files = result.get_mut("files").and_then(Value::as_array_mut);
    for file in files.into_iter().flatten().filter_map(Value::as_object_mut) {
        let says = |name: &str| file.get(name) == Some(&Value::Bool(true));
        let text = |name: &str| file.get(name).and_then(Value::as_str).unwrap_or_default();
        let (is_directory, is_link) = (says("is_directory"), says("is_symlink"));
        let mode = mode(text("permissions"), is_directory, is_link);
        let changed = unix_time(text("modified_time"));
        file.insert("is_dir".to_owned(), json!(is_directory));
        file.insert("mode".to_owned(), json!(mode));
        file.insert("mod_time_unix".to_owned(), json!(changed));
    }
}

/// Adds what this family reads of an upload.
pub(in crate::dialect) fn answer_upload(result: &mut Map<String, Value>) {
    for (theirs, ours) in [("file", "file_path"), ("size", "file_size")] {
        let value = result.get(ours).cloned().unwrap_or_default();
        result.insert(theirs.to_owned(), value);
    }
}

/// Reads content to write in this family's words: bytes are flagged, not named by their encoding.
pub(in crate::dialect) fn read_content(input: &mut Map<String, Value>) {
    let flagged = input.remove("base64") == Some(Value::Bool(true));
    if flagged {
        input.entry("encoding").or_insert(json!("base64"));
    }
}

/// The type under which a browser may show a file of this name itself; `None` for what it shall save.
pub(crate) fn is_shown(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "txt" | "log" | "md" | "csv" | "py" | "go" | "rs" | "js" | "ts" | "sh" | "c" | "h"
        | "yaml" | "yml" | "toml" | "jsonl" => "text/plain; charset=utf-8",
        "html" | "htm" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "xml" => "text/xml; charset=utf-8",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "ogg" => "audio/ogg",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        let Value::Object(object) = value else { unreachable!("an object") };
        object
    }

    #[test]
    fn found_files_are_objects_as_soon_as_the_other_family_speaks() {
        let table = [
            (json!({"pattern": "*"}), true, Form::Paths),
            (json!({"pattern": "*", "limit": 3, "path": "x"}), true, Form::Paths),
            (json!({"pattern": "*", "include_hidden": null}), true, Form::Paths),
            (json!({"pattern": "*", "include_hidden": false}), true, Form::Objects),
            (json!({"pattern": "*", "max_results": 5}), true, Form::Objects),
            (json!({"pattern": "*"}), false, Form::Objects),
            (json!({"pattern": "*", "limit": 3}), false, Form::Objects),
        ];
        for (input, theirs, form) in table {
            assert_eq!(glob_form(&object(input.clone()), theirs), form, "{input}");
        }
    }

    #[test]
    fn a_search_for_files_is_read_as_meant() {
        let base = Base::Directory("/w".to_owned());
        let mut input = object(json!({"pattern": "*.rs", "limit": 0}));
        read_glob(&mut input, Some(&base));
        let expected = json!({
            "pattern": "**/*.rs", "path": "/w", "max_results": 100, "include_hidden": true,
            "sort_by": "modified", "sort_desc": true,
        });
        assert_eq!(Value::Object(input), expected);
        let mut input = object(json!({"pattern": "src/*.rs", "path": "p", "limit": 7}));
        read_glob(&mut input, None);
        assert_eq!((&input["pattern"], &input["path"]), (&json!("src/*.rs"), &json!("p")));
        assert_eq!(input["max_results"], 7);
    }

    #[test]
    fn found_files_are_told_in_both_forms() {
        let files = json!([{"path": "/a", "size": 1}, {"path": "/b", "size": 2}]);
        let result = object(json!({"files": files, "total_count": 9, "truncated": true}));
        let mut objects = result.clone();
        answer_glob(Form::Objects, &mut objects);
        assert_eq!((&objects["files"], &objects["count"]), (&files, &json!(2)));
        assert!(objects["output"].as_str().unwrap().starts_with("/a\n/b\n\n("));
        let mut paths = result;
        answer_glob(Form::Paths, &mut paths);
        assert_eq!(paths["files"], json!(["/a", "/b"]));
        assert_eq!((&paths["truncated"], &paths["total_count"]), (&json!(true), &json!(9)));
        let mut none = object(json!({"files": [], "truncated": false}));
        answer_glob(Form::Paths, &mut none);
        assert_eq!((&none["files"], &none["output"]), (&json!([]), &json!("No files found")));
    }

    #[test]
    fn listed_files_have_the_fields_of_both_families() {
        let time = "1970-01-01T00:00:09Z";
        let mut result = object(json!({"files": [
            {"is_directory": true, "is_symlink": false, "permissions": "755", "modified_time": time},
        ]}));
        answer_list(&mut result);
        let file = &result["files"][0];
        assert_eq!((&file["is_dir"], &file["is_directory"]), (&json!(true), &json!(true)));
        assert_eq!((&file["mode"], &file["mod_time_unix"]), (&json!("drwxr-xr-x"), &json!(9)));
    }

    #[test]
    fn content_may_be_flagged_as_base64() {
        for (input, expected) in [
            (json!({"base64": true}), json!({"encoding": "base64"})),
            (json!({"base64": false}), json!({})),
            (json!({"base64": true, "encoding": "raw"}), json!({"encoding": "raw"})),
        ] {
            let mut read = object(input);
            read_content(&mut read);
            assert_eq!(Value::Object(read), expected);
        }
    }
}

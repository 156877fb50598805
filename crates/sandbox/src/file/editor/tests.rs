//! The editor, with real files.

use std::fs;
use std::os::unix::fs::symlink;

use atoll_api::file::{
    EditorCommand, ReplaceMode, StrReplaceEditor, StrReplaceEditorResult, WriteFile,
};
use atoll_api::system::Limits;
use atoll_operation::Error;
use serde_json::{Value, json};

use crate::file::fixture::{Fixture, fault};

/// The editor called with these parameters.
async fn edit(fixture: &Fixture, parameters: Value) -> Result<StrReplaceEditorResult, Error> {
    fixture.ask(serde_json::from_value::<StrReplaceEditor>(parameters).unwrap()).await
}

async fn error(fixture: &Fixture, parameters: Value) -> (String, String, u16) {
    let error = edit(fixture, parameters.clone()).await.expect_err(&parameters.to_string());
    (error.code().to_owned(), error.message().to_owned(), error.kind().http_status())
}

#[tokio::test]
async fn a_file_is_viewed_with_line_numbers() {
    let fixture = Fixture::new();
    let path = fixture.put("f", "one\r\ntwo\nthree");
    let viewed = edit(&fixture, json!({"command": "view", "path": path})).await.unwrap();
    assert!(viewed.output.ends_with(":\n     1\tone\n     2\ttwo\n     3\tthree\n"));
    assert!(viewed.prev_exist && viewed.old_content.is_none() && viewed.error.is_none());
    for (range, expected) in [
        (json!([2, 3]), ":\n     2\ttwo\n     3\tthree\n"),
        (json!([3, -1]), ":\n     3\tthree\n"),
        (json!([1, 1]), ":\n     1\tone\n"),
    ] {
        let view = json!({"command": "view", "path": path, "view_range": range});
        let viewed = edit(&fixture, view).await.unwrap();
        assert!(viewed.output.ends_with(expected), "{}", viewed.output);
    }
    for range in [json!([0, 1]), json!([3, 2]), json!([1]), json!([1, 2, 3]), json!([2, -2])] {
        let view = json!({"command": "view", "path": path, "view_range": range});
        let (code, _, status) = error(&fixture, view).await;
        assert_eq!((code.as_str(), status), ("editor.range", 400), "{range}");
    }
    for range in [json!([4, 4]), json!([4, -1]), json!([1, 4])] {
        let view = json!({"command": "view", "path": path, "view_range": range});
        let (code, message, _) = error(&fixture, view).await;
        assert!(code == "editor.range" && message.contains("3 lines"), "{message}");
    }
    let empty = fixture.put("empty", "");
    let view = json!({"command": "view", "path": empty, "view_range": [1, -1]});
    edit(&fixture, view).await.unwrap();
}

#[tokio::test]
async fn a_directory_is_viewed_two_levels_deep() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("b/c/d")).unwrap();
    fixture.put("a", "");
    fixture.put(".secret", "");
    fixture.put("b/c/deep", "");
    let path = fixture.at("").trim_end_matches('/').to_owned();
    let viewed = edit(&fixture, json!({"command": "view", "path": path})).await.unwrap();
    let expected = format!("{path}/\n{path}/a\n{path}/b/\n{path}/b/c/\n1 hidden");
    assert!(viewed.output.contains(&expected), "{}", viewed.output);
    let ranged = json!({"command": "view", "path": path, "view_range": [1, 2]});
    assert_eq!(error(&fixture, ranged).await.0, "editor.range");
}

#[tokio::test]
async fn what_cannot_be_viewed_says_what_to_do() {
    let fixture = Fixture::new();
    let missing = json!({"command": "view", "path": "missing"});
    let refused = edit(&fixture, missing).await.unwrap_err();
    let told = fault(&refused);
    assert_eq!(
        (told.operation.as_str(), told.errno_name.as_deref()),
        ("str_replace_editor", Some("ENOENT"))
    );
    assert!(told.message.contains("does not exist") && told.message.contains("Invalid `path`"));
    for name in ["report.pdf", "book.XLSX"] {
        let path = fixture.put(name, "%PDF");
        let refused = edit(&fixture, json!({"command": "view", "path": path})).await.unwrap_err();
        assert_eq!(fault(&refused).error_type, "decode_error");
        assert!(refused.hint().unwrap().contains("download"));
    }
    let binary = fixture.put("binary", b"\0\xff");
    let refused = edit(&fixture, json!({"command": "view", "path": binary})).await.unwrap_err();
    assert_eq!(fault(&refused).error_type, "decode_error");
    let fifo = fixture.fifo("fifo");
    for command in ["view", "str_replace"] {
        let input = json!({"command": command, "path": fifo, "old_str": "a", "new_str": "b"});
        assert_eq!(fault(&edit(&fixture, input).await.unwrap_err()).error_type, "invalid_target");
    }
}

#[tokio::test]
async fn a_new_file_is_created_once() {
    let fixture = Fixture::new();
    let create = json!({"command": "create", "path": "a/b/f", "file_text": "one\ntwo"});
    let made = edit(&fixture, create.clone()).await.unwrap();
    assert!(!made.prev_exist && made.old_content.is_none());
    assert_eq!((made.new_content.as_deref(), made.path), (Some("one\ntwo"), fixture.at("a/b/f")));
    let (code, message, status) = error(&fixture, create).await;
    assert_eq!((code.as_str(), status), ("editor.exists", 400));
    assert!(message.contains("str_replace") && message.contains("/v1/file/write"), "{message}");
    let over = json!({"command": "create", "path": "a/b", "file_text": ""});
    assert_eq!(error(&fixture, over).await.0, "editor.exists");
    assert_eq!(fixture.get("a/b/f"), "one\ntwo");
    assert_eq!(fixture.names("a/b"), ["f"]);
    let below = json!({"command": "create", "path": "a/b/f/below", "file_text": ""});
    assert_eq!(error(&fixture, below).await.0, "file.invalid_target");
}

#[tokio::test]
async fn a_text_is_replaced_and_the_lines_round_it_shown() {
    let fixture = Fixture::new();
    let path = fixture.put("f", "one\r\ntwo\r\nthree");
    symlink("f", fixture.path("link")).unwrap();
    let input =
        json!({"command": "str_replace", "path": "link", "old_str": "one\ntwo", "new_str": "1\n2"});
    let done = edit(&fixture, input).await.unwrap();
    assert_eq!(done.old_content.as_deref(), Some("one\r\ntwo\r\nthree"));
    assert_eq!(done.new_content.as_deref(), Some("1\r\n2\r\nthree"));
    assert!(done.output.contains("     1\t1\n     2\t2\n     3\tthree\n"), "{}", done.output);
    assert_eq!(fs::read(&path).unwrap(), b"1\r\n2\r\nthree");
    assert!(fs::symlink_metadata(fixture.path("link")).unwrap().is_symlink());
    let gone = json!({"command": "str_replace", "path": "f", "old_str": "\nthree"});
    assert_eq!(edit(&fixture, gone).await.unwrap().new_content.as_deref(), Some("1\r\n2"));
}

#[tokio::test]
async fn replacements_that_cannot_be_made_are_told_apart() {
    let fixture = Fixture::new();
    fixture.put("f", "same\nx\n  same\n");
    let replace = |old: &str, new: &str| json!({"command": "str_replace", "path": "f", "old_str": old, "new_str": new});
    let (code, message, status) = error(&fixture, replace("same", "y")).await;
    assert_eq!((code.as_str(), status), ("editor.not_unique", 400));
    for part in ["No replacement was performed", "Multiple occurrences", "not unique", "1, 3"] {
        assert!(message.contains(part), "{message}");
    }
    let (code, message, status) = error(&fixture, replace(" x", "y")).await;
    assert_eq!((code.as_str(), status), ("editor.no_match", 400));
    for part in ["No replacement was performed", "did not appear", "line 2"] {
        assert!(message.contains(part), "{message}");
    }
    let (code, message, _) = error(&fixture, replace("x", "x")).await;
    assert!(code == "editor.no_match" && message.contains("the same"), "{message}");
    assert_eq!(fixture.get("f"), "same\nx\n  same\n");

    let all = StrReplaceEditor {
        replace_mode: Some(ReplaceMode::All),
        ..serde_json::from_value(replace("same", "y")).unwrap()
    };
    assert_eq!(fixture.ask(all).await.unwrap().new_content.as_deref(), Some("y\nx\n  y\n"));
}

#[tokio::test]
async fn lines_are_inserted_where_they_may_be() {
    let fixture = Fixture::new();
    fixture.put("f", "a\nb");
    let insert =
        |line: i64| json!({"command": "insert", "path": "f", "insert_line": line, "new_str": "x"});
    let done = edit(&fixture, insert(2)).await.unwrap();
    assert_eq!(done.new_content.as_deref(), Some("a\nb\nx"));
    let done = edit(&fixture, insert(0)).await.unwrap();
    assert_eq!(done.new_content.as_deref(), Some("x\na\nb\nx"));
    for line in [-1, 5] {
        let (code, message, status) = error(&fixture, insert(line)).await;
        assert_eq!((code.as_str(), status), ("editor.range", 400));
        assert!(message.contains("4 lines"), "{message}");
    }
}

#[tokio::test]
async fn a_missing_parameter_is_named() {
    let fixture = Fixture::new();
    fixture.put("f", "a");
    for (input, parameter) in [
        (json!({"command": "create", "path": "new"}), "file_text"),
        (json!({"command": "str_replace", "path": "f", "new_str": "b"}), "old_str"),
        (json!({"command": "str_replace", "path": "f", "old_str": "", "new_str": "b"}), "old_str"),
        (json!({"command": "insert", "path": "f", "new_str": "b"}), "insert_line"),
        (json!({"command": "insert", "path": "f", "insert_line": 0}), "new_str"),
    ] {
        let (code, message, status) = error(&fixture, input).await;
        assert_eq!((code.as_str(), status), ("editor.missing_argument", 400));
        assert!(message.contains(&format!("`{parameter}`")), "{message}");
    }
    for command in ["str_replace", "insert"] {
        for (path, error_type, phrase) in
            [("missing", "not_found", "does not exist"), (".", "invalid_target", "Invalid `path`")]
        {
            let input = json!({"command": command, "path": path, "old_str": "a", "new_str": "b", "insert_line": 0});
            let told = fault(&edit(&fixture, input).await.unwrap_err());
            assert_eq!(told.error_type, error_type);
            assert!(told.message.contains(phrase), "{}", told.message);
        }
    }
}

fn undo(path: &str) -> Value {
    json!({"command": "undo_edit", "path": path})
}

#[tokio::test]
async fn edits_are_undone_one_by_one_back_to_nothing() {
    let fixture = Fixture::new();
    edit(&fixture, json!({"command": "create", "path": "f", "file_text": "one\n"})).await.unwrap();
    let replace = json!({"command": "str_replace", "path": "f", "old_str": "one", "new_str": "1"});
    edit(&fixture, replace).await.unwrap();
    let insert = json!({"command": "insert", "path": "f", "insert_line": 1, "new_str": "2"});
    edit(&fixture, insert).await.unwrap();
    let undone = edit(&fixture, undo("f")).await.unwrap();
    assert_eq!(undone.old_content.as_deref(), Some("1\n2\n"));
    assert_eq!(undone.new_content.as_deref(), Some("1\n"));
    edit(&fixture, undo("f")).await.unwrap();
    assert_eq!(fixture.get("f"), "one\n");
    let undone = edit(&fixture, undo("f")).await.unwrap();
    assert_eq!((undone.new_content, undone.prev_exist), (None, true));
    assert!(!fixture.path("f").exists());
    for path in ["f", "never/there"] {
        let (code, _, status) = error(&fixture, undo(path)).await;
        assert_eq!((code.as_str(), status), ("editor.nothing_to_undo", 400));
    }
}

#[tokio::test]
async fn what_others_changed_is_not_undone() {
    let fixture = Fixture::new();
    fixture.put("f", "one");
    let replace =
        json!({"command": "str_replace", "path": "f", "old_str": "one", "new_str": "two"});
    edit(&fixture, replace).await.unwrap();
    let write = |content: &str| WriteFile {
        file: "f".into(),
        content: content.into(),
        ..WriteFile::default()
    };
    fixture.ask(write("other")).await.unwrap();
    let (code, _, status) = error(&fixture, undo("f")).await;
    assert_eq!((code.as_str(), status), ("editor.changed_meanwhile", 409));
    assert_eq!(fixture.get("f"), "other");
    fs::remove_file(fixture.path("f")).unwrap();
    assert_eq!(error(&fixture, undo("f")).await.0, "editor.changed_meanwhile");
    assert!(!fixture.path("f").exists());
    // Once it is as the edit left it, the edit can be undone.
    fixture.ask(write("two")).await.unwrap();
    edit(&fixture, undo("f")).await.unwrap();
    assert_eq!(fixture.get("f"), "one");
}

#[tokio::test]
async fn limits_of_editing_and_undoing_are_kept_and_told() {
    let limits = Limits { file_edit_bytes: 100, editor_undo_bytes: 300, ..Limits::default() };
    let fixture = Fixture::with(limits);
    fixture.put("large", "x".repeat(101));
    let input = |path: &str, new: &str| json!({"command": "str_replace", "path": path, "old_str": "y", "new_str": new});
    let told = fault(&edit(&fixture, input("large", "z")).await.unwrap_err());
    assert_eq!(told.error_type, "too_large");
    fixture.put("f", "y".to_owned() + &"x".repeat(60));
    let told = fault(&edit(&fixture, input("f", &"z".repeat(50))).await.unwrap_err());
    assert_eq!(told.error_type, "too_large");
    edit(&fixture, input("f", "z")).await.unwrap();
    assert!(fixture.hint().contains("undo_edit"));
    assert_eq!(error(&fixture, undo("f")).await.0, "editor.nothing_to_undo");
}

#[test]
fn every_command_has_its_name() {
    for (name, command) in [
        ("view", EditorCommand::View),
        ("undo_edit", EditorCommand::UndoEdit),
        ("str_replace", EditorCommand::StrReplace),
    ] {
        assert_eq!(serde_json::from_value::<EditorCommand>(json!(name)).unwrap(), command);
    }
}

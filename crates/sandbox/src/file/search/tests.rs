//! Searches as operations: fields, faults, advice, limits.

use std::fs;
use std::time::Duration;

use atoll_api::file::{FindFiles, GlobFiles, GlobSort, GrepFiles};
use atoll_api::system::Limits;
use atoll_operation::{Error, Handle, Kind, Operation};
use serde_json::{Value, json};

use crate::file::fixture::Fixture;
use crate::file::service::Files;

/// A question with everything left out at its default.
fn ask<O: Operation>(fields: Value) -> O {
    serde_json::from_value(fields).unwrap()
}

fn tree() -> Fixture {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("src/deep")).unwrap();
    fixture.put("a.py", "one\nneedle\nthree\n");
    fixture.put(".hidden.py", "secret\n");
    fixture.put("src/b.py", "needle\nneedle\n");
    fixture.put("src/deep/c.txt", "needle\n");
    fixture
}

async fn refused<O: Operation>(fixture: &Fixture, input: O) -> Error
where
    Files: Handle<O>,
{
    match fixture.ask(input).await {
        Ok(_) => unreachable!("it was carried out"),
        Err(error) => error,
    }
}

async fn refused_field<O: Operation>(fixture: &Fixture, input: O) -> String
where
    Files: Handle<O>,
{
    let error = refused(fixture, input).await;
    assert_eq!(error.kind(), Kind::InvalidInput, "{error:?}");
    error.fields()[0].path.join(".")
}

#[tokio::test]
async fn grep_answers_by_path_and_line_and_says_how_to_go_on() {
    let fixture = tree();
    let input: GrepFiles = ask(json!({ "path": fixture.at(""), "pattern": "needle" }));
    let result = fixture.ask(input.clone()).await.unwrap();
    let lines: Vec<_> =
        result.matches.iter().map(|found| (found.file.as_str(), found.line_number)).collect();
    let (a, b, c) = (fixture.at("a.py"), fixture.at("src/b.py"), fixture.at("src/deep/c.txt"));
    assert_eq!(lines, [(a.as_str(), 2), (&b, 1), (&b, 2), (&c, 1)]);
    assert_eq!((result.match_count, result.files_matched, result.truncated), (4, Some(3), false));
    assert_eq!(result.files_searched, Some(3));
    assert_eq!(result.matches[0].context_before, None);
    assert_eq!(fixture.hint(), "");

    let page = GrepFiles { max_results: 2, offset: 1, context_before: 1, ..input };
    let result = fixture.ask(page).await.unwrap();
    assert_eq!((result.match_count, result.truncated), (2, true));
    assert_eq!(result.matches[0].context_before.as_deref(), Some(&[][..]));
    assert_eq!(result.matches[1].context_before.as_deref(), Some(&["needle".to_owned()][..]));
    assert_eq!(result.matches[0].context_after, None);
    assert!(fixture.hint().contains("offset 3"));
}

#[tokio::test]
async fn an_empty_answer_says_what_was_passed_over() {
    let fixture = tree();
    fixture.put("large", "x".repeat(2 << 20));
    fixture.put("binary", b"\0\0");
    let input = json!({ "path": fixture.at(""), "pattern": "secret", "gitignore": true });
    assert_eq!(fixture.ask::<GrepFiles>(ask(input)).await.unwrap().match_count, 0);
    let hint = fixture.hint();
    for part in ["include_hidden", "gitignore", "max_file_size", "no text"] {
        assert!(hint.contains(part), "{part}: {hint}");
    }
    let input = json!({ "path": fixture.at(""), "pattern": "c.*" });
    assert_eq!(fixture.ask::<GlobFiles>(ask(input)).await.unwrap().total_count, 0);
    assert!(fixture.hint().contains("**/c.*"));
    let input = json!({ "path": fixture.at(""), "glob": "c.*" });
    assert!(fixture.ask::<FindFiles>(ask(input)).await.unwrap().files.is_empty());
    assert!(fixture.hint().contains("**/c.*"));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_by_field() {
    let fixture = tree();
    for (field, value) in [
        ("pattern", json!("(")),
        ("include", json!(["[z"])),
        ("exclude", json!(["{a"])),
        ("type", json!("no-such-type")),
        ("max_file_size", json!("large")),
    ] {
        let mut input = json!({ "path": fixture.at(""), "pattern": "x" });
        input[field] = value;
        assert_eq!(refused_field::<GrepFiles>(&fixture, ask(input)).await, field);
    }
    let input = json!({ "path": fixture.at(""), "pattern": "../*" });
    assert_eq!(refused_field::<GlobFiles>(&fixture, ask(input)).await, "pattern");
    let input = json!({ "path": fixture.at(""), "glob": "" });
    assert_eq!(refused_field::<FindFiles>(&fixture, ask(input)).await, "glob");
}

#[tokio::test]
async fn a_place_that_cannot_be_searched_is_a_fault() {
    let fixture = tree();
    let pipe = fixture.fifo("pipe");
    let missing = fixture.at("missing");
    let file = fixture.at("a.py");
    for (path, fault) in [(&missing, "not_found"), (&pipe, "invalid_target")] {
        let input = json!({ "path": path, "pattern": "x" });
        assert_eq!(fixture.refused::<GrepFiles>(ask(input)).await.error_type, fault);
    }
    for (path, fault) in [(&missing, "not_found"), (&file, "invalid_target")] {
        let input = json!({ "path": path, "pattern": "x", "glob": "x" });
        let found = fixture.refused::<GlobFiles>(ask(input.clone())).await;
        assert_eq!((found.error_type.as_str(), found.operation.as_str()), (fault, "glob"));
        let found = fixture.refused::<FindFiles>(ask(input)).await;
        assert_eq!((found.error_type.as_str(), found.operation.as_str()), (fault, "find"));
    }
}

#[tokio::test]
async fn glob_describes_what_it_finds() {
    let fixture = tree();
    let moment = std::time::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let file = fs::File::options().append(true).open(fixture.path("a.py")).unwrap();
    file.set_modified(moment).unwrap();
    let input = json!({ "path": fixture.at(""), "pattern": "*", "files_only": false });
    let input: GlobFiles = ask(input);
    let result = fixture.ask(input.clone()).await.unwrap();
    let [file, directory] = result.files.as_slice() else { unreachable!("{result:?}") };
    assert_eq!((file.path.clone(), file.name.as_str()), (fixture.at("a.py"), "a.py"));
    assert_eq!((file.is_directory, file.size), (false, Some(17)));
    assert_eq!(file.modified_time.as_deref(), Some("2023-11-14T22:13:20Z"));
    assert_eq!((directory.name.as_str(), directory.is_directory), ("src", true));
    assert_eq!(directory.size, None);
    assert!(directory.modified_time.is_some());

    let bare = GlobFiles {
        include_metadata: false,
        sort_by: GlobSort::Modified,
        sort_desc: true,
        max_results: 1,
        ..input
    };
    let result = fixture.ask(bare).await.unwrap();
    assert_eq!((result.total_count, result.truncated, result.files.len()), (2, true, 1));
    let first = &result.files[0];
    assert_eq!((first.name.as_str(), first.size, &first.modified_time), ("src", None, &None));
    assert!(fixture.hint().contains("max_results"));
}

#[tokio::test]
async fn find_tells_whether_a_name_exists_and_keeps_to_its_limit() {
    let fixture = Fixture::with(Limits { file_list_entries: 2, ..Limits::default() });
    for name in ["c", "a", "b"] {
        fixture.put(name, "");
    }
    let find = |glob: &str| ask::<FindFiles>(json!({ "path": ".", "glob": glob }));
    let result = fixture.ask(find("b")).await.unwrap();
    assert_eq!((result.files, result.truncated), (vec![fixture.at("b")], false));
    let result = fixture.ask(find("*")).await.unwrap();
    assert_eq!((result.files, result.truncated), (vec![fixture.at("a"), fixture.at("b")], true));
    assert!(fixture.hint().contains("first 2"));
}

/// A search that takes minutes: many names for one large file.
fn endless() -> (Fixture, GrepFiles) {
    let fixture = Fixture::with(Limits { searches: 1, ..Limits::default() });
    let text = fixture.put("text", "abcdefghij klmnopqrst uvwxyz\n".repeat(1 << 19));
    for number in 0..2000 {
        fs::hard_link(&text, fixture.path(&format!("text{number}"))).unwrap();
    }
    let input = json!({
        "path": fixture.at(""), "pattern": "[a-z]+[0-9]z", "max_file_size": "1G", "timeout": 300
    });
    (fixture, ask(input))
}

#[tokio::test]
async fn a_search_ends_with_its_time_and_says_so() {
    let (fixture, input) = endless();
    let result = fixture.ask(GrepFiles { timeout: 1, ..input }).await.unwrap();
    assert!(result.truncated);
    assert!(fixture.hint().contains("the time ran out"));
}

#[tokio::test]
async fn a_search_nobody_waits_for_makes_room_for_the_next() {
    let (fixture, input) = endless();
    {
        let search = fixture.files.handle(&fixture.cx, input.clone());
        let mut search = std::pin::pin!(search);
        // It runs once it has the only place.
        while fixture.files.searches.available_permits() > 0 {
            assert!(futures::poll!(&mut search).is_pending());
            tokio::task::yield_now().await;
        }
        let second = refused(&fixture, GrepFiles { timeout: 1, ..input.clone() }).await;
        assert_eq!(second.kind(), Kind::ResourceExhausted);
    }
    let place = tokio::time::timeout(Duration::from_mins(1), fixture.files.searches.acquire());
    drop(place.await.unwrap().unwrap());
}

#[tokio::test]
async fn a_search_ends_when_the_server_stops() {
    let (fixture, input) = endless();
    fixture.files.programs.foundation().stop.cancel();
    let search = fixture.ask(input);
    let result = tokio::time::timeout(Duration::from_mins(1), search).await.unwrap();
    assert!(result.unwrap().truncated);
}

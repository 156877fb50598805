//! The examples of docs/cli.md, typed as they stand.

use std::path::Path;
use std::process::Command;

use atoll_testkit::Server;

use crate::{PROGRAM, server, text};

const DOCUMENT: &str = include_str!("../../../../docs/cli.md");

/// A line that is typed, and what is shown of its answer.
struct Example {
    typed: String,
    shown: String,
}

fn examples() -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    for line in DOCUMENT.lines() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (true, line) => match (line.strip_prefix("$ "), examples.last_mut()) {
                (Some(typed), _) => {
                    examples.push(Example { typed: typed.to_owned(), shown: String::new() });
                }
                (None, Some(example)) => example.shown.push_str(&format!("{line}\n")),
                (None, None) => panic!("{line:?} answers nothing"),
            },
            (false, _) => {}
        }
    }
    examples
}

/// Types a line into bash, where `atoll` is the program under test and nothing else is known of the machine.
fn typed(server: &Server, directory: &Path, line: &str) -> String {
    let path = std::env::var("PATH").expect("a search path");
    let programs = Path::new(PROGRAM).parent().expect("a directory");
    let output = Command::new("bash")
        .args(["-c", line])
        .current_dir(directory)
        .env_clear()
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("HOME", directory)
        .env("ATOLL_URL", server.url())
        .output()
        .expect("bash");
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// Whether an answer is what is shown, where `…` stands for anything.
fn fits(shown: &str, answer: &str) -> bool {
    let mut parts: Vec<_> = shown.split('…').collect();
    let last = parts.pop().unwrap_or_default();
    if parts.is_empty() {
        return answer == last;
    }
    let mut rest = answer;
    for (position, part) in parts.into_iter().enumerate() {
        let found =
            if position == 0 { rest.starts_with(part).then_some(0) } else { rest.find(part) };
        let Some(at) = found else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

#[tokio::test]
async fn the_documented_examples_answer_as_shown() {
    let server = server().await;
    let directory = tempfile::tempdir().unwrap();
    let examples = examples();
    assert!(examples.len() > 12, "the document has lost its examples");
    for Example { typed: line, shown } in examples {
        let answer = typed(&server, directory.path(), &line);
        assert!(fits(&shown, &answer), "$ {line}\nanswered:\n{answer}\nshown:\n{shown}");
    }
}

#[test]
fn dots_stand_for_anything() {
    assert!(fits("a\n", "a\n") && fits("a…c\n", "abbc\n") && fits("a\n…\n", "a\nb\nc\n"));
    assert!(!fits("a\n", "b\n") && !fits("a…d\n", "abbc\n"));
    assert!(fits("", "") && !fits("", "something"));
}

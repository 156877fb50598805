//! What matches, and how it is shown.

use atoll_search::{Argument, GrepQuery, LineMatch, SearchError, grep};

use crate::tree::{Tree, patience};

#[test]
fn matches_come_by_path_and_line() {
    let tree = Tree::new(&[
        ("b.txt", "x\nneedle two\n"),
        ("a.txt", "needle one\ny\nneedle again"),
        ("a/deep/c.txt", "needle three\n"),
        ("none.txt", "nothing\n"),
        ("empty", ""),
    ]);
    let outcome = grep(&tree.grep("needle"), &patience()).unwrap();
    let expected = [
        "a.txt:1:needle one",
        "a.txt:3:needle again",
        "a/deep/c.txt:1:needle three",
        "b.txt:2:needle two",
    ];
    assert_eq!(tree.lines(&outcome), expected);
    assert_eq!((outcome.searched, outcome.truncated, outcome.interrupted), (5, false, None));
}

#[test]
fn a_line_with_several_matches_is_one_match() {
    let tree = Tree::new(&[("a", "one one one\n")]);
    for multiline in [false, true] {
        let query = GrepQuery { multiline, ..tree.grep("one") };
        assert_eq!(tree.lines(&grep(&query, &patience()).unwrap()), ["a:1:one one one"]);
    }
}

#[test]
fn case_and_literal_text_are_options() {
    let tree = Tree::new(&[("a", "a.c\nabc\nA.C\n")]);
    let numbers = |case_insensitive, fixed_strings| {
        let query = GrepQuery { case_insensitive, fixed_strings, ..tree.grep("a.c") };
        let outcome = grep(&query, &patience()).unwrap();
        outcome.files[0].matches.iter().map(|found| found.line).collect::<Vec<_>>()
    };
    assert_eq!(numbers(false, false), [1, 2]);
    assert_eq!(numbers(false, true), [1]);
    assert_eq!(numbers(true, false), [1, 2, 3]);
    assert_eq!(numbers(true, true), [1, 3]);
}

#[test]
fn line_breaks_are_not_part_of_a_line() {
    let tree = Tree::new(&[("dos", "one needle\r\ntwo\r\n"), ("unix", "needle\n")]);
    let outcome = grep(&tree.grep("needle"), &patience()).unwrap();
    assert_eq!(tree.lines(&outcome), ["dos:1:one needle", "unix:1:needle"]);
}

fn shown(found: &LineMatch) -> (String, Vec<&str>, Vec<&str>) {
    (
        format!("{}:{}", found.line, found.text),
        found.before.iter().map(String::as_str).collect(),
        found.after.iter().map(String::as_str).collect(),
    )
}

#[test]
fn each_match_has_its_own_context_even_among_matches() {
    let tree = Tree::new(&[("a", "1\n2\nx3\nx4\n5\n6\n7\nx8\n9")]);
    for multiline in [false, true] {
        let query = GrepQuery { context_before: 2, context_after: 2, multiline, ..tree.grep("x") };
        let outcome = grep(&query, &patience()).unwrap();
        let matches: Vec<_> = outcome.files[0].matches.iter().map(shown).collect();
        assert_eq!(
            matches,
            [
                ("3:x3".to_owned(), vec!["1", "2"], vec!["x4", "5"]),
                ("4:x4".to_owned(), vec!["2", "x3"], vec!["5", "6"]),
                ("8:x8".to_owned(), vec!["6", "7"], vec!["9"]),
            ],
            "multiline: {multiline}"
        );
    }
}

#[test]
fn the_last_match_of_a_page_has_all_of_its_context() {
    let tree = Tree::new(&[("a", "x1\nx2\nx3\nx4\nx5\n")]);
    let query = GrepQuery {
        context_before: 1,
        context_after: 3,
        offset: 1,
        max_results: 1,
        ..tree.grep("x")
    };
    let outcome = grep(&query, &patience()).unwrap();
    let matches: Vec<_> = outcome.files[0].matches.iter().map(shown).collect();
    assert_eq!(matches, [("2:x2".to_owned(), vec!["x1"], vec!["x3", "x4", "x5"])]);
    assert!(outcome.truncated);
}

#[test]
fn context_is_complete_across_the_pieces_of_a_large_file() {
    let mut content = String::new();
    for number in 0..100_000 {
        content.push_str(&format!("line {number}\n"));
    }
    let tree = Tree::new(&[("a", &content)]);
    let query = GrepQuery {
        context_before: 20,
        context_after: 20,
        max_file_size: 1 << 30,
        ..tree.grep("line [0-9]*77$")
    };
    let outcome = grep(&query, &patience()).unwrap();
    assert_eq!(outcome.files[0].matches.len(), 500);
    for found in &outcome.files[0].matches {
        let line = found.line - 1;
        let expected = |range: std::ops::Range<u64>| -> Vec<String> {
            range.map(|number| format!("line {number}")).collect()
        };
        assert_eq!(found.text, format!("line {line}"));
        assert_eq!(found.before, expected(line - 20..line));
        assert_eq!(found.after, expected(line + 1..line + 21));
    }
}

#[test]
fn a_match_may_span_lines_when_asked_for() {
    let tree = Tree::new(&[("a", "head\nbegin\nmiddle\nend\ntail\nbegin end\n")]);
    let query = tree.grep("begin.*?end");
    assert_eq!(tree.lines(&grep(&query, &patience()).unwrap()), ["a:6:begin end"]);
    let query = GrepQuery { multiline: true, ..query };
    let outcome = grep(&query, &patience()).unwrap();
    assert_eq!(tree.lines(&outcome), ["a:2:begin\nmiddle\nend", "a:6:begin end"]);
}

#[test]
fn neighbours_are_matches_of_their_own_even_where_lines_may_be_spanned() {
    let tree = Tree::new(&[("a", "x\nx\nx x\ny\nx\n")]);
    let query = GrepQuery { multiline: true, ..tree.grep("x") };
    let outcome = grep(&query, &patience()).unwrap();
    assert_eq!(tree.lines(&outcome), ["a:1:x", "a:2:x", "a:3:x x", "a:5:x"]);
    let query = GrepQuery { multiline: true, ..tree.grep("x\n") };
    let outcome = grep(&query, &patience()).unwrap();
    assert_eq!(tree.lines(&outcome), ["a:1:x", "a:2:x", "a:3:x x", "a:5:x"]);
    let query = GrepQuery { multiline: true, ..tree.grep("^") };
    assert_eq!(grep(&query, &patience()).unwrap().files[0].matches.len(), 5);
}

#[test]
fn long_lines_are_cut_round_the_match() {
    let line = format!("{}needle{}", "x".repeat(50_000), "y".repeat(50_000));
    let tree = Tree::new(&[("a", &format!("{line}\nneedle\n{line}\n"))]);
    let query = GrepQuery { max_line_length: 20, context_after: 1, ..tree.grep("needle") };
    let outcome = grep(&query, &patience()).unwrap();
    let matches = &outcome.files[0].matches;
    assert_eq!(matches[0].text, "…xxxxxxneedleyyyyyy…");
    assert_eq!(matches[1].text, "needle");
    assert_eq!(matches[1].after, ["xxxxxxxxxxxxxxxxxx…"]);
}

#[test]
fn text_that_is_not_utf_8_is_shown_as_well_as_can_be() {
    let tree = Tree::new(&[]);
    tree.write("latin", b"caf\xe9 needle\n");
    let wide: Vec<u8> = "\u{FEFF}needle\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    tree.write("utf16", &wide);
    let outcome = grep(&tree.grep("needle"), &patience()).unwrap();
    assert_eq!(tree.lines(&outcome), ["latin:1:caf\u{FFFD} needle", "utf16:1:needle"]);
}

#[test]
fn an_answer_carries_no_more_text_than_allowed_and_says_so() {
    let tree = Tree::new(&[]);
    for file in 0..20 {
        tree.write(&format!("{file:02}"), format!("needle {file:02}\n").repeat(10).as_bytes());
    }
    let mut pages = Vec::new();
    loop {
        let offset = pages.len() as u64;
        let query = GrepQuery { max_bytes: 100, offset, ..tree.grep("needle") };
        let page = grep(&query, &patience()).unwrap();
        let bytes: usize =
            page.files.iter().flat_map(|file| &file.matches).map(|found| found.text.len()).sum();
        assert!(bytes <= 100, "{bytes}");
        let lines = tree.lines(&page);
        assert!(!page.truncated || !lines.is_empty(), "paging would never end");
        pages.extend(lines);
        if !page.truncated {
            break;
        }
    }
    assert_eq!(pages, tree.lines(&grep(&tree.grep("needle"), &patience()).unwrap()));
    let query = GrepQuery { max_bytes: 1, ..tree.grep("needle") };
    assert_eq!(tree.lines(&grep(&query, &patience()).unwrap()).len(), 1);
}

fn refusal(query: &GrepQuery) -> (Argument, String) {
    match grep(query, &patience()).unwrap_err() {
        SearchError::Argument { argument, message } => (argument, message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_wrong_expression_is_explained() {
    let tree = Tree::new(&[("a", "")]);
    for (pattern, part) in [
        ("foo(", "unclosed group;"),
        ("foo)", "unopened group;"),
        ("ä[z-a]", "at character 3"),
        ("(?=x)", "look-around"),
        ("a\\1", "backreferences"),
        ("a\nb", "multiline"),
        ("a\\nb", "multiline"),
        ("a{9999}{9999}", "too large"),
        ("(?x)\n(\n", "unclosed group"),
    ] {
        let (argument, message) = refusal(&tree.grep(pattern));
        assert_eq!(argument, Argument::Pattern, "{pattern}");
        assert!(message.contains(part), "{pattern:?}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
    let (_, message) = refusal(&tree.grep(&"x".repeat(100_000)));
    assert!(message.contains("100000 bytes"), "{message}");
    assert_eq!(refusal(&tree.grep(&"(".repeat(1000))).0, Argument::Pattern);
}

#[test]
fn a_type_nobody_knows_is_answered_with_some_that_are() {
    let tree = Tree::new(&[("a", "")]);
    let query = |name: &str| GrepQuery { file_type: Some(name.to_owned()), ..tree.grep("x") };
    let (argument, message) = refusal(&query("pythn"));
    assert_eq!(argument, Argument::FileType);
    assert!(message.contains("py,"), "{message}");
    assert_eq!(refusal(&query("")).0, Argument::FileType);
}

#[test]
fn wrong_globs_are_told_apart() {
    let tree = Tree::new(&[("a", "")]);
    let wrong = || vec!["{a".to_owned()];
    let query = GrepQuery { include: wrong(), ..tree.grep("x") };
    assert_eq!(refusal(&query).0, Argument::Include);
    let query = GrepQuery { exclude: wrong(), ..tree.grep("x") };
    assert_eq!(refusal(&query).0, Argument::Exclude);
}

#[test]
fn expressions_that_break_other_engines_are_answered() {
    let tree = Tree::new(&[("a", &format!("{}!\n", "a".repeat(100_000)))]);
    for pattern in ["(a+)+$", "(a|a)*b$", "(x+x+)+y", "(a*)*c"] {
        let outcome = grep(&tree.grep(pattern), &patience()).unwrap();
        assert_eq!((outcome.files.len(), outcome.interrupted), (0, None), "{pattern}");
    }
}

//! Paths as Python's `glob` finds them.

use std::path::PathBuf;

use atoll_search::{FindQuery, SearchError, find};

use crate::tree::{Tree, patience};

fn tree() -> Tree {
    let tree = Tree::new(&[
        ("a.py", ""),
        ("b.py", ""),
        ("c.txt", ""),
        (".hidden.py", ""),
        (".config/inner.py", ""),
        ("src/d.py", ""),
        ("src/deep/e.py", ""),
        ("src/deep/F.PY", ""),
        ("we[i]rd/h?.py", ""),
        ("{a,b}.py", ""),
        ("empty/", ""),
    ]);
    tree.link("link", "src");
    tree
}

fn query(tree: &Tree, pattern: &str) -> FindQuery {
    FindQuery { root: tree.root().to_owned(), pattern: pattern.to_owned(), max_results: 1000 }
}

fn found(tree: &Tree, pattern: &str) -> Vec<String> {
    let outcome = find(&query(tree, pattern), &patience()).unwrap();
    assert_eq!((outcome.interrupted, outcome.truncated), (None, false));
    let root = format!("{}/", tree.root().display());
    let short = |path: &PathBuf| path.to_str().unwrap().strip_prefix(&root).unwrap().to_owned();
    outcome.paths.iter().map(short).collect()
}

#[test]
fn patterns_mean_what_python_makes_of_them() {
    let tree = tree();
    for (pattern, expected) in [
        ("*", &["a.py", "b.py", "c.txt", "empty", "link", "src", "we[i]rd", "{a,b}.py"][..]),
        ("*.py", &["a.py", "b.py", "{a,b}.py"]),
        ("a.py", &["a.py"]),
        ("e.py", &[]),
        ("src", &["src"]),
        ("missing/*", &[]),
        ("a.py/*", &[]),
        (
            "**/*.py",
            &[
                "a.py",
                "b.py",
                "link/d.py",
                "link/deep/e.py",
                "src/d.py",
                "src/deep/e.py",
                "we[i]rd/h?.py",
                "{a,b}.py",
            ],
        ),
        ("src/**", &["src/", "src/d.py", "src/deep", "src/deep/F.PY", "src/deep/e.py"]),
        ("src/**/", &["src/", "src/deep/"]),
        ("src/**/*.py", &["src/d.py", "src/deep/e.py"]),
        ("**/deep/**/*.py", &["link/deep/e.py", "src/deep/e.py"]),
        ("**/e.py", &["link/deep/e.py", "src/deep/e.py"]),
        ("*/*.py", &["link/d.py", "src/d.py", "we[i]rd/h?.py"]),
        ("*/**/e.py", &["link/deep/e.py", "src/deep/e.py"]),
        ("?.py", &["a.py", "b.py"]),
        ("[!a].py", &["b.py"]),
        ("[a-c].*", &["a.py", "b.py", "c.txt"]),
        (".*", &[".config", ".hidden.py"]),
        (".config/*", &[".config/inner.py"]),
        ("**/.hidden.py", &[".hidden.py"]),
        ("**/inner.py", &[]),
        ("we[[]i]rd/*", &["we[i]rd/h?.py"]),
        ("{a,b}.py", &["{a,b}.py"]),
        ("[z", &[]),
        ("empty/*", &[]),
        ("link/*.py", &["link/d.py"]),
        ("./a.py", &["a.py"]),
        ("src/../a.py", &["src/../a.py"]),
        ("*/../a.py", &["empty/../a.py", "link/../a.py", "src/../a.py", "we[i]rd/../a.py"]),
        ("*/", &["empty/", "link/", "src/", "we[i]rd/"]),
        ("src/", &["src/"]),
        ("a.py/", &[]),
    ] {
        assert_eq!(found(&tree, pattern), expected, "{pattern}");
    }
}

#[test]
fn an_absolute_pattern_begins_where_it_says() {
    let tree = tree();
    let pattern = format!("{}/src/*.py", tree.root().display());
    assert_eq!(found(&tree, &pattern), ["src/d.py"]);
}

#[test]
fn dead_links_exist_and_loops_end() {
    let tree = tree();
    tree.link("dead", "nowhere");
    tree.link("src/up", "..");
    tree.link("src/deep/here", ".");
    tree.link("self", "self");
    assert_eq!(found(&tree, "dead"), ["dead"]);
    assert_eq!(found(&tree, "d*"), ["dead"]);
    let deep = found(&tree, "**/e.py");
    assert_eq!(deep, ["link/deep/e.py", "src/deep/e.py"]);
    assert!(found(&tree, "src/up/*.py").contains(&"src/up/a.py".to_owned()));
}

#[test]
fn no_more_than_asked_for_is_returned_and_it_says_so() {
    let tree = Tree::new(&[]);
    for number in 0..100 {
        tree.write(&format!("{number:02}/file"), b"");
    }
    let query = FindQuery { max_results: 10, ..query(&tree, "**/file") };
    let outcome = find(&query, &patience()).unwrap();
    let expected: Vec<_> = (0..10).map(|number| tree.path(&format!("{number:02}/file"))).collect();
    assert_eq!((outcome.paths, outcome.truncated), (expected, true));
    let query = FindQuery { max_results: 100, ..query };
    assert!(!find(&query, &patience()).unwrap().truncated);
}

#[test]
fn a_root_that_is_no_directory_is_the_systems_error() {
    let tree = tree();
    for root in ["missing", "a.py"] {
        let query = FindQuery { root: tree.path(root), ..query(&tree, "*") };
        assert!(matches!(find(&query, &patience()), Err(SearchError::Root(_))));
    }
    for pattern in ["", "a\0b"] {
        let refused = find(&query(&tree, pattern), &patience());
        assert!(matches!(refused, Err(SearchError::Argument { .. })), "{pattern:?}");
    }
}

#[test]
fn strange_names_do_not_disturb() {
    let tree = Tree::new(&[]);
    tree.write_bytes(b"bad-\xff-name/x", b"");
    tree.write_bytes(b"line\nbreak", b"");
    let outcome = find(&query(&tree, "**/*"), &patience()).unwrap();
    let shown: Vec<_> = outcome.paths.iter().map(|path| tree.short(path)).collect();
    assert_eq!(shown, ["bad-\u{FFFD}-name", "bad-\u{FFFD}-name/x", "line\nbreak"]);
}

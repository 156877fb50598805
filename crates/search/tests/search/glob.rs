//! Paths by glob.

use std::collections::BTreeSet;

use atoll_search::{Argument, GlobQuery, Order, SearchError, Sort, glob};

use crate::tree::{Tree, patience, strings};

const TREE: &[(&str, &str)] = &[
    ("a.py", "1"),
    ("b.py", "22"),
    ("c.txt", "333"),
    (".hidden.py", ""),
    (".config/inner.py", ""),
    ("src/d.py", "4444"),
    ("src/deep/e.py", "55555"),
    ("src/deep/F.PY", ""),
    ("build/out/g.py", ""),
    ("we[i]rd/h?.py", ""),
    ("empty/", ""),
];

fn found(tree: &Tree, query: &GlobQuery) -> Vec<String> {
    let outcome = glob(query, &patience()).unwrap();
    assert_eq!(outcome.interrupted, None);
    outcome.entries.iter().map(|found| tree.short(&found.path)).collect()
}

#[test]
fn files_are_found_by_pattern() {
    let tree = Tree::new(TREE);
    for (pattern, exclude, expected) in [
        ("*.py", &[][..], &["a.py", "b.py"][..]),
        (
            "**/*.py",
            &[],
            &["a.py", "b.py", "build/out/g.py", "src/d.py", "src/deep/e.py", "we[i]rd/h?.py"],
        ),
        ("**/*.{txt,PY}", &[], &["c.txt", "src/deep/F.PY"]),
        ("src/**", &[], &["src/d.py", "src/deep/F.PY", "src/deep/e.py"]),
        ("src/deep/e.py", &[], &["src/deep/e.py"]),
        ("src/*/e.py", &[], &["src/deep/e.py"]),
        ("{src,build}/**/*.py", &[], &["build/out/g.py", "src/d.py", "src/deep/e.py"]),
        ("we\\[i\\]rd/*", &[], &["we[i]rd/h?.py"]),
        ("**/?.py", &["build"], &["a.py", "b.py", "src/d.py", "src/deep/e.py"]),
        ("**/*.py", &["src/**", "build/**", "we*"], &["a.py", "b.py"]),
        ("src/**/*.py", &["src"], &[]),
        ("src/deep/*.py", &["src/deep"], &[]),
        ("**/*.py", &["*.py"], &[]),
        ("*", &[], &["a.py", "b.py", "c.txt"]),
        ("s*", &[], &[]),
        ("missing/*", &[], &[]),
        ("a.py/*", &[], &[]),
        (".hidden.py", &[], &[".hidden.py"]),
        (".config/*", &[], &[".config/inner.py"]),
        ("**/.h*", &[], &[".hidden.py"]),
        ("./src/./*.py", &[], &["src/d.py"]),
    ] {
        let query = GlobQuery { exclude: strings(exclude), ..tree.glob(pattern) };
        assert_eq!(found(&tree, &query), expected, "{pattern} without {exclude:?}");
    }
}

#[test]
fn hidden_names_are_a_choice_and_counted() {
    let tree = Tree::new(TREE);
    let outcome = glob(&tree.glob("**/*.py"), &patience()).unwrap();
    assert_eq!(outcome.hidden, 2);
    let query = GlobQuery { hidden: true, ..tree.glob("**/*n*.py") };
    assert_eq!(found(&tree, &query), [".config/inner.py", ".hidden.py"]);
}

#[test]
fn directories_are_a_choice() {
    let tree = Tree::new(TREE);
    tree.link("to-directory", "src");
    tree.link("to-file", "a.py");
    tree.link("to-nothing", "nowhere");
    tree.fifo("pipe");
    assert_eq!(found(&tree, &tree.glob("to-*")), ["to-file"]);
    assert_eq!(found(&tree, &tree.glob("pipe")), [""; 0]);
    let query = |pattern| GlobQuery { files_only: false, ..tree.glob(pattern) };
    assert_eq!(found(&tree, &query("to-*")), ["to-directory", "to-file", "to-nothing"]);
    assert_eq!(
        found(&tree, &query("*e*")),
        ["empty", "pipe", "to-directory", "to-file", "we[i]rd"]
    );
    assert_eq!(found(&tree, &query("s*/")), ["src"]);
    assert_eq!(found(&tree, &query("*/")), ["build", "empty", "src", "to-directory", "we[i]rd"]);
    assert_eq!(found(&tree, &query("src/*")), ["src/d.py", "src/deep"]);
    let outcome = glob(&query("*o-d*"), &patience()).unwrap();
    assert!(outcome.entries[0].is_directory);
    // A link that the pattern names is a directory like any other; one met on the way is not entered.
    assert_eq!(found(&tree, &query("to-directory/*.py")), ["to-directory/d.py"]);
    assert_eq!(found(&tree, &query("**/d.py")), ["src/d.py"]);
}

#[test]
fn every_order_works_both_ways_and_for_any_number() {
    let tree = Tree::new(&[("a/z", "333"), ("b/y", "1"), ("c/x", "22"), ("a-b", "4444")]);
    for (path, seconds) in [("a/z", 1000), ("c/x", 2000), ("b/y", 3000), ("a-b", 4000)] {
        tree.set_time(path, seconds);
    }
    for (by, expected) in [
        (Sort::Path, ["a-b", "a/z", "b/y", "c/x"]),
        (Sort::Name, ["a-b", "c/x", "b/y", "a/z"]),
        (Sort::Size, ["b/y", "c/x", "a/z", "a-b"]),
        (Sort::Modified, ["a/z", "c/x", "b/y", "a-b"]),
    ] {
        for descending in [false, true] {
            let mut expected = expected.to_vec();
            if descending {
                expected.reverse();
            }
            for max_results in [1, 2, 4, 100] {
                let order = Order { by, descending };
                let outcome =
                    glob(&GlobQuery { order, max_results, ..tree.glob("**") }, &patience())
                        .unwrap();
                let paths: Vec<_> =
                    outcome.entries.iter().map(|found| tree.short(&found.path)).collect();
                assert_eq!(paths, expected[..max_results.min(4)], "{order:?}");
                assert_eq!(outcome.total, 4);
            }
        }
    }
}

#[test]
fn metadata_is_fetched_where_asked_for() {
    let tree = Tree::new(TREE);
    tree.link("link", "c.txt");
    for pattern in ["c.txt", "link"] {
        let query = tree.glob(pattern);
        let without = glob(&query, &patience()).unwrap().entries;
        assert_eq!(without[0].metadata, None);
        let with = glob(&GlobQuery { metadata: true, ..query }, &patience()).unwrap().entries;
        assert_eq!(with[0].metadata.unwrap().size, 3);
    }
}

#[test]
fn many_files_are_described_by_several_threads() {
    let tree = Tree::new(&[]);
    for number in 0..2000 {
        tree.write(&format!("{number}"), "x".repeat(number % 10).as_bytes());
    }
    let query = GlobQuery { metadata: true, ..tree.glob("*") };
    let entries = glob(&query, &patience()).unwrap().entries;
    let size = |path: &std::path::Path| std::fs::metadata(path).unwrap().len();
    assert!(entries.iter().all(|found| found.metadata.unwrap().size == size(&found.path)));
    assert_eq!(entries.len(), 2000);
}

#[test]
fn ignore_files_are_a_choice() {
    let tree = Tree::new(TREE);
    tree.write(".gitignore", b"/build\nsrc/deep\n");
    let query = GlobQuery { gitignore: true, ..tree.glob("**/*.py") };
    assert_eq!(found(&tree, &query), ["a.py", "b.py", "src/d.py", "we[i]rd/h?.py"]);
    let query = GlobQuery { gitignore: true, ..tree.glob("build/out/*.py") };
    assert_eq!(found(&tree, &query), [""; 0]);
}

#[test]
fn patterns_may_be_absolute_below_the_root() {
    let tree = Tree::new(TREE);
    let absolute = format!("{}/src/*.py", tree.root().display());
    assert_eq!(found(&tree, &tree.glob(&absolute)), ["src/d.py"]);
    let outside = glob(&tree.glob("/elsewhere/*.py"), &patience()).unwrap_err();
    assert!(outside.to_string().contains("does not lie below"), "{outside}");
}

#[test]
fn wrong_patterns_are_refused() {
    let tree = Tree::new(TREE);
    for pattern in ["", "../x", "a/../../b", "{a", "[z", "src/", "a\0b"] {
        match glob(&tree.glob(pattern), &patience()).unwrap_err() {
            SearchError::Argument { argument, .. } => assert_eq!(argument, Argument::Pattern),
            other => panic!("{other:?}"),
        }
    }
    let query = GlobQuery { exclude: strings(&["{a"]), ..tree.glob("*") };
    let refused = glob(&query, &patience()).unwrap_err();
    assert!(matches!(refused, SearchError::Argument { argument: Argument::Exclude, .. }));
}

#[test]
fn a_root_that_is_no_directory_is_the_systems_error() {
    let tree = Tree::new(TREE);
    for (root, kind) in
        [("missing", std::io::ErrorKind::NotFound), ("a.py", std::io::ErrorKind::NotADirectory)]
    {
        let query = GlobQuery { root: tree.path(root), ..tree.glob("*") };
        match glob(&query, &patience()).unwrap_err() {
            SearchError::Root(error) => assert_eq!(error.kind(), kind),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_root_may_be_a_link_and_loops_end() {
    let tree = Tree::new(TREE);
    tree.link("src/up", "..");
    tree.link("start", "src");
    let query = GlobQuery { root: tree.path("start"), ..tree.glob("**/*.py") };
    assert_eq!(found(&tree, &query), ["start/d.py", "start/deep/e.py"]);
}

#[test]
fn strange_names_do_not_disturb() {
    let tree = Tree::new(&[]);
    tree.write_bytes(b"bad-\xff-name", b"");
    tree.write_bytes(b"line\nbreak", b"");
    tree.write_bytes("ä".as_bytes(), b"");
    assert_eq!(found(&tree, &tree.glob("*")), ["bad-\u{FFFD}-name", "line\nbreak", "ä"]);
    assert_eq!(found(&tree, &tree.glob("bad-?-name")), ["bad-\u{FFFD}-name"]);
    assert_eq!(found(&tree, &tree.glob("?")), ["ä"]);
}

/// Directories that cannot hold a match are not even opened: one that nobody may read is no trouble then.
#[test]
fn directories_that_cannot_match_are_not_entered() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::new(&[("closed/deep/x.py", ""), ("open/x.py", "")]);
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(tree.path("closed"), mode(0o000)).unwrap();
    // Whoever may read everything, as root may, learns nothing from this test.
    let outcome = |pattern: &str| glob(&tree.glob(pattern), &patience()).unwrap();
    let unreadable: BTreeSet<_> = ["*.py", "open/*.py", "open/**/*.py", "o*/**"]
        .map(|pattern| outcome(pattern).unreadable)
        .into();
    std::fs::set_permissions(tree.path("closed"), mode(0o700)).unwrap();
    assert_eq!(unreadable, BTreeSet::from([0]));
}

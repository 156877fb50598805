//! Which files are searched.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use atoll_search::{GrepQuery, Order, SearchError, Sort, grep};

use crate::tree::{Tree, patience, strings};

const TREE: &[(&str, &str)] = &[
    ("a.py", "needle"),
    ("b.js", "needle"),
    ("app.min.js", "needle"),
    ("src/c.py", "needle"),
    ("src/deep/d.rs", "needle"),
    ("node_modules/lib/e.js", "needle"),
    ("lib/node_modules/f.js", "needle"),
    ("build/g.txt", "needle"),
    ("lib/build/h.txt", "needle"),
    (".env", "needle"),
    (".github/i.yml", "needle"),
];

fn files(tree: &Tree, query: &GrepQuery) -> Vec<String> {
    tree.files(&grep(query, &patience()).unwrap())
}

#[test]
fn globs_choose_files() {
    let tree = Tree::new(TREE);
    for (include, exclude, expected) in [
        (&["*.py"][..], &[][..], &["a.py", "src/c.py"][..]),
        (&["*.{py,rs}"], &[], &["a.py", "src/c.py", "src/deep/d.rs"]),
        (&["src/**"], &[], &["src/c.py", "src/deep/d.rs"]),
        (&["src/*"], &[], &["src/c.py"]),
        (&["src/"], &[], &["src/c.py", "src/deep/d.rs"]),
        (&["/*.py"], &[], &["a.py"]),
        (&["*.js"], &["node_modules"], &["app.min.js", "b.js"]),
        (&["*.js"], &["node_modules/**", "*.min.js"], &["b.js", "lib/node_modules/f.js"]),
        (&["*.txt"], &["build/**"], &["lib/build/h.txt"]),
        (&["*.txt"], &["**/build"], &[]),
        (&["*.txt"], &["/build/"], &["lib/build/h.txt"]),
        (&["*.py", "*.rs"], &["src/deep"], &["a.py", "src/c.py"]),
        (&["nothing"], &[], &[]),
        (&[".env"], &[], &[".env"]),
        (&[".github/**"], &[], &[".github/i.yml"]),
        (&["*.yml"], &[], &[]),
    ] {
        let query = GrepQuery {
            include: strings(include),
            exclude: strings(exclude),
            ..tree.grep("needle")
        };
        assert_eq!(files(&tree, &query), expected, "{include:?} without {exclude:?}");
    }
}

#[test]
fn globs_may_be_absolute_below_the_root() {
    let tree = Tree::new(TREE);
    let glob = |path: &str| vec![tree.path(path).display().to_string()];
    let query = GrepQuery { include: glob("src/*.py"), ..tree.grep("needle") };
    assert_eq!(files(&tree, &query), ["src/c.py"]);
    let query =
        GrepQuery { exclude: glob("src"), include: strings(&["*.py"]), ..tree.grep("needle") };
    assert_eq!(files(&tree, &query), ["a.py"]);
}

#[test]
fn types_choose_files() {
    let tree = Tree::new(TREE);
    for (name, expected) in
        [("py", &["a.py", "src/c.py"][..]), ("rust", &["src/deep/d.rs"]), ("md", &[])]
    {
        let query = GrepQuery { file_type: Some(name.to_owned()), ..tree.grep("needle") };
        assert_eq!(files(&tree, &query), expected, "{name}");
    }
}

#[test]
fn hidden_names_are_a_choice_and_counted() {
    let tree = Tree::new(TREE);
    let outcome = grep(&tree.grep("needle"), &patience()).unwrap();
    assert_eq!(outcome.passed_over.hidden, 2);
    assert!(!tree.files(&outcome).iter().any(|path| path.starts_with('.')));
    let all = files(&tree, &GrepQuery { hidden: true, ..tree.grep("needle") });
    assert_eq!(all[..2], [".env", ".github/i.yml"]);
}

#[test]
fn ignore_files_are_a_choice() {
    let tree = Tree::new(TREE);
    tree.write(".gitignore", b"node_modules/\n*.js\n!app.min.js\n");
    tree.write("src/.gitignore", b"/deep\n");
    tree.write(".ignore", b"build\n");
    let everything = files(&tree, &tree.grep("needle"));
    assert_eq!(everything.len(), 9);
    let query = GrepQuery { gitignore: true, ..tree.grep("needle") };
    assert_eq!(files(&tree, &query), ["a.py", "app.min.js", "src/c.py"]);
    // Those above the place searched count too.
    let query = GrepQuery { root: tree.path("node_modules/lib"), ..query };
    assert_eq!(files(&tree, &query), [""; 0]);
}

#[test]
fn one_level_is_a_choice() {
    let tree = Tree::new(TREE);
    let query = GrepQuery { recursive: false, ..tree.grep("needle") };
    assert_eq!(files(&tree, &query), ["a.py", "app.min.js", "b.js"]);
}

#[test]
fn one_file_can_be_searched_whatever_the_globs_say() {
    let tree = Tree::new(TREE);
    tree.link("link", "src/c.py");
    for name in ["src/c.py", ".env", "link"] {
        let include = strings(&["*.md"]);
        let query = GrepQuery { root: tree.path(name), include, ..tree.grep("needle") };
        let outcome = grep(&query, &patience()).unwrap();
        assert_eq!((tree.files(&outcome), outcome.searched), (vec![name.to_owned()], 1));
    }
}

#[test]
fn a_link_is_followed_only_where_the_search_begins() {
    let tree = Tree::new(&[("real/a", "needle"), ("other/b", "needle")]);
    tree.link("real/file", "../other/b");
    tree.link("real/directory", "../other");
    tree.link("real/loop", ".");
    tree.link("start", "real");
    let query = GrepQuery { root: tree.path("start"), ..tree.grep("needle") };
    assert_eq!(files(&tree, &query), ["start/a"]);
}

#[test]
fn files_without_text_are_passed_over() {
    let tree = Tree::new(&[("text", "needle\n")]);
    tree.write("binary", b"needle\n\0\x01\n");
    let mut late = b"needle\n".repeat(1000);
    late.push(0);
    tree.write("late", &late);
    let outcome = grep(&tree.grep("needle"), &patience()).unwrap();
    assert_eq!(tree.files(&outcome), ["text"]);
    assert_eq!(outcome.passed_over.binary, 2);
}

#[test]
fn files_over_the_size_are_passed_over_and_counted() {
    let tree = Tree::new(&[("small", "needle\n")]);
    tree.write("large", format!("needle\n{}", "x".repeat(2048)).as_bytes());
    let query = GrepQuery { max_file_size: 1024, ..tree.grep("needle") };
    let outcome = grep(&query, &patience()).unwrap();
    assert_eq!((tree.files(&outcome), outcome.passed_over.too_large), (strings(&["small"]), 1));
    assert_eq!(files(&tree, &tree.grep("needle")), ["large", "small"]);
}

#[test]
fn pipes_are_never_opened() {
    let tree = Tree::new(&[("a", "needle")]);
    tree.fifo("pipe");
    tree.link("zero", "/dev/zero");
    let outcome = grep(&tree.grep("needle"), &patience()).unwrap();
    assert_eq!((tree.files(&outcome), outcome.interrupted), (strings(&["a"]), None));
    let query = GrepQuery { root: tree.path("pipe"), ..tree.grep("needle") };
    assert!(matches!(grep(&query, &patience()), Err(SearchError::Special)));
}

#[test]
fn files_the_kernel_makes_up_are_read_within_bounds() {
    let tree = Tree::new(&[]);
    let proc = |include: &str, pattern: &str| {
        let query = GrepQuery {
            root: Path::new("/proc/self").to_owned(),
            include: strings(&[include]),
            recursive: false,
            ..tree.grep(pattern)
        };
        grep(&query, &patience()).unwrap()
    };
    let status = proc("status", "^Name:");
    assert_eq!((status.files.len(), status.interrupted), (1, None));
    // Nothing is mapped at the beginning of this one: the kernel refuses to read it, whoever asks.
    let memory = proc("mem", "x");
    assert_eq!((memory.files.len(), memory.passed_over.unreadable), (0, 1));
}

#[test]
fn what_may_not_be_read_is_passed_over_and_counted() {
    let tree = Tree::new(&[("a", "needle"), ("closed", "needle"), ("dir/b", "needle")]);
    for path in ["closed", "dir"] {
        std::fs::set_permissions(tree.path(path), Permissions::from_mode(0o000)).unwrap();
    }
    // Whoever may read everything, as root may, has nothing to pass over.
    let privileged = std::fs::File::open(tree.path("closed")).is_ok();
    let outcome = grep(&tree.grep("needle"), &patience()).unwrap();
    let root = grep(&GrepQuery { root: tree.path("dir"), ..tree.grep("needle") }, &patience());
    std::fs::set_permissions(tree.path("dir"), Permissions::from_mode(0o700)).unwrap();
    if privileged {
        assert_eq!(outcome.passed_over.unreadable, 0);
    } else {
        assert_eq!((tree.files(&outcome), outcome.passed_over.unreadable), (strings(&["a"]), 2));
        assert!(matches!(root, Err(SearchError::Root(_))));
    }
}

#[test]
fn a_missing_root_is_the_systems_error() {
    let tree = Tree::new(&[]);
    let query = GrepQuery { root: tree.path("missing"), ..tree.grep("x") };
    match grep(&query, &patience()) {
        Err(SearchError::Root(error)) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound),
        other => panic!("{other:?}"),
    }
}

#[test]
fn strange_names_do_not_disturb() {
    let tree = Tree::new(&[]);
    tree.write_bytes(b"bad-\xff-name", b"needle");
    tree.write_bytes(b"line\nbreak/a", b"needle");
    tree.write_bytes(b"-", b"needle");
    assert_eq!(files(&tree, &tree.grep("needle")), ["-", "bad-\u{FFFD}-name", "line\nbreak/a"]);
}

#[test]
fn files_can_come_newest_first() {
    let tree = Tree::new(&[("a", "needle"), ("b", "needle"), ("c", "needle")]);
    for (path, seconds) in [("a", 2000), ("b", 3000), ("c", 1000)] {
        tree.set_time(path, seconds);
    }
    let order = Order { by: Sort::Modified, descending: true };
    assert_eq!(files(&tree, &GrepQuery { order, ..tree.grep("needle") }), ["b", "a", "c"]);
}

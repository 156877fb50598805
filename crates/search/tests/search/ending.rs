//! Searches end when told to, wherever they are.

use std::fs::hard_link;
use std::thread;
use std::time::{Duration, Instant};

use atoll_search::{Cancel, FindQuery, GrepQuery, Interruption, find, glob, grep};

use crate::tree::Tree;

/// A tree that takes minutes to search: many names for one large file.
fn endless() -> Tree {
    let tree = Tree::new(&[("needle", "needle\n")]);
    tree.write("text", "abcdefghij klmnopqrst uvwxyz\n".repeat(1 << 19).as_bytes());
    for number in 0..2000 {
        hard_link(tree.path("text"), tree.path(&format!("text{number}"))).unwrap();
    }
    tree
}

fn long_search(tree: &Tree) -> GrepQuery {
    GrepQuery { max_file_size: 1 << 30, ..tree.grep("needle|[a-z]+[0-9]z") }
}

#[test]
fn a_search_that_is_cancelled_ends() {
    let tree = endless();
    let (cancel, query) = (Cancel::new(), long_search(&tree));
    let outcome = thread::scope(|scope| {
        let search = scope.spawn(|| grep(&query, &cancel).unwrap());
        cancel.cancel();
        search.join().unwrap()
    });
    assert_eq!(outcome.interrupted, Some(Interruption::Cancelled));
}

#[test]
fn a_search_that_runs_out_of_time_tells_what_it_found() {
    let tree = endless();
    // More time if the machine is so busy that not even the first file was reached.
    for seconds in [1, 4, 16, 40] {
        let cancel = Cancel::new().with_deadline(Instant::now() + Duration::from_secs(seconds));
        let outcome = grep(&long_search(&tree), &cancel).unwrap();
        assert_eq!(outcome.interrupted, Some(Interruption::TimedOut));
        assert!(outcome.searched < 2000, "{}", outcome.searched);
        if !outcome.files.is_empty() {
            assert_eq!(tree.lines(&outcome), ["needle:1:needle"]);
            return;
        }
    }
    panic!("nothing was found in any time");
}

#[test]
fn nothing_begins_after_the_end() {
    let tree = endless();
    let cancel = Cancel::new();
    cancel.cancel();
    let outcome = grep(&long_search(&tree), &cancel).unwrap();
    assert_eq!((outcome.searched, outcome.interrupted), (0, Some(Interruption::Cancelled)));
    let outcome = glob(&tree.glob("**"), &cancel).unwrap();
    assert_eq!((outcome.total, outcome.interrupted), (0, Some(Interruption::Cancelled)));
    let query =
        FindQuery { root: tree.root().to_owned(), pattern: "**".to_owned(), max_results: 9 };
    let outcome = find(&query, &cancel).unwrap();
    assert_eq!(outcome.interrupted, Some(Interruption::Cancelled));
}

/// Thirty directories, each with two ways into the next: a thousand million paths, none of which is a loop.
#[test]
fn a_maze_of_links_ends_with_the_time() {
    let tree = Tree::new(&[]);
    for level in 0..30 {
        tree.write(&format!("{level}/"), b"");
        for way in ["a", "b"] {
            tree.link(&format!("{level}/{way}"), &format!("../{}", level + 1));
        }
    }
    let cancel = Cancel::new().with_deadline(Instant::now() + Duration::from_millis(500));
    let query = FindQuery { root: tree.path("0"), pattern: "**/x".to_owned(), max_results: 9 };
    let outcome = find(&query, &cancel).unwrap();
    assert_eq!(outcome.interrupted, Some(Interruption::TimedOut));
}

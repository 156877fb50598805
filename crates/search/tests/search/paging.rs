//! Pages of any size make up the whole.

use atoll_search::{FileMatches, GrepQuery, grep};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::tree::{Tree, patience};

/// A tree in which each file has so many matching lines among others.
fn tree(files: &[(u8, Vec<bool>)]) -> Tree {
    let tree = Tree::new(&[]);
    for (index, (directory, lines)) in files.iter().enumerate() {
        let text: String = lines
            .iter()
            .enumerate()
            .map(|(line, matches)| {
                format!("{} {line}\n", if *matches { "needle" } else { "straw" })
            })
            .collect();
        tree.write(&format!("{}/{index:03}", directory % 4), text.as_bytes());
    }
    tree
}

fn flat(files: Vec<FileMatches>) -> Vec<FileMatches> {
    let single = |file: FileMatches| {
        let path = file.path;
        file.matches
            .into_iter()
            .map(move |found| FileMatches { path: path.clone(), matches: vec![found] })
    };
    files.into_iter().flat_map(single).collect()
}

fn pages(query: &GrepQuery, size: u64, max_bytes: usize) -> Vec<FileMatches> {
    let mut all = Vec::new();
    loop {
        let offset = all.len() as u64;
        let query = GrepQuery { offset, max_results: size, max_bytes, ..query.clone() };
        let page = grep(&query, &patience()).unwrap();
        assert_eq!(page.interrupted, None);
        let matches = flat(page.files);
        assert!(matches.len() as u64 <= size);
        assert!(!page.truncated || !matches.is_empty(), "a page that leads nowhere");
        all.extend(matches);
        if !page.truncated {
            return all;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pages_of_any_size_make_up_the_whole(
        files in vec((any::<u8>(), vec(any::<bool>(), 0..30)), 0..60),
        size in 1_u64..50,
        max_bytes in prop_oneof![Just(1_usize << 20), 1_usize..400, 1_usize..30],
        multiline in any::<bool>(),
        context in 0_usize..3,
    ) {
        let tree = tree(&files);
        let query = GrepQuery {
            multiline,
            context_before: context,
            context_after: context,
            max_results: 10_000,
            ..tree.grep("needle")
        };
        let whole = grep(&query, &patience()).unwrap();
        let expected = files.iter().flat_map(|(_, lines)| lines).filter(|matches| **matches).count();
        let whole = flat(whole.files);
        prop_assert_eq!(whole.len(), expected);
        prop_assert_eq!(pages(&query, size, max_bytes), whole);
    }
}

#[test]
fn the_end_is_exact() {
    let tree = tree(&[(0, vec![true; 20]), (1, vec![true; 15])]);
    let page = |offset, max_results| {
        let query = GrepQuery { offset, max_results, ..tree.grep("needle") };
        let page = grep(&query, &patience()).unwrap();
        (flat(page.files).len(), page.truncated)
    };
    assert_eq!(page(0, 35), (35, false));
    assert_eq!(page(0, 34), (34, true));
    assert_eq!(page(34, 1), (1, false));
    assert_eq!(page(35, 10), (0, false));
    assert_eq!(page(u64::MAX, u64::MAX), (0, false));
}

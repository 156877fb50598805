//! What is built in: licences, banned crates and sources, as `deny.toml` says. `cargo deny` checks the same and more where
//! it is installed; this holds without it, and without a network.

#![expect(clippy::expect_used, reason = "test code")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn rules() -> toml::Table {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deny.toml");
    std::fs::read_to_string(file).expect("deny.toml").parse().expect("TOML")
}

fn texts(list: &toml::Value) -> BTreeSet<String> {
    let items = list.as_array().expect("a list").iter();
    items
        .map(|item| item.get("crate").unwrap_or(item).as_str().expect("a text").to_owned())
        .collect()
}

/// Every crate in the build: name, licence, source.
fn packages() -> Vec<(String, String, Option<String>)> {
    let version = Command::new("rustc").args(["--version", "--verbose"]).output().expect("rustc");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let platform = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform"])
        .arg(platform)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    packages
        .map(|package| {
            let name = text(&package["name"]).unwrap_or_default();
            (name, text(&package["license"]).unwrap_or_default(), text(&package["source"]))
        })
        .collect()
}

/// Whether a licence expression can be met with these licences.
fn is_met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<_> = spaced.split_whitespace().collect();
    let (met, used) = either(&words, allowed);
    met && used == words.len()
}

/// `A OR B`, and how many words it took.
fn either(words: &[&str], allowed: &BTreeSet<String>) -> (bool, usize) {
    let (mut met, mut used) = both(words, allowed);
    while words.get(used) == Some(&"OR") {
        let (next, more) = both(&words[used + 1..], allowed);
        met |= next;
        used += 1 + more;
    }
    (met, used)
}

/// `A AND B`, which binds closer.
fn both(words: &[&str], allowed: &BTreeSet<String>) -> (bool, usize) {
    let (mut met, mut used) = one(words, allowed);
    while words.get(used) == Some(&"AND") {
        let (next, more) = one(&words[used + 1..], allowed);
        met &= next;
        used += 1 + more;
    }
    (met, used)
}

fn one(words: &[&str], allowed: &BTreeSet<String>) -> (bool, usize) {
    match words {
        ["(", rest @ ..] => {
            let (met, used) = either(rest, allowed);
            (met && rest.get(used) == Some(&")"), used + 2)
        }
        [name, "WITH", exception, ..] => (allowed.contains(&format!("{name} WITH {exception}")), 3),
        [name, ..] => (allowed.contains(*name), 1),
        [] => (false, 0),
    }
}

#[test]
fn every_licence_is_one_we_may_use() {
    let allowed = texts(&rules()["licenses"]["allow"]);
    for (name, licence, _) in packages() {
        assert!(is_met(&licence, &allowed), "{name} is under {licence:?}");
    }
}

#[test]
fn no_banned_crate_is_built_in() {
    let banned = texts(&rules()["bans"]["deny"]);
    for (name, ..) in packages() {
        assert!(!banned.contains(&name), "{name} is banned: deny.toml says why");
    }
}

#[test]
fn every_crate_is_ours_or_from_the_registry() {
    let allowed = texts(&rules()["sources"]["allow-registry"]);
    for (name, _, source) in packages() {
        let Some(source) = source else {
            assert!(name == "atoll" || name.starts_with("atoll-"), "{name} comes from a path");
            continue;
        };
        let registry = source.strip_prefix("registry+").unwrap_or(&source);
        assert!(allowed.contains(registry), "{name} comes from {source}");
    }
}

#[test]
fn licence_expressions_are_read_rightly() {
    let allowed: BTreeSet<_> = ["MIT", "ISC", "A WITH B"].map(str::to_owned).into();
    for (expression, met) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("ISC AND (GPL-3.0 OR MIT)", true),
        ("ISC AND (GPL-3.0 OR LGPL-2.1)", false),
        ("GPL-3.0 OR ISC AND MIT", true),
        ("MIT AND GPL-3.0 OR GPL-2.0", false),
        ("A WITH B", true),
        ("A", false),
        ("", false),
        ("(MIT", false),
    ] {
        assert_eq!(is_met(expression, &allowed), met, "{expression}");
    }
}

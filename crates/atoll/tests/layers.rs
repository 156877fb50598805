//! The layers of the architecture, held by a test: who may depend on whom, and who may name which foreign crate.

#![expect(clippy::expect_used, reason = "test code")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Each crate of ours and those of ours it may depend on. A new crate or a new edge is a decision: it is made here.
const EDGES: &[(&str, &[&str])] = &[
    // The contract stands on nothing.
    ("atoll-operation", &[]),
    ("atoll-api", &["atoll-operation"]),
    // A mechanism hides one hard thing and never sees the contract.
    ("atoll-process", &[]),
    ("atoll-observe", &["atoll-process"]),
    ("atoll-search", &[]),
    ("atoll-watch", &[]),
    ("atoll-archive", &[]),
    ("atoll-kernel", &["atoll-process"]),
    ("atoll-node", &["atoll-process"]),
    ("atoll-proxy", &[]),
    ("atoll-egress", &[]),
    ("atoll-auth", &[]),
    ("atoll-cdp", &[]),
    ("atoll-browser", &["atoll-cdp", "atoll-process"]),
    ("atoll-desktop", &["atoll-process"]),
    ("atoll-convert", &[]),
    ("atoll-fetch", &[]),
    // Capabilities know the contract and the mechanisms.
    (
        "atoll-sandbox",
        &[
            "atoll-api",
            "atoll-archive",
            "atoll-browser",
            "atoll-convert",
            "atoll-desktop",
            "atoll-egress",
            "atoll-fetch",
            "atoll-kernel",
            "atoll-node",
            "atoll-observe",
            "atoll-operation",
            "atoll-process",
            "atoll-search",
            "atoll-watch",
        ],
    ),
    // Faces know the contract, and a mechanism that only moves bytes.
    ("atoll-http", &["atoll-api", "atoll-auth", "atoll-operation", "atoll-proxy"]),
    ("atoll-client", &["atoll-api", "atoll-operation"]),
    // It stands on the client, and packs directories that are copied.
    ("atoll-cli", &["atoll-api", "atoll-archive", "atoll-client", "atoll-operation"]),
    // It starts the servers whose tools it passes on.
    ("atoll-mcp", &["atoll-api", "atoll-operation", "atoll-process"]),
    // Programs wire everything; nothing depends on them.
    (
        "atoll",
        &[
            "atoll-api",
            "atoll-auth",
            "atoll-cli",
            "atoll-client",
            "atoll-convert",
            "atoll-http",
            "atoll-mcp",
            "atoll-operation",
            "atoll-process",
            "atoll-sandbox",
        ],
    ),
    (
        "atoll-bench",
        &["atoll-api", "atoll-client", "atoll-operation", "atoll-process", "atoll-testkit"],
    ),
    ("atoll-testkit", &["atoll-api", "atoll-client", "atoll-operation"]),
];

/// Crates that must not be reached from the contract, however indirectly: it does no IO.
const NO_IO: &[&str] = &["axum", "hyper", "mio", "reqwest", "rmcp", "rustix", "socket2", "tokio"];

/// What a crate of ours must not name itself, beside its layer's edges.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("atoll-process", &["axum", "hyper", "rmcp", "schemars", "tower"]),
    ("atoll-sandbox", &["axum", "http", "hyper", "hyper-util", "rmcp", "tower", "tower-http"]),
    ("atoll-http", &["rmcp"]),
    ("atoll-mcp", &["axum", "hyper", "tower"]),
    ("atoll-client", &["axum", "rmcp"]),
    ("atoll-cli", &["axum", "hyper", "rmcp", "tower"]),
    ("atoll", &["axum", "hyper", "rmcp", "tower"]),
];

/// Crates with fast majors: their types stay in the private code of one crate of ours.
const ONE_HOME: &[&str] = &[
    "axum",
    "bollard",
    "dom_smoothie",
    "grep-searcher",
    "htmd",
    "ignore",
    "inotify",
    "jsonwebtoken",
    "kube",
    "office_oxide",
    "pdf-inspector",
    "pty-process",
    "quick-xml",
    "rmcp",
    "rusqlite",
    "vt100",
    "x11rb",
    "zeromq",
    "zip",
];

struct Workspace {
    /// Name of each crate of ours, with the names it depends on (not for its tests).
    ours: BTreeMap<String, BTreeSet<String>>,
    /// Id of each crate in the build, with the ids it depends on (not for its tests).
    graph: BTreeMap<String, BTreeSet<String>>,
    names: BTreeMap<String, String>,
}

impl Workspace {
    fn read() -> Self {
        // Only this platform's crates: those of others were never downloaded, and nothing is downloaded here.
        let version = run("rustc", &["--version", "--verbose"]);
        let platform = version.lines().find_map(|line| line.strip_prefix("host: "));
        let mut arguments = vec!["metadata", "--format-version", "1", "--locked", "--offline"];
        arguments.extend(["--filter-platform", platform.expect("a host platform")]);
        let metadata = run(env!("CARGO"), &arguments);
        let metadata: Value = serde_json::from_str(&metadata).expect("JSON from cargo");

        let members: BTreeSet<_> = list(&metadata["workspace_members"]).map(text).collect();
        let mut ours = BTreeMap::new();
        let mut names = BTreeMap::new();
        for package in list(&metadata["packages"]) {
            let (id, name) = (text(&package["id"]), text(&package["name"]));
            if members.contains(&id) {
                let dependencies = list(&package["dependencies"])
                    .filter(|dependency| dependency["kind"] != "dev")
                    .map(|dependency| text(&dependency["name"]));
                ours.insert(name.clone(), dependencies.collect());
            }
            names.insert(id, name);
        }
        let mut graph = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"]) {
            let in_build = |dependency: &&Value| {
                list(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null())
            };
            let dependencies =
                list(&node["deps"]).filter(in_build).map(|dependency| text(&dependency["pkg"]));
            graph.insert(text(&node["id"]), dependencies.collect());
        }
        Self { ours, graph, names }
    }

    /// Everything this crate of ours is built with.
    fn reached_from(&self, name: &str) -> BTreeSet<&str> {
        let start = self.names.iter().find(|(_, known)| *known == name);
        let mut waiting = vec![start.expect("a crate of ours").0];
        let mut seen = BTreeSet::new();
        while let Some(id) = waiting.pop() {
            if seen.insert(id) {
                waiting.extend(self.graph.get(id).into_iter().flatten());
            }
        }
        seen.into_iter().map(|id| self.names[id].as_str()).collect()
    }
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the toolchain to run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?} failed: {said}");
    String::from_utf8(output.stdout).expect("text")
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().expect("a list").iter()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

#[test]
fn every_crate_stands_in_a_layer_and_depends_downwards_only() {
    let workspace = Workspace::read();
    for (name, dependencies) in &workspace.ours {
        let edges = EDGES.iter().find(|(known, _)| known == name);
        let (_, allowed) =
            edges.unwrap_or_else(|| panic!("{name} stands in no layer: add it to EDGES"));
        let ours = dependencies.iter().filter(|name| workspace.ours.contains_key(*name));
        for dependency in ours {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{name} must not depend on {dependency}"
            );
        }
    }
}

#[test]
fn the_contract_does_no_io() {
    let workspace = Workspace::read();
    for name in ["atoll-operation", "atoll-api"] {
        let reached = workspace.reached_from(name);
        assert!(reached.contains("serde"), "the graph of {name} looks empty");
        for forbidden in NO_IO {
            assert!(!reached.contains(forbidden), "{name} reaches {forbidden}");
        }
    }
}

#[test]
fn foreign_crates_stay_where_they_belong() {
    let workspace = Workspace::read();
    for (name, forbidden) in FORBIDDEN {
        let named = workspace.ours.get(*name).expect("a crate of ours");
        for dependency in *forbidden {
            assert!(!named.contains(*dependency), "{name} must not name {dependency}");
        }
    }
}

#[test]
fn crates_with_fast_majors_are_named_by_one_of_ours_at_most() {
    let workspace = Workspace::read();
    for foreign in ONE_HOME {
        let homes: Vec<_> = workspace
            .ours
            .iter()
            .filter(|(_, dependencies)| dependencies.contains(*foreign))
            .map(|(name, _)| name)
            .collect();
        assert!(homes.len() <= 1, "{foreign} is named by {homes:?}");
    }
}

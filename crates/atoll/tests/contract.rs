//! Rules that hold for every operation at once, and the documents that follow from them.

#![expect(clippy::expect_used, reason = "test code")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use atoll_api::system::Limits;
use atoll_mcp::{HubSettings, Mcp};
use atoll_operation::{Declaration, Mcp as Mark, Registry, Shape};
use atoll_process::Spawner;
use atoll_sandbox::hook::{HookSettings, Hooks};
use atoll_sandbox::{Choices, Environment, Foundation, Sandbox};
use schemars::generate::SchemaSettings;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

const PROGRAM: &str = env!("CARGO_BIN_EXE_atoll");

/// The MCP face, without other servers.
fn mcp() -> Mcp {
    let nowhere = PathBuf::from("/nonexistent");
    Mcp::new(atoll_mcp::Settings {
        version: "0.0.0",
        limits: Arc::default(),
        workspace: nowhere.clone(),
        hub: HubSettings {
            servers: Vec::new(),
            hidden: Vec::new(),
            spawner: None,
            environment: BTreeMap::new(),
            directory: nowhere.clone(),
            runtime_dir: nowhere,
        },
        conformance: false,
        stop: CancellationToken::new(),
    })
}

/// Everything bound, as the server binds it.
fn registry() -> Registry {
    let home = PathBuf::from("/nonexistent");
    let environment = Environment::build(std::iter::empty(), &home, &home, "someone", &[]);
    let foundation = Foundation {
        runtime_dir: home.clone(),
        workspace: home.clone(),
        home,
        environment: Arc::new(environment),
        limits: Arc::default(),
        version: "0.0.0",
        stop: CancellationToken::new(),
    };
    let spawner = Spawner::launch_program(Path::new(PROGRAM)).expect("a spawner");
    let mut registry = Registry::default();
    Hooks::new(&foundation, &spawner, HookSettings::default()).bind(&mut registry);
    Sandbox::new(foundation, spawner, Choices::default()).bind(&mut registry);
    atoll_http::bind(&mut registry, &Arc::default(), &Limits::default());
    mcp().bind(&mut registry);
    registry
}

/// The schema of an operation's input, and of everything a caller may send.
fn input_of(declaration: &Declaration) -> (Value, BTreeMap<String, Value>) {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let mut generator = settings.into_generator();
    let input = (declaration.input)(&mut generator).to_value();
    if let Some(message) = declaration.message {
        message(&mut generator);
    }
    let definitions: BTreeMap<_, _> = generator.take_definitions(true).into_iter().collect();
    let name = input["$ref"].as_str().and_then(|name| name.rsplit('/').next());
    let input = name.map_or(input.clone(), |name| definitions[name].clone());
    (input, definitions)
}

#[tokio::test]
async fn every_declared_operation_is_bound_and_every_bound_one_declared() {
    let registry = registry();
    let declared: BTreeSet<_> = atoll_api::operations().map(|each| each.spec.id).collect();
    let bound: BTreeSet<_> = registry.iter().map(|each| each.spec().id).collect();
    assert_eq!(declared, bound);
}

#[tokio::test]
async fn an_operation_streams_exactly_when_it_is_declared_to() {
    for bound in registry().iter() {
        let declared = bound.spec().shape == Shape::Streaming;
        assert_eq!(bound.streams(), declared, "{}", bound.spec().id);
    }
}

#[test]
fn no_two_operations_share_an_id_a_route_or_an_sdk_name() {
    let (mut ids, mut routes, mut names) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for Declaration { spec, .. } in atoll_api::operations() {
        assert!(ids.insert(spec.id), "{} is declared twice", spec.id);
        let route = (spec.method.as_str(), spec.path);
        assert!(routes.insert(route), "{route:?} is declared twice");
        if let Some(sdk) = spec.sdk {
            assert!(names.insert((sdk.group, sdk.method)), "{sdk:?} is declared twice");
        }
    }
}

#[test]
fn every_operation_says_who_may_call_it() {
    for Declaration { spec, .. } in atoll_api::operations() {
        let (area, right) = spec.scope.split_once(':').unwrap_or_default();
        let named = !area.is_empty() && area.bytes().all(|byte| byte.is_ascii_lowercase());
        assert!(named && ["read", "write"].contains(&right), "{}: {:?}", spec.id, spec.scope);
        if spec.mcp == Mark::ReadOnly {
            assert_eq!(right, "read", "{} changes nothing, so reading must suffice", spec.id);
        }
    }
}

#[test]
fn ids_are_valid_names_of_mcp_tools() {
    for Declaration { spec, .. } in atoll_api::operations() {
        let valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let length = (1..=64).contains(&spec.id.len());
        assert!(length && spec.id.bytes().all(valid), "{:?}", spec.id);
        assert!(spec.id.contains('_'), "{:?} is not <area>_<verb>", spec.id);
    }
}

#[test]
fn every_operation_and_every_field_of_its_input_is_documented() {
    for declaration in atoll_api::operations() {
        let id = declaration.spec.id;
        let (input, definitions) = input_of(declaration);
        let summary = input["description"].as_str().unwrap_or_default();
        assert!(summary.len() > 10, "{id} is not documented");
        for (name, schema) in &definitions {
            let fields = schema["properties"].as_object().into_iter().flatten();
            for (field, schema) in fields {
                let description = schema["description"].as_str().unwrap_or_default();
                assert!(!description.is_empty(), "{id}: {name}.{field} is not documented");
            }
        }
    }
}

#[test]
fn every_part_of_a_path_in_braces_is_a_field_of_the_input() {
    for declaration in atoll_api::operations() {
        let spec = &declaration.spec;
        assert!(spec.path.starts_with('/'), "{}", spec.path);
        let (input, _) = input_of(declaration);
        for part in spec.path.split('/') {
            let name = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
            if let Some(name) = name {
                assert!(input["properties"][name].is_object(), "{}: {name}", spec.id);
            }
        }
    }
}

#[test]
fn error_codes_are_dotted_and_belong_to_an_area() {
    for Declaration { spec, .. } in atoll_api::operations() {
        for code in spec.errors {
            let (area, name) = code.split_once('.').unwrap_or_default();
            let valid = |text: &str| {
                !text.is_empty()
                    && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            };
            assert!(valid(area) && valid(name), "{}: {code:?}", spec.id);
        }
    }
}

#[test]
fn the_committed_document_is_what_the_program_prints() {
    let output = Command::new(PROGRAM).arg("openapi").output().expect("atoll openapi");
    assert!(output.status.success());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let committed = std::fs::read(root.join("contract/openapi.json")).unwrap_or_default();
    assert!(
        committed == output.stdout,
        "contract/openapi.json is stale: run `make contract` and commit it"
    );
}

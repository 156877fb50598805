//! What holds for every tool of the catalogue, made from every declared operation.

use std::collections::HashSet;
use std::sync::Arc;

use atoll_operation::Registry;
use serde_json::{Value, json};

use super::aliases::ALIASES;
use super::{Catalogue, SERVERS, Selection, Sets, Tool};

/// The page that says how large the lists are.
const PAGE: &str = include_str!("../../../../docs/mcp.md");

fn everything() -> Catalogue {
    let mut registry = Registry::default();
    for declaration in atoll_api::operations() {
        registry.declare(declaration);
    }
    Catalogue::new(registry.iter().map(Arc::clone).collect())
}

#[test]
fn every_schema_is_valid_and_describes_an_object() {
    for tool in everything().iter() {
        let definition = &tool.definition;
        let name = &definition.name;
        let output = definition.output_schema.as_deref().map(|schema| ("result", schema));
        let schemas = [("arguments", definition.input_schema.as_ref())].into_iter().chain(output);
        for (what, schema) in schemas {
            assert_eq!(schema.get("type"), Some(&json!("object")), "{name}: {what}");
            let schema = Value::Object(schema.clone());
            if let Err(error) = jsonschema::draft202012::meta::validate(&schema) {
                panic!("{name}: {what}: {error}");
            }
        }
        assert!(definition.description.as_ref().is_some_and(|about| !about.is_empty()), "{name}");
        // What a schema asks for it must also describe, or no model can send it.
        let properties = definition.input_schema.get("properties").and_then(Value::as_object);
        let required = definition.input_schema.get("required").and_then(Value::as_array);
        for field in required.into_iter().flatten().filter_map(Value::as_str) {
            assert!(properties.is_some_and(|known| known.contains_key(field)), "{name}: {field}");
        }
    }
}

#[test]
fn names_are_unique_and_such_as_clients_accept() {
    let catalogue = everything();
    let mut seen = HashSet::new();
    for tool in catalogue.iter() {
        let name = tool.definition.name.as_ref();
        assert!(seen.insert(name.to_owned()), "{name} is there twice");
        let fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        assert!(!name.is_empty() && name.len() <= 64 && name.bytes().all(fine), "{name}");
        assert!(!name.contains("__"), "{name} looks like another server's");
        assert!(SERVERS.iter().any(|(server, _)| *server == tool.server), "{name}");
    }
    assert!(seen.len() > 100, "{}", seen.len());
}

#[test]
fn every_alias_leads_to_a_tool_and_is_listed_to_nobody() {
    let catalogue = everything();
    for (alias, meant) in ALIASES {
        let target = catalogue.get(meant);
        let target =
            target.unwrap_or_else(|| panic!("{alias} means {meant}, which does not exist"));
        let tool = catalogue.get(alias).unwrap_or_else(|| panic!("{alias} does not exist"));
        assert_eq!(tool.definition.input_schema, target.definition.input_schema, "{alias}");
        assert_ne!(target.sets, Sets::NONE, "{alias} means an alias");
        assert_eq!(tool.sets, Sets::NONE, "{alias}");
    }
}

/// How far the page may be from the truth: a new operation changes the longest list a little.
const TOLERANCE: f64 = 0.05;

#[test]
#[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
fn the_page_states_how_large_the_lists_are() {
    let catalogue = everything();
    for query in ["", "?profile=aio", "?profile=deep-agent", "?profile=all"] {
        let selection = Selection::of_query(query.strip_prefix('?')).unwrap();
        let listed: Vec<_> = catalogue.iter().filter(|tool| selection.lists(tool)).collect();
        let bytes = listed.iter().map(|tool| prompt(tool).len()).sum::<usize>() as f64;
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| `/mcp{query}` |")));
        let row = row.unwrap_or_else(|| panic!("no row for /mcp{query}"));
        let cells: Vec<_> = row.split('|').skip(2).collect();
        let stated = cells.iter().flat_map(|cell| numbers(cell));
        let actual = [listed.len() as f64, bytes / 1000.0, bytes / 4.0];
        for (stated, actual) in stated.zip(actual) {
            let off = (stated - actual).abs() / actual;
            assert!(off <= TOLERANCE, "/mcp{query}: {actual}, and not {stated} as in {row}");
        }
    }
}

/// The numbers in a text, written as on the page: `17,000`, `8.2`.
fn numbers(text: &str) -> Vec<f64> {
    let words = text.split(|char: char| !char.is_ascii_digit() && char != '.' && char != ',');
    words.filter_map(|word| word.trim_matches(['.', ',']).replace(',', "").parse().ok()).collect()
}

/// What a model reads of a tool.
fn prompt(tool: &Tool) -> String {
    let definition = &tool.definition;
    json!({
        "name": definition.name,
        "description": definition.description,
        "inputSchema": definition.input_schema,
    })
    .to_string()
}

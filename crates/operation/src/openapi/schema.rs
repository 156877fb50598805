//! Small repairs on generated schemas, and what a document no longer needs.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::COMPONENTS;

/// The name a reference leads to.
pub(super) fn name_of(schema: &Value) -> Option<&str> {
    let reference = schema.get("$ref")?.as_str()?;
    reference.strip_prefix('#')?.strip_prefix(COMPONENTS)?.strip_prefix('/')
}

/// The schema itself, where it is only referred to.
pub(super) fn inline(schema: &Value, definitions: &Map<String, Value>) -> Value {
    let target = name_of(schema).and_then(|name| definitions.get(name));
    target.unwrap_or(schema).clone()
}

/// Whether this is the schema of nothing.
pub(super) fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

/// An input's optional field needs no `default: null`: absent says it already.
pub(super) fn tidy_input(schema: &mut Value) {
    visit(schema, &mut |object| {
        if object.get("default").is_some_and(Value::is_null) {
            object.remove("default");
        }
    });
    tidy_output(schema);
}

/// An input's optional fields may be null, which is the same as absent: clients send it so.
pub(super) fn allow_null(input: &mut Value) {
    let required = input.get("required").cloned().unwrap_or_default();
    let is_required =
        |name: &str| required.as_array().is_some_and(|names| names.iter().any(|each| each == name));
    let properties = input.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        let Some(property) = property.as_object_mut().filter(|_| !is_required(name)) else {
            continue;
        };
        if let Some(Value::String(only)) = property.get("type") {
            let both = json!([only, "null"]);
            property.insert("type".to_owned(), both);
        } else if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
            if !choices.iter().any(is_null) {
                choices.push(json!({"type": "null"}));
            }
        } else if let Some(reference) = property.remove("$ref") {
            let either = json!([{"$ref": reference}, {"type": "null"}]);
            property.insert("anyOf".to_owned(), either);
        }
    }
}

/// Makes a schema plain for readers and generators of clients.
pub(super) fn tidy_output(schema: &mut Value) {
    visit(schema, &mut |object| {
        // `uint64` and its like are Rust's words, not the format registry's; `minimum` says the same.
        let format = object.get("format").and_then(Value::as_str);
        if format.is_some_and(|format| format.starts_with("uint")) {
            object.remove("format");
        }
        list_choices(object);
    });
}

/// A documented enum comes as `oneOf` constants, which generators take for a union: it becomes a plain `enum`, its
/// documentation a list.
fn list_choices(object: &mut Map<String, Value>) {
    let Some(variants) = object.get("oneOf").and_then(Value::as_array) else {
        return;
    };
    let choices: Option<Vec<Value>> = variants
        .iter()
        .map(|variant| variant.get("const").filter(|value| value.is_string()).cloned())
        .collect();
    let Some(choices) = choices else { return };
    let lines = variants.iter().filter_map(|variant| {
        let name = variant.get("const")?.as_str()?;
        let meaning = variant.get("description")?.as_str()?;
        Some(format!("\n- `{name}`: {meaning}"))
    });
    let mut description = lines.collect::<String>();
    if let Some(general) = object.get("description").and_then(Value::as_str) {
        description = format!("{general}\n{description}");
    }
    object.remove("oneOf");
    object.insert("type".to_owned(), Value::from("string"));
    object.insert("enum".to_owned(), Value::Array(choices));
    object.insert("description".to_owned(), Value::String(description));
}

/// Drops components nothing refers to: inputs that became parameters, results that were taken apart.
pub(super) fn prune(document: &mut Value) {
    let mut used = BTreeSet::new();
    let mut open = Vec::new();
    collect(&document["paths"], &mut open);
    while let Some(name) = open.pop() {
        if used.insert(name.clone()) {
            collect(&document["components"]["schemas"][&name], &mut open);
        }
    }
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.retain(|name, _| used.contains(name));
    }
}

fn collect(value: &Value, names: &mut Vec<String>) {
    names.extend(name_of(value).map(str::to_owned));
    match value {
        Value::Object(entries) => entries.values().for_each(|entry| collect(entry, names)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        _ => {}
    }
}

fn visit(value: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            change(object);
            for entry in object.values_mut() {
                visit(entry, change);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| visit(item, change)),
        _ => {}
    }
}

//! JSON schemas as models read them best: whole, without references, titles or nulls, and short.

use std::sync::Arc;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The schema of arguments, and what it says of them as a whole.
pub(super) fn input(of: SchemaOf) -> (Map<String, Value>, String) {
    let mut schema = whole(of, SchemaSettings::draft2020_12().for_deserialize());
    let description = schema.remove("description");
    let mut schema = Value::Object(schema);
    visit(&mut schema, &mut |object| {
        tidy(object);
        drop_null(object);
        if object.get("default").is_some_and(Value::is_null) {
            object.remove("default");
        }
    });
    let Value::Object(mut schema) = schema else { return Default::default() };
    schema.entry("properties").or_insert_with(|| json!({}));
    let description = description.as_ref().and_then(Value::as_str).unwrap_or_default();
    (schema, description.to_owned())
}

/// The schema of arguments of a type.
pub(super) fn input_of<T: JsonSchema>() -> (Map<String, Value>, String) {
    input(schemars::SchemaGenerator::subschema_for::<T>)
}

/// The schema of a structured result: an object; what is none lies in `result`.
pub(super) fn output(of: SchemaOf) -> Arc<Map<String, Value>> {
    let mut schema = Value::Object(whole(of, SchemaSettings::draft2020_12().for_serialize()));
    visit(&mut schema, &mut |object| {
        tidy(object);
        // A result is its own explanation.
        if object.get("description").is_some_and(Value::is_string) {
            object.remove("description");
        }
    });
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    let schema = if is_object {
        schema
    } else {
        json!({"type": "object", "properties": {"result": schema}, "required": ["result"]})
    };
    match schema {
        Value::Object(schema) => Arc::new(schema),
        _ => Arc::default(),
    }
}

/// The schema of a structured result of a type.
pub(super) fn output_of<T: JsonSchema>() -> Arc<Map<String, Value>> {
    output(schemars::SchemaGenerator::subschema_for::<T>)
}

fn whole(of: SchemaOf, settings: SchemaSettings) -> Map<String, Value> {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let schema = of(&mut generator).to_value();
    let definitions = generator.take_definitions(true);
    let Value::Object(mut schema) = schema else {
        // The schema of anything.
        return Map::new();
    };
    // Only what contains itself is still referred to.
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    schema
}

fn tidy(object: &mut Map<String, Value>) {
    let is_schema = |value: &Value| value.is_string();
    if object.get("title").is_some_and(is_schema) {
        object.remove("title");
    }
    let format = object.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| format.starts_with("uint") || format == "double") {
        object.remove("format");
    }
    object.retain(|name, _| !name.starts_with("x-"));
    list_choices(object);
}

/// An optional field is absent, not null.
fn drop_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").and_then(Value::as_str) != Some("null"));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            for (name, value) in only {
                object.entry(name).or_insert(value);
            }
        }
    }
}

/// An enum comes as `oneOf` constants, each explained; a plain `enum` says the same in fewer words.
fn list_choices(object: &mut Map<String, Value>) {
    let Some(variants) = object.get("oneOf").and_then(Value::as_array) else {
        return;
    };
    let choices = variants.iter().map(|variant| variant.get("const").filter(|it| it.is_string()));
    let Some(choices) = choices.map(Option::<&Value>::cloned).collect::<Option<Vec<_>>>() else {
        return;
    };
    object.remove("oneOf");
    object.insert("type".to_owned(), Value::from("string"));
    object.insert("enum".to_owned(), Value::Array(choices));
}

/// Visits every schema, the inner ones first. What lies below `properties` by name is not taken for a keyword.
fn visit(schema: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(object) = schema else {
        return;
    };
    for (keyword, value) in object.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties" | "$defs", Value::Object(named)) => {
                named.values_mut().for_each(|inner| visit(inner, change));
            }
            ("default" | "const" | "enum" | "examples", _) => {}
            (_, Value::Array(list)) => list.iter_mut().for_each(|inner| visit(inner, change)),
            (_, inner) => visit(inner, change),
        }
    }
    change(object);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Colour {
        /// Like fire.
        Red,
        /// Like the sky.
        Blue,
    }

    /// Paint something.
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Paint {
        /// What.
        title: String,
        /// How often.
        #[serde(default)]
        times: Option<u64>,
        /// In which colour.
        #[serde(default)]
        colour: Option<Colour>,
    }

    #[test]
    fn arguments_have_no_nulls_references_or_titles() {
        let (schema, description) = input_of::<Paint>();
        assert_eq!(description, "Paint something.");
        assert_eq!(
            Value::Object(schema),
            json!({
                "type": "object",
                "properties": {
                    "title": {"type": "string", "description": "What."},
                    "times": {"type": "integer", "minimum": 0, "description": "How often."},
                    "colour": {
                        "type": "string",
                        "enum": ["red", "blue"],
                        "description": "In which colour.",
                    },
                },
                "required": ["title"],
            })
        );
    }

    #[test]
    fn results_are_objects() {
        let schema = output_of::<Vec<Paint>>();
        assert_eq!(schema["required"], json!(["result"]));
        assert_eq!(schema["properties"]["result"]["type"], "array");
        assert_eq!(output_of::<Paint>()["properties"]["times"]["type"], json!(["integer", "null"]));
        assert_eq!(output_of::<()>()["properties"]["result"], json!({"type": "null"}));
    }
}

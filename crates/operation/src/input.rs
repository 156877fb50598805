//! Checks an input against its declared schema before it is read.
//!
//! Owns the leniency every face shares: an empty input is `{}`, an explicit null is an absent field, unknown fields
//! are left alone, and scalars may come as text (query strings, and agents that quote their numbers). All mistakes in
//! the top-level fields are reported at once, each with its field's name; what lies deeper is found when the typed
//! input is read. Text holding a NUL byte is refused anywhere, since nothing in a sandbox can carry one, except in
//! fields that say `x-allow-nul`. A null is kept for fields that say `x-keep-null`, where it means something of its own.

mod rule;
mod scalar;

use std::collections::HashMap;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use self::rule::Rule;
use crate::error::{Error, FieldError};
use crate::spec::Declaration;

/// What an operation's input must look like.
#[derive(Debug)]
pub struct InputShape {
    fields: HashMap<String, Field>,
    required: Vec<String>,
}

#[derive(Debug)]
struct Field {
    rule: Rule,
    allow_nul: bool,
    keep_null: bool,
}

impl InputShape {
    /// The shape a declaration asks for.
    pub fn of(declaration: &Declaration) -> Self {
        let settings = SchemaSettings::draft2020_12().for_deserialize();
        let mut generator = settings.into_generator();
        let schema = (declaration.input)(&mut generator).to_value();
        let definitions = generator.take_definitions(true);
        Self::compile(&schema, &definitions)
    }

    /// The shape a schema without references asks for.
    pub fn of_schema(schema: &Value) -> Self {
        Self::compile(schema, &Map::new())
    }

    fn compile(schema: &Value, definitions: &Map<String, Value>) -> Self {
        let schema = rule::resolve(schema, definitions);
        let properties = schema.get("properties").and_then(Value::as_object);
        let fields = properties.into_iter().flatten().map(|(name, property)| {
            let says = |word: &str| property.get(word) == Some(&Value::Bool(true));
            let rule = Rule::of(property, definitions);
            let (allow_nul, keep_null) = (says("x-allow-nul"), says("x-keep-null"));
            (name.clone(), Field { rule, allow_nul, keep_null })
        });
        let required = schema.get("required").and_then(Value::as_array);
        Self {
            fields: fields.collect(),
            required: required
                .into_iter()
                .flatten()
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect(),
        }
    }

    /// Whether the input has a field of this name.
    pub fn declares(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// Checks and normalises an input: nulls dropped, scalars in their declared type; mistakes name their fields.
    pub fn check(&self, input: Value) -> Result<Value, Error> {
        let mut object = match input {
            Value::Null => Map::new(),
            Value::Object(object) => object,
            other => {
                return Err(Error::invalid_input(vec![FieldError {
                    path: Vec::new(),
                    message: format!("expected a JSON object, got {}", rule::describe(&other)),
                    rule: "type",
                }]));
            }
        };
        object.retain(|name, value| {
            !value.is_null() || self.fields.get(name).is_none_or(|field| field.keep_null)
        });
        let mut mistakes = Vec::new();
        for name in &self.required {
            if !object.contains_key(name) {
                mistakes.push(mistake(vec![name.clone()], "missing", "is required"));
            }
        }
        for (name, value) in &mut object {
            let field = self.fields.get(name);
            // Only a null that means something is still here.
            if let Some(field) = field.filter(|_| !value.is_null())
                && let Err((rule, message)) = field.rule.check(value)
            {
                mistakes.push(mistake(vec![name.clone()], rule, message));
            } else if !field.is_some_and(|field| field.allow_nul)
                && let Some(path) = path_to_nul(name, value)
            {
                mistakes.push(mistake(path, "nul", "must not contain a NUL byte"));
            }
        }
        if mistakes.is_empty() {
            Ok(Value::Object(object))
        } else {
            Err(Error::invalid_input(mistakes))
        }
    }

    /// The value a query or path parameter stands for; text that does not fit stays text, for [`Self::check`] to name.
    pub fn coerce_text(&self, name: &str, text: &str) -> Value {
        self.fields
            .get(name)
            .and_then(|field| field.rule.read_text(text))
            .unwrap_or_else(|| Value::String(text.to_owned()))
    }
}

fn mistake(path: Vec<String>, rule: &'static str, message: impl Into<String>) -> FieldError {
    FieldError { path, message: message.into(), rule }
}

/// Where a NUL byte lies in a field, if one does. A key that holds one is named by its parent.
fn path_to_nul(name: &str, value: &Value) -> Option<Vec<String>> {
    fn below(value: &Value) -> Option<Vec<String>> {
        match value {
            Value::String(text) => has_nul(text).then(Vec::new),
            Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
                below(item).map(|rest| [vec![format!("[{index}]")], rest].concat())
            }),
            Value::Object(entries) => entries.iter().find_map(|(key, entry)| {
                if has_nul(key) {
                    return Some(Vec::new());
                }
                below(entry).map(|rest| [vec![key.clone()], rest].concat())
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }
    let rest = if has_nul(name) { Some(Vec::new()) } else { below(value) };
    rest.map(|rest| [vec![name.replace('\0', "\u{fffd}")], rest].concat())
}

fn has_nul(text: &str) -> bool {
    text.as_bytes().contains(&0)
}

#[cfg(test)]
mod tests;

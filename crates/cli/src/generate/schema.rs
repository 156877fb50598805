//! What an operation's input schema says, as far as a command line can use it.

use atoll_operation::Declaration;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// An operation's input.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    /// What the operation does.
    pub(crate) about: String,
    pub(crate) fields: Vec<Field>,
    /// Whether it takes fields that are not declared.
    pub(crate) open: bool,
}

/// One field of an input.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) types: Types,
    /// What the items of a list are.
    pub(crate) items: Types,
    /// The words it may be, where it may only be one of some.
    pub(crate) choices: Vec<String>,
    pub(crate) required: bool,
    pub(crate) default: Option<String>,
}

/// The kinds of values a field may have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Types {
    pub(crate) text: bool,
    pub(crate) integer: bool,
    pub(crate) number: bool,
    pub(crate) boolean: bool,
    pub(crate) list: bool,
    pub(crate) object: bool,
}

impl Shape {
    /// The input of an operation.
    pub(crate) fn of(declaration: &Declaration) -> Self {
        let settings = SchemaSettings::draft2020_12().for_deserialize();
        let settings = settings.with(|settings| settings.inline_subschemas = true);
        let mut generator = settings.into_generator();
        let schema = (declaration.input)(&mut generator).to_value();
        let definitions = generator.take_definitions(true);
        Self::read(&schema, &definitions)
    }

    fn read(schema: &Value, definitions: &Map<String, Value>) -> Self {
        let schema = resolve(schema, definitions);
        let mut shape = Self { about: description(schema), ..Self::default() };
        shape.open =
            schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
        shape.add(schema, definitions, true);
        shape
    }

    /// Adds the fields of a schema. Those of alternatives are all there, and none of them must be given.
    fn add(&mut self, schema: &Value, definitions: &Map<String, Value>, certain: bool) {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            let mut names = required.into_iter().flatten();
            certain && names.any(|required| required.as_str() == Some(name))
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let property = resolve(property, definitions);
            if let Some(known) = self.fields.iter_mut().find(|field| field.name == *name) {
                known.widen(property, definitions);
            } else {
                let required = is_required(name);
                self.fields.push(Field::read(name, property, definitions, required));
            }
        }
        for (word, certain) in [("allOf", certain), ("anyOf", false), ("oneOf", false)] {
            let parts = schema.get(word).and_then(Value::as_array);
            for part in parts.into_iter().flatten() {
                self.add(resolve(part, definitions), definitions, certain);
            }
        }
    }
}

impl Field {
    fn read(name: &str, schema: &Value, definitions: &Map<String, Value>, required: bool) -> Self {
        let default = schema.get("default").filter(|default| !default.is_null());
        let mut field = Self {
            name: name.to_owned(),
            about: description(schema),
            types: Types::default(),
            items: Types::default(),
            choices: Vec::new(),
            required,
            default: default.map(|default| match default {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            }),
        };
        field.widen(schema, definitions);
        field
    }

    /// Takes in what another alternative says of the same field.
    fn widen(&mut self, schema: &Value, definitions: &Map<String, Value>) {
        if self.about.is_empty() {
            self.about = description(schema);
        }
        self.types.add(schema, definitions);
        let items = if self.types.list { schema.get("items") } else { None };
        if let Some(items) = items {
            self.items.add(resolve(items, definitions), definitions);
        }
        choices(schema, definitions, &mut self.choices);
    }
}

impl Types {
    fn add(&mut self, schema: &Value, definitions: &Map<String, Value>) {
        let schema = resolve(schema, definitions);
        let own = schema.get("type");
        let list = own.and_then(Value::as_array).map(Vec::as_slice);
        let names = list.unwrap_or_else(|| own.map(std::slice::from_ref).unwrap_or_default());
        for name in names.iter().filter_map(Value::as_str) {
            match name {
                "string" => self.text = true,
                "integer" => self.integer = true,
                "number" => self.number = true,
                "boolean" => self.boolean = true,
                "array" => self.list = true,
                "object" => self.object = true,
                _ => {}
            }
        }
        for word in ["anyOf", "oneOf", "allOf"] {
            for part in schema.get(word).and_then(Value::as_array).into_iter().flatten() {
                self.add(part, definitions);
            }
        }
        let constant = schema.get("const").into_iter();
        let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        self.text |= constant.chain(listed).any(Value::is_string);
    }

    /// Whether nothing is known of it: anything goes.
    pub(crate) fn is_open(self) -> bool {
        self == Self::default()
    }

    /// Whether it is a switch and nothing else.
    pub(crate) fn is_switch(self) -> bool {
        self == Self { boolean: true, ..Self::default() }
    }

    /// Whether it is a list and cannot be a text.
    pub(crate) fn is_list(self) -> bool {
        self.list && !self.text
    }
}

/// The words a schema allows; none when it allows others too.
fn choices(schema: &Value, definitions: &Map<String, Value>, found: &mut Vec<String>) {
    let schema = resolve(schema, definitions);
    let constant = schema.get("const").into_iter();
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    for word in constant.chain(listed).filter_map(Value::as_str) {
        if !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
    }
    for word in ["anyOf", "oneOf"] {
        for part in schema.get(word).and_then(Value::as_array).into_iter().flatten() {
            choices(part, definitions, found);
        }
    }
}

fn resolve<'a>(schema: &'a Value, definitions: &'a Map<String, Value>) -> &'a Value {
    let reference = schema.get("$ref").and_then(Value::as_str);
    let name = reference.and_then(|reference| reference.rsplit('/').next());
    name.and_then(|name| definitions.get(name)).unwrap_or(schema)
}

fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shape(schema: &Value) -> Shape {
        Shape::read(schema, &Map::new())
    }

    #[test]
    fn fields_have_their_kinds_choices_and_documentation() {
        let shape = shape(&json!({
            "description": "Do it.",
            "properties": {
                "path": {"type": "string", "description": "Where."},
                "count": {"type": ["integer", "null"], "default": 3},
                "how": {"oneOf": [{"const": "fast"}, {"const": "well"}]},
                "keys": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
                "any": true,
            },
            "required": ["path"],
        }));
        let [path, count, how, keys, any] = &shape.fields[..] else { panic!("{shape:?}") };
        assert_eq!((shape.about.as_str(), path.about.as_str()), ("Do it.", "Where."));
        assert!(path.required && path.types.text && !count.required);
        assert!(count.types.integer && count.default.as_deref() == Some("3"));
        assert_eq!(how.choices, ["fast", "well"]);
        assert!(keys.types.text && keys.types.list && !keys.types.is_list());
        assert!(any.types.is_open());
    }

    #[test]
    fn fields_of_alternatives_are_all_there_and_none_must_be_given() {
        let shape = shape(&json!({"oneOf": [
            {"properties": {"kind": {"const": "move"}, "x": {"type": "integer"}}, "required": ["kind", "x"]},
            {"properties": {"kind": {"const": "type"}, "text": {"type": "string"}}, "required": ["kind"]},
        ]}));
        let names: Vec<_> = shape.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["kind", "x", "text"]);
        assert!(shape.fields.iter().all(|field| !field.required));
        assert_eq!(shape.fields[0].choices, ["move", "type"]);
    }

    #[test]
    fn every_declared_field_is_documented_for_its_flag() {
        for declaration in atoll_api::operations() {
            let shape = Shape::of(declaration);
            assert!(!shape.about.is_empty(), "{}", declaration.spec.id);
            for field in shape.fields {
                assert!(!field.about.is_empty(), "{} {}", declaration.spec.id, field.name);
            }
        }
    }
}

//! The envelope in OpenAPI, with the schema names that let Fern regenerate the same SDKs.

use atoll_api::file::FileOperationError;
use atoll_operation::{Accent, Declaration, Document, Info, Spec};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{echoes, hoist, is_bare, refusal_fields};

const DESCRIPTION: &str = "A computer for an agent: shells, commands and what they print.\n\n\
    Every answer has the same envelope: `success`, `message`, `data`, `hint`, `code`. A failure keeps it, whatever its \
    HTTP status, and adds `error_code`, a stable dotted name. A command that ran and failed is a success: look at its \
    exit code.";

/// The OpenAPI document of these operations, as served at `/v1/openapi.json`.
pub fn openapi<'a>(
    declarations: impl IntoIterator<Item = &'a Declaration>,
    version: &str,
) -> Value {
    document(declarations, version).into_value()
}

fn document<'a>(
    declarations: impl IntoIterator<Item = &'a Declaration>,
    version: &str,
) -> Document {
    let info = Info {
        title: "Atoll".to_owned(),
        version: version.to_owned(),
        description: DESCRIPTION.to_owned(),
    };
    Document::new(&info, &Enveloped, declarations)
}

struct Enveloped;

impl Accent for Enveloped {
    fn answer(
        &self,
        spec: &Spec,
        data: Option<&Value>,
        definitions: &Map<String, Value>,
    ) -> (String, Value) {
        let Some(data) = data else {
            return ("Response".to_owned(), envelope(&json!({}), &Map::new()));
        };
        let result = reference(data).and_then(|name| definitions.get(name));
        if is_bare(spec.id) {
            let name = reference(data).map_or_else(|| answer_name(spec, data), str::to_owned);
            return (name, result.unwrap_or(data).clone());
        }
        let properties = result.and_then(|result| result["properties"].as_object());
        let mut beside = properties.cloned().unwrap_or_default();
        let name = answer_name(spec, data);
        let Some(hoist) = hoist(spec.id) else {
            if refusal_fields(spec.id, &Map::new()).is_some() {
                let name = reference(data).unwrap_or_default();
                let either = json!({"anyOf": [data, refer("FileOperationError")]});
                let name = format!("Response_Union_{name}__FileOperationError__");
                return (name, envelope(&either, &Map::new()));
            }
            beside.retain(|_, _| echoes(spec.id));
            return (name, envelope(data, &beside));
        };
        let data = beside.remove(hoist.data).unwrap_or_default();
        (hoist.schema.to_owned(), envelope(&data, &beside))
    }

    fn invalid_input(&self) -> (String, Value) {
        let mut schema = failed();
        schema["description"] = json!("The input does not fit its schema.");
        let list = |name: &str, description: &str| json!({"type": "array", "items": refer(name), "description": description});
        schema["properties"]["detail"] = list("ValidationError", "The fields that do not fit.");
        schema["properties"]["errors"] = list("InputError", "The same in the other form.");
        ("HTTPValidationError".to_owned(), schema)
    }

    fn failure(&self) -> (String, Value) {
        ("Failure".to_owned(), failed())
    }

    fn components(&self) -> Map<String, Value> {
        let mistake = json!({
            "type": "object",
            "description": "One field that does not fit.",
            "required": ["loc", "msg", "type"],
            "properties": {
                "loc": {
                    "type": "array",
                    "description": "Where it was sent, then the path to it.",
                    "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                },
                "msg": {"type": "string", "description": "What is wrong."},
                "type": {"type": "string", "description": "The rule it breaks."},
            },
        });
        let same_mistake = json!({
            "type": "object",
            "description": "One field that does not fit, in the other form.",
            "required": ["location", "message", "type"],
            "properties": {
                "location": {"type": "string", "description": "Dotted path to the field."},
                "message": {"type": "string", "description": "What is wrong."},
                "type": {"type": "string", "description": "The rule it breaks."},
            },
        });
        let refusal = SchemaSettings::draft2020_12()
            .with(|settings| settings.meta_schema = None)
            .for_serialize()
            .into_generator()
            .into_root_schema_for::<FileOperationError>()
            .to_value();
        [
            ("ValidationError", mistake),
            ("InputError", same_mistake),
            ("FileOperationError", refusal),
        ]
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect()
    }
}

fn refer(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.rsplit('/').next()
}

/// The name FastAPI would give a generic envelope of this result.
fn answer_name(spec: &Spec, data: &Value) -> String {
    let item = data.get("items").and_then(reference);
    match (reference(data), item, data.get("type").and_then(Value::as_str)) {
        (Some(name), ..) => format!("Response_{name}_"),
        (_, Some(name), _) => format!("Response_list_{name}__"),
        (.., Some("string")) => "Response_str_".to_owned(),
        _ => format!("Response_{}_", spec.id),
    }
}

fn envelope(data: &Value, beside: &Map<String, Value>) -> Value {
    let mut properties = json!({
        "success": {
            "type": "boolean",
            "default": true,
            "description": "Whether the operation was carried out.",
        },
        "message": {
            "type": ["string", "null"],
            "default": "Operation successful",
            "description": "The outcome in words.",
        },
        "data": {"anyOf": [data, {"type": "null"}], "description": "The result."},
        "hint": {"type": ["string", "null"], "description": "Advice for an agent."},
        "code": {"type": "integer", "default": 0, "description": "0."},
    });
    let mut required = vec!["success", "message", "data", "hint", "code"];
    for (name, schema) in beside {
        properties[name] = schema.clone();
        required.push(name);
    }
    json!({
        "type": "object",
        "description": "The operation was carried out.",
        "properties": properties,
        "required": required,
    })
}

fn failed() -> Value {
    json!({
        "type": "object",
        "description": "The operation was not carried out.",
        "required": ["success", "message", "data", "hint", "code", "error_code"],
        "properties": {
            "success": {"type": "boolean", "const": false, "description": "Always false."},
            "message": {
                "type": "string",
                "description": "What failed, with what, and what to do.",
            },
            "data": {
                "anyOf": [refer("FileOperationError"), {"type": "null"}],
                "description": "What a file system refused, where one did.",
            },
            "hint": {"type": ["string", "null"], "description": "Advice for an agent."},
            "code": {"type": "integer", "description": "The HTTP status; never 0."},
            "error_code": {
                "type": "string",
                "description": "A stable dotted name; `x-error-codes` lists those of an operation.",
            },
            "details": {"description": "More for programs, depending on `error_code`."},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_schema_name_of_the_real_contract_stands_for_two_shapes() {
        let document = document(atoll_api::operations(), "1");
        assert_eq!(document.conflicts().collect::<Vec<_>>(), [""; 0]);
        assert_eq!(document.into_value()["info"]["version"], "1");
    }

    #[test]
    fn the_real_contract_makes_a_valid_document_without_clashes() {
        let document = openapi(atoll_api::operations(), "1");
        let parsed: oas3::OpenApiV3Spec = oas3::from_json(document.to_string()).unwrap();
        let declared = atoll_api::operations().count();
        assert_eq!(parsed.operations().count(), declared, "two share a method and a path");
        let ids: BTreeSet<_> = atoll_api::operations().map(|known| known.spec.id).collect();
        assert_eq!(ids.len(), declared, "two share an id");
        let text = document.to_string();
        for reference in text.split("\"#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
    }

    #[test]
    fn every_operation_and_field_of_the_real_contract_is_documented() {
        let document = openapi(atoll_api::operations(), "1");
        for operation in document["paths"].as_object().unwrap().values() {
            for operation in operation.as_object().unwrap().values() {
                assert_ne!(operation["summary"], "", "{operation}");
                for parameter in operation["parameters"].as_array().into_iter().flatten() {
                    assert!(parameter["description"].is_string(), "{operation}");
                }
            }
        }
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
                assert!(schema["description"].is_string(), "{name}.{field}");
            }
        }
    }

    #[test]
    fn a_hoisted_result_lies_beside_data() {
        let document = openapi(atoll_api::operations(), "1");
        let schema = &document["components"]["schemas"]["SandboxResponse"];
        assert_eq!(schema["properties"]["data"]["anyOf"][0]["type"], "string");
        for field in ["home_dir", "workspace", "version", "detail"] {
            assert!(schema["properties"][field].is_object(), "{field}");
        }
        assert!(schema["properties"].get("text").is_none());
    }

    #[test]
    fn names_follow_the_shape_of_the_result() {
        let spec = Spec::get("an_id", "/", "a:read");
        let name = |data: Value| answer_name(&spec, &data);
        assert_eq!(name(refer("Thing")), "Response_Thing_");
        assert_eq!(
            name(json!({"type": "array", "items": refer("Thing")})),
            "Response_list_Thing__"
        );
        assert_eq!(name(json!({"type": "string"})), "Response_str_");
        assert_eq!(name(json!({"type": "integer"})), "Response_an_id_");
    }
}

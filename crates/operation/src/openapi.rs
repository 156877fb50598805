//! OpenAPI 3.1 from declarations: the document follows from the contract, nobody writes it.
//!
//! Inputs are described as they are read (schemars' Deserialize contract), outputs as they are written (its Serialize
//! contract). A schema name stands for one shape: [`Document::conflicts`] lists those that would stand for two, and a
//! test refuses them. How a face wraps answers and failures is the face's own knowledge, asked of its [`Accent`].

mod schema;

use std::collections::BTreeSet;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use self::schema::{allow_null, inline, is_null, name_of, prune, tidy_input, tidy_output};
use crate::spec::{Declaration, Method, Shape, Spec};

/// Where the document keeps its named schemas.
const COMPONENTS: &str = "/components/schemas";

/// What the document says of itself.
#[derive(Debug, Clone)]
pub struct Info {
    /// Name of the API.
    pub title: String,
    /// Version of the server.
    pub version: String,
    /// What the API is for, in Markdown.
    pub description: String,
}

/// How a face words its answers, as far as the document shows it.
pub trait Accent {
    /// The schema of a successful answer to this operation and the name it goes by. `data` is the schema of the result
    /// (`None` when there is none), `definitions` holds what it refers to.
    fn answer(
        &self,
        spec: &Spec,
        data: Option<&Value>,
        definitions: &Map<String, Value>,
    ) -> (String, Value);

    /// The schema of the body that reports a wrong input, and its name.
    fn invalid_input(&self) -> (String, Value);

    /// The schema of the body that reports any other failure, and its name.
    fn failure(&self) -> (String, Value);

    /// Schemas the above refer to, by name.
    fn components(&self) -> Map<String, Value>;
}

/// An OpenAPI document.
#[derive(Debug)]
pub struct Document {
    value: Value,
    conflicts: BTreeSet<String>,
}

impl Document {
    /// Describes these operations as a face with this accent offers them.
    pub fn new<'a>(
        info: &Info,
        accent: &dyn Accent,
        declarations: impl IntoIterator<Item = &'a Declaration>,
    ) -> Self {
        let mut writer = Writer::new(accent);
        let mut paths = Map::new();
        let mut tags = Vec::new();
        for declaration in declarations {
            let tag = tag_of(&declaration.spec);
            if !tags.contains(&tag) {
                tags.push(tag);
            }
            let method = declaration.spec.method.as_str().to_ascii_lowercase();
            let operation = writer.operation(declaration);
            let path = paths.entry(declaration.spec.path).or_insert_with(|| json!({}));
            path[method] = operation;
        }
        let (components, conflicts) = writer.finish();
        let mut value = json!({
            "openapi": "3.1.0",
            "info": {
                "title": info.title,
                "version": info.version,
                "description": info.description,
            },
            "tags": tags.iter().map(|tag| json!({"name": tag})).collect::<Vec<_>>(),
            "paths": paths,
            "components": {"schemas": components},
        });
        prune(&mut value);
        Self { value, conflicts }
    }

    /// The document.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// Names that would stand for two shapes: the document is wrong about one of them.
    pub fn conflicts(&self) -> impl Iterator<Item = &str> {
        self.conflicts.iter().map(String::as_str)
    }
}

/// Writes operations and gathers the schemas they name.
struct Writer<'a> {
    accent: &'a dyn Accent,
    inputs: SchemaGenerator,
    outputs: SchemaGenerator,
    components: Map<String, Value>,
    conflicts: BTreeSet<String>,
    /// Schemas that are inputs themselves, not parts of one.
    input_names: BTreeSet<String>,
}

impl<'a> Writer<'a> {
    fn new(accent: &'a dyn Accent) -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.meta_schema = None;
                settings.definitions_path = COMPONENTS.into();
            })
        };
        Self {
            accent,
            inputs: settings().for_deserialize().into_generator(),
            outputs: settings().for_serialize().into_generator(),
            components: Map::new(),
            conflicts: BTreeSet::new(),
            input_names: BTreeSet::new(),
        }
    }

    fn finish(mut self) -> (Map<String, Value>, BTreeSet<String>) {
        for (name, mut schema) in self.inputs.take_definitions(true) {
            tidy_input(&mut schema);
            if self.input_names.contains(&name) {
                allow_null(&mut schema);
            }
            self.add(name, schema);
        }
        for (name, mut schema) in self.outputs.take_definitions(true) {
            tidy_output(&mut schema);
            self.add(name, schema);
        }
        for (name, schema) in self.accent.components() {
            self.add(name, schema);
        }
        (self.components, self.conflicts)
    }

    fn add(&mut self, name: String, schema: Value) {
        match self.components.get(&name) {
            Some(known) if *known != schema => {
                self.conflicts.insert(name);
            }
            _ => {
                self.components.insert(name, schema);
            }
        }
    }

    /// Adds a named schema and answers with the reference to it.
    fn refer(&mut self, (name, schema): (String, Value)) -> Value {
        let reference = json!({"$ref": format!("#{COMPONENTS}/{name}")});
        self.add(name, schema);
        reference
    }

    fn operation(&mut self, declaration: &Declaration) -> Value {
        let spec = &declaration.spec;
        let reference = (declaration.input)(&mut self.inputs).to_value();
        let mut input = inline(&reference, self.inputs.definitions());
        tidy_input(&mut input);
        allow_null(&mut input);
        self.input_names.extend(name_of(&reference).map(str::to_owned));
        let documentation = input["description"].as_str().unwrap_or_default().to_owned();
        let (summary, description) = split_documentation(&documentation);
        let mut operation = json!({
            "operationId": spec.id,
            "tags": [tag_of(spec)],
            "summary": summary,
            "description": description,
            "x-scope": spec.scope,
            "x-error-codes": spec.errors,
        });
        if let Some(sdk) = spec.sdk {
            operation["x-fern-sdk-group-name"] = json!(sdk.group);
            operation["x-fern-sdk-method-name"] = json!(sdk.method);
        }
        let (parameters, body) = split_input(declaration, &reference, &input);
        let takes_input = !parameters.is_empty() || body.is_some();
        if !parameters.is_empty() {
            operation["parameters"] = Value::Array(parameters);
        }
        if let Some(body) = body {
            operation["requestBody"] = body;
        }
        operation["responses"] = self.responses(declaration, takes_input);
        if let Some(message) = declaration.message {
            let up = message(&mut self.inputs).to_value();
            let down = (declaration.output)(&mut self.outputs).to_value();
            operation["x-websocket"] = json!({"up": up, "down": down});
        }
        operation
    }

    fn responses(&mut self, declaration: &Declaration, takes_input: bool) -> Value {
        let mut responses = Map::new();
        if declaration.spec.shape == Shape::Conversation {
            responses.insert(
                "101".to_owned(),
                json!({"description": "The WebSocket is open; `x-websocket` describes its messages."}),
            );
            let upgrade = self.accent.failure();
            let upgrade = self.refer(upgrade);
            responses.insert(
                "426".to_owned(),
                answer_of("The request did not ask for a WebSocket.", &upgrade),
            );
        } else if declaration.spec.shape == Shape::Window {
            responses.insert(
                "200".to_owned(),
                json!({"description": "What the server behind it answers, here and below."}),
            );
        } else if declaration.spec.shape == Shape::Download {
            let bytes = json!({"schema": {"type": "string", "format": "binary"}});
            let content: Map<String, Value> = declaration
                .media_types
                .iter()
                .map(|media_type| ((*media_type).to_owned(), bytes.clone()))
                .collect();
            responses
                .insert("200".to_owned(), json!({"description": "The bytes.", "content": content}));
            responses.insert(
                "206".to_owned(),
                json!({"description": "The part asked for with `Range`.", "content": content}),
            );
        } else {
            let data = (declaration.output)(&mut self.outputs).to_value();
            let data = Some(&data).filter(|data| !is_null(data));
            let definitions = self.outputs.definitions();
            let (name, mut answer) = self.accent.answer(&declaration.spec, data, definitions);
            tidy_output(&mut answer);
            let answer = self.refer((name, answer));
            let mut success = answer_of("The operation was carried out.", &answer);
            if declaration.spec.shape == Shape::Streaming {
                success["content"]["text/event-stream"] = json!({"schema": {"type": "string"}});
            }
            responses.insert("200".to_owned(), success);
        }
        if takes_input {
            let invalid = self.accent.invalid_input();
            let invalid = self.refer(invalid);
            responses.insert(
                "422".to_owned(),
                answer_of("The input does not fit its schema.", &invalid),
            );
        }
        let failure = self.accent.failure();
        let failure = self.refer(failure);
        responses.insert("default".to_owned(), answer_of("The operation failed.", &failure));
        Value::Object(responses)
    }
}

fn answer_of(description: &str, schema: &Value) -> Value {
    json!({"description": description, "content": {"application/json": {"schema": schema}}})
}

/// The area an operation belongs to.
fn tag_of(spec: &Spec) -> &'static str {
    let name = spec.sdk.map_or(spec.id, |sdk| sdk.group);
    name.split(['.', '_']).next().unwrap_or(name)
}

/// First sentence for lists; the whole for the page.
fn split_documentation(documentation: &str) -> (String, String) {
    let paragraph = documentation.split("\n\n").next().unwrap_or_default();
    let paragraph = paragraph.replace('\n', " ");
    let sentence = paragraph.split(". ").next().unwrap_or_default();
    let summary = sentence.trim_end_matches('.').to_owned();
    (summary, documentation.to_owned())
}

/// Path and query parameters, and the JSON body that carries the rest.
fn split_input(
    declaration: &Declaration,
    reference: &Value,
    input: &Value,
) -> (Vec<Value>, Option<Value>) {
    let spec = &declaration.spec;
    let in_query = matches!(spec.method, Method::Get | Method::Delete) && !spec.json_body;
    let empty = Map::new();
    let properties = input["properties"].as_object().unwrap_or(&empty);
    let required: BTreeSet<&str> =
        input["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let in_path = |name: &str| spec.path.contains(&format!("{{{name}}}"));
    let mut parameters = Vec::new();
    let mut rest = Map::new();
    for (name, property) in properties {
        if in_path(name) || in_query || spec.query.contains(&name.as_str()) {
            parameters.push(parameter(name, property, in_path(name), required.contains(&**name)));
        } else {
            rest.insert(name.clone(), property.clone());
        }
    }
    if in_query || (rest.is_empty() && spec.shape != Shape::Upload && !spec.json_body) {
        return (parameters, None);
    }
    let needed: Vec<_> = required.iter().filter(|name| rest.contains_key(**name)).collect();
    if spec.shape == Shape::Upload {
        return (parameters, Some(form(rest, &needed, declaration.file_required)));
    }
    let schema = if rest.len() == properties.len() && name_of(reference).is_some() {
        reference.clone()
    } else {
        let mut schema = json!({"type": "object", "properties": rest});
        if let Some(others) = input.get("additionalProperties") {
            schema["additionalProperties"] = others.clone();
        }
        if !needed.is_empty() {
            schema["required"] = json!(needed);
        }
        schema
    };
    let body = json!({
        "required": !needed.is_empty(),
        "content": {"application/json": {"schema": schema}},
    });
    (parameters, Some(body))
}

/// The body of an upload: a form whose file comes last, so that a server knows where it goes when it arrives.
fn form(mut fields: Map<String, Value>, needed: &[&&str], file_required: bool) -> Value {
    let kind = if file_required { json!("string") } else { json!(["string", "null"]) };
    let file = json!({"type": kind, "format": "binary", "description": "The file."});
    fields.insert("file".to_owned(), file);
    let mut schema = json!({"type": "object", "properties": fields});
    let needed = needed.iter().map(|name| **name).chain(file_required.then_some("file"));
    let needed: Vec<_> = needed.collect();
    let required = !needed.is_empty();
    if required {
        schema["required"] = json!(needed);
    }
    json!({"required": required, "content": {"multipart/form-data": {"schema": schema}}})
}

fn parameter(name: &str, property: &Value, in_path: bool, required: bool) -> Value {
    let mut schema = property.clone();
    let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
    let mut parameter = json!({
        "name": name,
        "in": if in_path { "path" } else { "query" },
        "required": in_path || required,
        "schema": schema,
    });
    if let Some(description) = description {
        parameter["description"] = description;
    }
    parameter
}

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::{Conversation, Download, Operation, Upload};

struct Plain;

impl Accent for Plain {
    fn answer(
        &self,
        _: &Spec,
        data: Option<&Value>,
        definitions: &Map<String, Value>,
    ) -> (String, Value) {
        let name = data.and_then(name_of).unwrap_or("Nothing");
        assert!(name == "Nothing" || definitions.contains_key(name));
        let schema =
            json!({"type": "object", "properties": {"data": data.unwrap_or(&Value::Null)}});
        (format!("{name}Answer"), if data.is_some() { schema } else { json!({"type": "object"}) })
    }

    fn invalid_input(&self) -> (String, Value) {
        let part = json!({"$ref": "#/components/schemas/Part"});
        ("Invalid".to_owned(), json!({"type": "array", "items": part}))
    }

    fn failure(&self) -> (String, Value) {
        ("Failure".to_owned(), json!({"type": "object"}))
    }

    fn components(&self) -> Map<String, Value> {
        let unused = ("Unused".to_owned(), json!({"type": "string"}));
        let part = ("Part".to_owned(), json!({"type": "string"}));
        [unused, part].into_iter().collect()
    }
}

/// How loud.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Volume {
    /// Quiet.
    Low,
    /// Loud.
    High,
}

/// Say something. Loudly if asked.
///
/// More about it.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Say {
    /// What to say.
    words: String,
    /// How often.
    #[serde(default = "once")]
    times: u64,
    #[serde(default)]
    volume: Option<Volume>,
}

fn once() -> u64 {
    1
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Said {
    words: String,
    heard_by: Option<u64>,
}

impl Operation for Say {
    type Output = Said;
    const SPEC: Spec = Spec::post("speech_say", "/v1/say", "speech:write")
        .sdk("speech.loud", "say")
        .errors(&["speech.hoarse"])
        .streaming();
}

/// Read what was said.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Recall {
    /// Which.
    id: String,
    #[serde(default)]
    limit: Option<u32>,
}

impl Operation for Recall {
    type Output = Said;
    const SPEC: Spec = Spec::get("speech_recall", "/v1/said/{id}", "speech:read");
}

/// Correct what was said.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Correct {
    id: String,
    #[serde(default)]
    words: Option<String>,
}

impl Operation for Correct {
    type Output = ();
    const SPEC: Spec = Spec::post("speech_correct", "/v1/said/{id}", "speech:write");
}

/// Forget everything.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Forget {}

impl Operation for Forget {
    type Output = ();
    const SPEC: Spec = Spec::delete("speech_forget", "/v1/said", "speech:write");
}

/// Talk.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Talk {
    #[serde(default)]
    topic: Option<String>,
}

impl Conversation for Talk {
    type Up = Said;
    type Down = Said;
    const SPEC: Spec = Spec::conversation("speech_talk", "/v1/talk", "speech:write");
}

fn build(declarations: &[Declaration]) -> Document {
    let info = Info {
        title: "Speech".to_owned(),
        version: "1".to_owned(),
        description: "Talks.".to_owned(),
    };
    Document::new(&info, &Plain, declarations)
}

fn all() -> Value {
    build(&[
        Declaration::of::<Say>(),
        Declaration::of::<Recall>(),
        Declaration::of::<Correct>(),
        Declaration::of::<Forget>(),
    ])
    .into_value()
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            found.extend(entries.get("$ref").map(|found| found.as_str().unwrap().to_owned()));
            entries.values().for_each(|entry| references(entry, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn the_document_parses_and_every_reference_leads_somewhere() {
    let document = all();
    let parsed: oas3::OpenApiV3Spec = oas3::from_json(document.to_string()).unwrap();
    assert_eq!(parsed.operations().count(), 4);
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(!found.is_empty());
    for reference in found {
        let name = reference.strip_prefix("#/components/schemas/").unwrap();
        assert!(schemas.contains_key(name), "{reference}");
    }
    assert!(!schemas.contains_key("Unused") && !schemas.contains_key("Recall"));
    assert!(schemas.contains_key("Part"));
}

#[test]
fn an_operation_carries_its_names_documentation_and_body() {
    let document = all();
    let say = &document["paths"]["/v1/say"]["post"];
    assert_eq!(say["operationId"], "speech_say");
    assert_eq!(say["tags"], json!(["speech"]));
    assert_eq!(say["summary"], "Say something");
    assert_eq!(say["description"], "Say something. Loudly if asked.\n\nMore about it.");
    assert_eq!(say["x-fern-sdk-group-name"], "speech.loud");
    assert_eq!(say["x-fern-sdk-method-name"], "say");
    assert_eq!(say["x-scope"], "speech:write");
    assert_eq!(say["x-error-codes"], json!(["speech.hoarse"]));
    let body = &say["requestBody"];
    assert_eq!(body["required"], true);
    let reference = &body["content"]["application/json"]["schema"]["$ref"];
    assert_eq!(reference, "#/components/schemas/Say");
    assert!(say["responses"]["200"]["content"]["text/event-stream"].is_object());
    assert!(say["responses"]["422"].is_object());
}

#[test]
fn schemas_show_defaults_plain_enums_and_no_foreign_formats() {
    let document = all();
    let say = &document["components"]["schemas"]["Say"];
    assert_eq!(say["properties"]["times"]["default"], 1);
    assert!(say["properties"]["times"].get("format").is_none());
    assert!(say["properties"]["volume"].get("default").is_none());
    assert_eq!(say["required"], json!(["words"]));
    let volume = &document["components"]["schemas"]["Volume"];
    assert_eq!(volume["enum"], json!(["low", "high"]));
    assert_eq!(volume["description"], "How loud.\n\n- `low`: Quiet.\n- `high`: Loud.");
    let said = &document["components"]["schemas"]["Said"];
    assert_eq!(said["required"], json!(["words", "heard_by"]), "every field is emitted");
}

#[test]
fn placeholders_and_get_fields_become_parameters() {
    let document = all();
    let recall = &document["paths"]["/v1/said/{id}"]["get"];
    let [id, limit] = &recall["parameters"].as_array().unwrap()[..] else {
        panic!("two parameters: {recall}");
    };
    assert_eq!((&id["in"], &id["required"]), (&json!("path"), &json!(true)));
    assert_eq!(id["description"], "Which.");
    assert_eq!((&limit["in"], &limit["required"]), (&json!("query"), &json!(false)));
    assert!(recall.get("requestBody").is_none());

    let correct = &document["paths"]["/v1/said/{id}"]["post"];
    assert_eq!(correct["parameters"].as_array().unwrap().len(), 1);
    assert_eq!(correct["requestBody"]["required"], false);
    let schema = &correct["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(schema["properties"].as_object().unwrap().len(), 1);

    let forget = &document["paths"]["/v1/said"]["delete"];
    assert!(forget.get("parameters").is_none() && forget.get("requestBody").is_none());
    assert!(forget["responses"].get("422").is_none());
}

#[test]
fn one_name_with_two_shapes_is_reported() {
    assert_eq!(build(&[Declaration::of::<Say>()]).conflicts().count(), 0);
    // `Said` as it is read may omit `heard_by`; as it is written it never does.
    let document = build(&[Declaration::of::<Say>(), Declaration::of_conversation::<Talk>()]);
    assert_eq!(document.conflicts().collect::<Vec<_>>(), ["Said"]);
}

#[test]
fn a_conversation_shows_its_messages() {
    let document = build(&[Declaration::of_conversation::<Talk>()]).into_value();
    let talk = &document["paths"]["/v1/talk"]["get"];
    assert_eq!(talk["x-websocket"]["up"]["$ref"], "#/components/schemas/Said");
    assert!(talk["responses"]["101"].is_object() && talk["responses"]["426"].is_object());
    assert_eq!(talk["parameters"][0]["name"], "topic");
}

/// Send a letter.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Send {
    /// Who it is for.
    #[serde(default)]
    to: Option<String>,
}

impl Upload for Send {
    type Output = Said;
    const SPEC: Spec = Spec::upload("post_send", "/v1/send", "post:write");
    const FILE_REQUIRED: bool = true;
}

/// Fetch a letter.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Collect {
    /// Which one.
    number: u64,
}

impl Download for Collect {
    const SPEC: Spec = Spec::download("post_collect", "/v1/letter", "post:read");
    const MEDIA_TYPES: &'static [&'static str] = &["text/plain", "image/png"];
}

#[test]
fn an_upload_takes_a_form_whose_file_comes_last() {
    let document = build(&[Declaration::of_upload::<Send>()]).into_value();
    let send = &document["paths"]["/v1/send"]["post"];
    let form = &send["requestBody"]["content"]["multipart/form-data"]["schema"];
    let fields: Vec<_> = form["properties"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["to", "file"]);
    assert_eq!(form["properties"]["file"]["format"], "binary");
    assert_eq!(form["required"], json!(["file"]));
    assert!(send["responses"]["200"]["content"]["application/json"].is_object());
}

#[test]
fn a_download_answers_with_bytes_whole_or_in_part() {
    let document = build(&[Declaration::of_download::<Collect>()]).into_value();
    let collect = &document["paths"]["/v1/letter"]["get"];
    assert_eq!(collect["parameters"][0]["name"], "number");
    for status in ["200", "206"] {
        let content = collect["responses"][status]["content"].as_object().unwrap();
        assert_eq!(content.keys().collect::<Vec<_>>(), ["text/plain", "image/png"]);
    }
}

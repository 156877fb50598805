//! What the official conformance suite expects a server to offer. Only there when the server is started for the suite.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Role, ServerCapabilities,
    Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use std::time::Duration;

use crate::notices::Notices;

mod asking;
mod rounds;

/// A picture of one red point.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
/// A sound of no length.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
/// How long the tools that take their time take.
const STEP: Duration = Duration::from_millis(50);

pub(crate) fn capabilities() -> ServerCapabilities {
    #[expect(deprecated, reason = "older revisions have logging, and the suite tests them")]
    ServerCapabilities::builder()
        .enable_tools()
        .enable_tool_list_changed()
        .enable_resources()
        .enable_resources_subscribe()
        .enable_resources_list_changed()
        .enable_prompts()
        .enable_logging()
        .enable_completions()
        .build()
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

pub(crate) fn tools() -> Vec<Tool> {
    let plain = || object(json!({"type": "object", "properties": {}}));
    let with = |name: &str| {
        object(
            json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}),
        )
    };
    let simple = [
        ("test_simple_text", "Returns a text"),
        ("test_image_content", "Returns a picture"),
        ("test_audio_content", "Returns a sound"),
        ("test_embedded_resource", "Returns a resource"),
        ("test_multiple_content_types", "Returns a text, a picture and a resource"),
        ("test_tool_with_logging", "Logs while it runs"),
        ("test_error_handling", "Fails"),
        ("test_tool_with_progress", "Tells how far it is"),
        ("test_reconnection", "Is interrupted"),
        ("test_elicitation_sep1034_defaults", "Asks for values with defaults"),
        ("test_elicitation_sep1330_enums", "Asks for choices"),
        ("test_logging_tool", "Logs while it runs, if logs are wanted"),
        ("test_trigger_tool_change", "Says that the list of tools has changed"),
    ];
    let simple = simple.iter().chain(rounds::TOOLS);
    let mut tools: Vec<_> = simple.map(|(name, about)| Tool::new(*name, *about, plain())).collect();
    tools.push(Tool::new("test_sampling", "Asks the client's model", with("prompt")));
    tools.push(Tool::new("test_elicitation", "Asks the user", with("message")));
    tools.push(Tool::new(
        "test_argument_in_header",
        "Has an argument that is sent as a header too",
        object(json!({
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
            "required": ["region"],
        })),
    ));
    tools.push(Tool::new(
        "json_schema_2020_12_tool",
        "Has a schema with 2020-12 features",
        object(json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
                },
            },
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": false,
        })),
    ));
    tools
}

/// Calls one of these tools; nothing when it is none of them.
pub(crate) async fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
    notices: &Notices,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let text = |text: &str| CallToolResult::success(vec![ContentBlock::text(text)]);
    let result = match request.name.as_ref() {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => {
            CallToolResult::success(vec![ContentBlock::image(PNG, "image/png")])
        }
        "test_audio_content" => {
            let sound = rmcp::model::AudioContent::new(WAV, "audio/wav");
            CallToolResult::success(vec![ContentBlock::Audio(sound)])
        }
        "test_embedded_resource" => {
            let said = "This is an embedded resource content.";
            let resource = ResourceContents::text(said, "test://embedded-resource");
            CallToolResult::success(vec![ContentBlock::resource(resource)])
        }
        "test_multiple_content_types" => {
            let data = json!({"test": "data", "value": 123}).to_string();
            let resource = ResourceContents::text(data, "test://mixed-content-resource")
                .with_mime_type("application/json");
            CallToolResult::success(vec![
                ContentBlock::text("Multiple content types test:"),
                ContentBlock::image(PNG, "image/png"),
                ContentBlock::resource(resource),
            ])
        }
        "test_error_handling" => {
            let said = "This tool intentionally returns an error for testing";
            CallToolResult::error(vec![ContentBlock::text(said)])
        }
        "test_reconnection" => {
            tokio::time::sleep(STEP).await;
            text("Reconnection test completed successfully")
        }
        "test_tool_with_logging" | "test_logging_tool" => {
            asking::log(context).await;
            text("Tool with logging executed successfully")
        }
        "test_trigger_tool_change" => {
            notices.tools_changed();
            text("The list of tools has changed")
        }
        "test_tool_with_progress" => {
            asking::progress(context).await;
            text("Tool with progress executed successfully")
        }
        "test_sampling" => return Some(asking::sample(request, context).await),
        "test_elicitation" => return Some(asking::elicit_contact(request, context).await),
        "test_elicitation_sep1034_defaults" => return Some(asking::elicit_defaults(context).await),
        "test_elicitation_sep1330_enums" => return Some(asking::elicit_enums(context).await),
        "json_schema_2020_12_tool" | "test_argument_in_header" => text("called"),
        _ => return rounds::call(request, context),
    };
    Some(Ok(result.into()))
}

pub(crate) fn resources() -> Vec<Resource> {
    vec![
        Resource::new("test://static-text", "Static Text")
            .with_description("A text")
            .with_mime_type("text/plain"),
        Resource::new("test://static-binary", "Static Binary")
            .with_description("A picture")
            .with_mime_type("image/png"),
        Resource::new("test://watched-resource", "Watched")
            .with_description("A resource that can be subscribed to")
            .with_mime_type("text/plain"),
    ]
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("test://template/{id}/data", "Template")
            .with_description("Data by id")
            .with_mime_type("application/json"),
    ]
}

pub(crate) fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let contents = match (uri, id) {
        ("test://static-text", _) => {
            ResourceContents::text("This is the content of the static text resource.", uri)
        }
        ("test://static-binary", _) => ResourceContents::blob(PNG, uri).with_mime_type("image/png"),
        ("test://watched-resource", _) => ResourceContents::text("Watched resource content", uri),
        (_, Some(id)) => {
            let data =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            ResourceContents::text(data.to_string(), uri).with_mime_type("application/json")
        }
        _ => {
            let data = json!({ "uri": uri });
            return Err(ErrorData::resource_not_found(format!("no resource {uri}"), Some(data)));
        }
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

pub(crate) fn prompts() -> Vec<Prompt> {
    let argument =
        |name: &str| PromptArgument::new(name).with_description("An argument").with_required(true);
    vec![
        Prompt::new("test_simple_prompt", Some("A prompt without arguments"), None),
        Prompt::new(
            "test_prompt_with_arguments",
            Some("A prompt with arguments"),
            Some(vec![argument("arg1"), argument("arg2")]),
        ),
        Prompt::new(
            "test_prompt_with_embedded_resource",
            Some("A prompt with a resource"),
            Some(vec![argument("resourceUri")]),
        ),
        Prompt::new("test_prompt_with_image", Some("A prompt with a picture"), None),
        Prompt::new(rounds::PROMPT, Some("A prompt that lacks something"), None),
    ]
}

pub(crate) fn prompt(request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    if request.name == rounds::PROMPT {
        return rounds::prompt(request);
    }
    let argument = |name: &str| {
        let given = request.arguments.as_ref().and_then(|list| list.get(name));
        match given.and_then(Value::as_str) {
            Some(value) => Ok(value.to_owned()),
            None => Err(ErrorData::invalid_params(format!("argument {name} is missing"), None)),
        }
    };
    let say = |content: ContentBlock| PromptMessage::new(Role::User, content);
    let messages = match request.name.as_str() {
        "test_simple_prompt" => {
            vec![say(ContentBlock::text("This is a simple prompt for testing."))]
        }
        "test_prompt_with_arguments" => {
            let (one, two) = (argument("arg1")?, argument("arg2")?);
            let said = format!("Prompt with arguments: arg1='{one}', arg2='{two}'");
            vec![say(ContentBlock::text(said))]
        }
        "test_prompt_with_embedded_resource" => {
            let said = "Embedded resource content for testing.";
            let resource = ResourceContents::text(said, argument("resourceUri")?);
            vec![
                say(ContentBlock::resource(resource)),
                say(ContentBlock::text("Please process the embedded resource above.")),
            ]
        }
        "test_prompt_with_image" => vec![
            say(ContentBlock::image(PNG, "image/png")),
            say(ContentBlock::text("Please analyze the image above.")),
        ],
        name => return Err(ErrorData::invalid_params(format!("no prompt {name}"), None)),
    };
    Ok(GetPromptResult::new(messages).into())
}

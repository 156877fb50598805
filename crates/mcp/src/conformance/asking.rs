//! Tools of the conformance suite that talk to the client while they run.
#![expect(
    deprecated,
    reason = "older revisions have logging and sampling, and the suite tests them"
)]

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientResult, ContentBlock,
    CreateMessageRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion, SamplingMessage,
    ServerRequest,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use super::STEP;

type Outcome = Result<CallToolResponse, ErrorData>;

#[expect(clippy::unnecessary_wraps, reason = "it is the end of functions that can fail")]
fn said(text: String) -> Outcome {
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
}

#[expect(clippy::unnecessary_wraps, reason = "it is the end of functions that can fail")]
fn failed(text: String) -> Outcome {
    Ok(CallToolResult::error(vec![ContentBlock::text(text)]).into())
}

/// Logs, as far as the client wants to hear of it: where there are no sessions, each call says so itself.
pub(super) async fn log(context: &RequestContext<RoleServer>) {
    let sessionless =
        context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    if sessionless && context.meta.log_level().is_none() {
        return;
    }
    let lines = ["Tool execution started", "Tool processing data", "Tool execution completed"];
    for (position, line) in lines.into_iter().enumerate() {
        if position > 0 {
            tokio::time::sleep(STEP).await;
        }
        let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(line));
        // A client that has left hears nothing.
        drop(context.peer.notify_logging_message(message).await);
    }
}

pub(super) async fn progress(context: &RequestContext<RoleServer>) {
    for (position, done) in [0.0, 50.0, 100.0].into_iter().enumerate() {
        if position > 0 {
            tokio::time::sleep(STEP).await;
        }
        if let Some(token) = context.meta.get_progress_token() {
            let notice = ProgressNotificationParam::new(token, done).with_total(100.0);
            drop(context.peer.notify_progress(notice).await);
        }
    }
}

pub(super) async fn sample(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Outcome {
    let prompt = text(request, "prompt");
    let message = SamplingMessage::user_text(prompt);
    let asked = CreateMessageRequestParams::new(vec![message], 100);
    match context.peer.create_message(asked).await {
        Ok(result) => {
            let answer = serde_json::to_value(&result).unwrap_or_default();
            let answer = answer["content"]["text"].as_str().unwrap_or_default().to_owned();
            said(format!("LLM response: {answer}"))
        }
        Err(error) => failed(format!("the client could not be asked: {error}")),
    }
}

pub(super) async fn elicit_contact(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Outcome {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    });
    elicit(context, &text(request, "message"), schema, "User response: ").await
}

pub(super) async fn elicit_defaults(context: &RequestContext<RoleServer>) -> Outcome {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "User name", "default": "John Doe"},
            "age": {"type": "integer", "description": "User age", "default": 30},
            "score": {"type": "number", "description": "User score", "default": 95.5},
            "status": {
                "type": "string",
                "description": "User status",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": {"type": "boolean", "description": "Verified", "default": true},
        },
        "required": [],
    });
    elicit(context, "Please review the defaults", schema, "Elicitation completed: ").await
}

pub(super) async fn elicit_enums(context: &RequestContext<RoleServer>) -> Outcome {
    let titled = |word: &str| {
        json!([
            {"const": "value1", "title": format!("First {word}")},
            {"const": "value2", "title": format!("Second {word}")},
            {"const": "value3", "title": format!("Third {word}")},
        ])
    };
    let plain = json!(["option1", "option2", "option3"]);
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "description": "One", "enum": plain},
            "titledSingle": {"type": "string", "description": "One", "oneOf": titled("Option")},
            "legacyEnum": {
                "type": "string",
                "description": "One",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "description": "Some",
                "minItems": 1,
                "maxItems": 3,
                "items": {"type": "string", "enum": plain},
            },
            "titledMulti": {
                "type": "array",
                "description": "Some",
                "minItems": 1,
                "maxItems": 3,
                "items": {"anyOf": titled("Choice")},
            },
        },
        "required": [],
    });
    elicit(context, "Please choose", schema, "Elicitation completed: ").await
}

async fn elicit(
    context: &RequestContext<RoleServer>,
    message: &str,
    schema: Value,
    head: &str,
) -> Outcome {
    let asked: Result<ElicitRequestParams, _> = serde_json::from_value(
        json!({"mode": "form", "message": message, "requestedSchema": schema}),
    );
    let asked = asked.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(asked));
    match context.peer.send_request(request).await {
        Ok(ClientResult::ElicitResult(result)) => said(format!("{head}{}", worded(&result))),
        Ok(_) => failed("the client answered something else".to_owned()),
        Err(error) => failed(format!("the user could not be asked: {error}")),
    }
}

fn worded(result: &ElicitResult) -> String {
    let value = serde_json::to_value(result).unwrap_or_default();
    let action = value["action"].as_str().unwrap_or_default();
    format!("action={action}, content={}", value["content"])
}

fn text(request: &CallToolRequestParams, name: &str) -> String {
    let given = request.arguments.as_ref().and_then(|list| list.get(name));
    given.and_then(Value::as_str).unwrap_or_default().to_owned()
}

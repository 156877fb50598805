//! Tools of the conformance suite that lack something only the client has. In the revision without sessions a server
//! cannot ask for it on its own: the call ends with what is missing, and is made again with the answers.
#![expect(deprecated, reason = "sampling is on its way out, and the suite tests it")]

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequests, InputRequiredResult,
    InputResponses, PromptMessage, Role,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

/// The tools, and what each is for.
pub(super) const TOOLS: &[(&str, &str)] = &[
    ("test_input_required_result_elicitation", "Lacks the user's name"),
    ("test_input_required_result_sampling", "Lacks what the client's model says"),
    ("test_input_required_result_list_roots", "Lacks the client's roots"),
    ("test_input_required_result_request_state", "Is told what it said before"),
    ("test_input_required_result_multiple_inputs", "Lacks three things at once"),
    ("test_input_required_result_multi_round", "Lacks one thing after another"),
    ("test_input_required_result_tampered_state", "Refuses what it never said"),
    ("test_input_required_result_capabilities", "Asks only for what the client has"),
    ("test_streaming_elicitation", "Lacks the user's name"),
    ("test_missing_capability", "Needs a client with a model"),
];

/// The prompt that lacks something.
pub(super) const PROMPT: &str = "test_input_required_result_prompt";

/// What a client is told to send back, by the round it belongs to. A state that is none of these was not made here.
const FIRST: &str = "round-1";
const SECOND: &str = "round-2";

/// Calls one of these tools; nothing when it is none of them.
pub(super) fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let answers = Answers(request.input_responses.as_ref());
    let state = request.request_state.as_deref();
    Some(match request.name.as_ref() {
        "test_input_required_result_elicitation" | "test_streaming_elicitation" => {
            let asked = json!({"user_name": question("What is your name?", "name", "string")});
            answers.or_ask(asked, None, |answers| {
                format!("Hello, {}!", answers.text("user_name", "/content/name"))
            })
        }
        "test_input_required_result_sampling" => {
            let asked = json!({"capital_question": sampling("What is the capital of France?")});
            answers.or_ask(asked, None, |answers| answers.text("capital_question", "/content/text"))
        }
        "test_input_required_result_list_roots" => {
            let asked = json!({"client_roots": roots()});
            answers.or_ask(asked, None, |answers| {
                format!("The roots are {}", answers.text("client_roots", "/roots"))
            })
        }
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => known(state, &[FIRST]).and_then(|()| {
            let asked = json!({"confirm": question("Please confirm", "ok", "boolean")});
            answers.or_ask(asked, Some(FIRST), |_| "state-ok".to_owned())
        }),
        "test_input_required_result_multiple_inputs" => known(state, &[FIRST]).and_then(|()| {
            let asked = json!({
                "user_name": question("What is your name?", "name", "string"),
                "greeting": sampling("Generate a greeting"),
                "client_roots": roots(),
            });
            answers.or_ask(asked, Some(FIRST), |_| "All three were given.".to_owned())
        }),
        "test_input_required_result_multi_round" => {
            known(state, &[FIRST, SECOND]).and_then(|()| multi_round(&answers, state))
        }
        "test_input_required_result_capabilities" => capable(&answers, context),
        "test_missing_capability" => {
            let capabilities = context.client_capabilities().unwrap_or_default();
            if capabilities.sampling.is_some() {
                Ok(said("The client has a model."))
            } else {
                let needed = ClientCapabilities::builder().enable_sampling().build();
                Err(ErrorData::missing_required_client_capability(needed))
            }
        }
        _ => return None,
    })
}

/// Gets the prompt that lacks something.
pub(super) fn prompt(request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let answers = Answers(request.input_responses.as_ref());
    let question = question("What context should the prompt use?", "context", "string");
    let asked = json!({"user_context": question});
    if !answers.cover(&asked) {
        return ask(asked, None).map(GetPromptResponse::from);
    }
    let context = answers.text("user_context", "/content/context");
    let text = ContentBlock::text(format!("Use this context: {context}"));
    Ok(GetPromptResult::new(vec![PromptMessage::new(Role::User, text)]).into())
}

fn multi_round(answers: &Answers<'_>, state: Option<&str>) -> Result<CallToolResponse, ErrorData> {
    let first = json!({"step1": question("Step 1: What is your name?", "name", "string")});
    let second =
        json!({"step2": question("Step 2: What is your favorite color?", "color", "string")});
    match state {
        Some(SECOND) => answers.or_ask(second, Some(SECOND), |_| "Both were given.".to_owned()),
        Some(_) if answers.cover(&first) => ask(second, Some(SECOND)).map(Into::into),
        _ => ask(first, Some(FIRST)).map(Into::into),
    }
}

fn capable(
    answers: &Answers<'_>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let capabilities = context.client_capabilities().unwrap_or_default();
    let mut asked = serde_json::Map::new();
    if capabilities.sampling.is_some() {
        asked.insert("model".to_owned(), sampling("Say hello"));
    }
    if capabilities.elicitation.is_some() {
        asked.insert("user".to_owned(), question("What is your name?", "name", "string"));
    }
    answers.or_ask(Value::Object(asked), None, |_| "Nothing is lacking.".to_owned())
}

/// What the client sent for what it was asked.
struct Answers<'a>(Option<&'a InputResponses>);

impl Answers<'_> {
    /// Whether everything asked for is there. What is no object is no answer; what nobody asked for does not matter.
    fn cover(&self, asked: &Value) -> bool {
        let mut keys = asked.as_object().into_iter().flat_map(serde_json::Map::keys);
        let given = |key: &String| self.0.and_then(|given| given.get(key));
        keys.all(|key| given(key).is_some_and(Value::is_object))
    }

    /// A part of an answer, as text.
    fn text(&self, key: &str, pointer: &str) -> String {
        let answer = self.0.and_then(|given| given.get(key)?.pointer(pointer));
        answer.map_or_else(String::new, |part| match part {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }

    /// The tool's result once everything is there; until then it is asked for.
    fn or_ask(
        &self,
        asked: Value,
        state: Option<&str>,
        result: impl FnOnce(&Self) -> String,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.cover(&asked) { Ok(said(result(self))) } else { ask(asked, state).map(Into::into) }
    }
}

fn said(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn ask(requests: Value, state: Option<&str>) -> Result<InputRequiredResult, ErrorData> {
    let requests: InputRequests = serde_json::from_value(requests)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(InputRequiredResult::new(Some(requests), state.map(str::to_owned)))
}

/// Refuses a state that was not made here.
fn known(state: Option<&str>, made: &[&str]) -> Result<(), ErrorData> {
    if state.is_none_or(|state| made.contains(&state)) {
        Ok(())
    } else {
        Err(ErrorData::invalid_params("requestState is not one this server has sent", None))
    }
}

fn question(message: &str, field: &str, kind: &str) -> Value {
    let schema =
        json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]});
    let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
    json!({"method": "elicitation/create", "params": params})
}

fn sampling(prompt: &str) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

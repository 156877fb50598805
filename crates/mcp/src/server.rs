//! What a client is answered, message by message. One of these serves one session, or one request without a session.
#![expect(deprecated, reason = "older revisions have log levels and subscriptions")]

use std::sync::{Arc, OnceLock};

use atoll_operation::{Context, Error};
use http::request::Parts;
use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, Implementation, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{
    NotificationContext, RequestContext, SubscriptionContext, SubscriptionSendError,
};
use serde_json::{Map, Value, json};

use crate::calls::{Calls, Operations, Progress};
use crate::catalogue::Selection;
use crate::{Mcp, conformance, reply, resources, skills};

/// What a model is told about this server as a whole.
const INSTRUCTIONS: &str = "A Linux sandbox of your own: run commands and code, edit files, use a browser. What you do \
    stays until the sandbox ends. Prefer one command with a longer timeout to polling.";

/// Header by which clients name their session.
const SESSION: &str = "mcp-session-id";

/// Serves a client.
pub(crate) struct Server {
    mcp: Mcp,
    /// The shell made for the client's session; it ends with it.
    shell: OnceLock<Shell>,
}

/// A shell that belongs to a session of MCP.
struct Shell {
    id: String,
    operations: Arc<Operations>,
}

impl Drop for Shell {
    fn drop(&mut self) {
        let close = self.operations.get("shell_close_session").cloned();
        let input = json!({"session_id": self.id});
        if let (Some(close), Ok(runtime)) = (close, tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                // There may be none: few sessions use one.
                drop(close.call(Context::new("mcp"), input).await);
            });
        }
    }
}

impl Server {
    pub(crate) fn new(mcp: Mcp) -> Self {
        Self { mcp, shell: OnceLock::new() }
    }

    /// What a call may use.
    fn calls(&self, context: &RequestContext<RoleServer>) -> Calls {
        let operations = self.mcp.catalogue().operations();
        let parts = context.extensions.get::<Parts>();
        let cx = parts.and_then(|parts| parts.extensions.get::<Context>()).cloned();
        let session = parts.and_then(|parts| parts.headers.get(SESSION)?.to_str().ok());
        let session = session.map(|session| {
            let id = format!("mcp-{}", session.chars().take(18).collect::<String>());
            let shell = || Shell { id, operations: Arc::clone(operations) };
            self.shell.get_or_init(shell).id.clone()
        });
        let progress = context.meta.get_progress_token();
        let progress = progress.map(|token| Progress::new(context.peer.clone(), token));
        let cx = cx.unwrap_or_else(|| Context::new("mcp"));
        Calls::new(operations, cx, session, progress)
    }

    fn selection(context: &RequestContext<RoleServer>) -> Result<Selection, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let query = parts.and_then(|parts| parts.uri.query());
        Selection::of_query(query).map_err(|problem| ErrorData::invalid_params(problem, None))
    }

    async fn call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let shared = self.mcp.shared();
        let calls = self.calls(context);
        if let Some(tool) = self.mcp.catalogue().get(name) {
            let outcome = tokio::select! {
                outcome = tool.call(calls, arguments) => outcome,
                () = context.ct.cancelled() => Err(cancelled()),
            };
            return Ok(match outcome {
                Ok(reply) => reply.into_result(),
                Err(error) => reply::failure(&error),
            });
        }
        if let Some((member, tool)) = shared.hub.find(name).await {
            if !calls.permits("mcp:write") {
                return Ok(reply::failure(&Calls::refusal("mcp:write")));
            }
            let called = Box::pin(async {
                tokio::select! {
                    called = member.call(&tool, arguments, calls.progress()) => called,
                    () = context.ct.cancelled() => Err(cancelled()),
                }
            });
            let called = calls.of_member(member.name(), &tool, called).await;
            return Ok(called.unwrap_or_else(|error| reply::failure(&error)));
        }
        let similar = self.mcp.catalogue().similar(name);
        let advice = if similar.is_empty() {
            "tools/list names those there are".to_owned()
        } else {
            format!("did you mean {}?", similar.join(", "))
        };
        Err(ErrorData::invalid_params(format!("there is no tool {name:?}; {advice}"), None))
    }
}

fn cancelled() -> Error {
    Error::new(atoll_operation::Kind::Cancelled, "mcp.cancelled", "the call was cancelled")
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let shared = self.mcp.shared();
        let mut about = Implementation::new("atoll", shared.version);
        about.title = Some("Atoll sandbox".to_owned());
        let capabilities = if shared.conformance {
            conformance::capabilities()
        } else {
            ServerCapabilities::builder()
                .enable_tools()
                .enable_tool_list_changed()
                .enable_resources()
                .enable_resources_list_changed()
                .enable_prompts()
                .enable_prompts_list_changed()
                .build()
        };
        InitializeResult::new(capabilities).with_server_info(about).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if self.mcp.shared().conformance {
            return Ok(ListToolsResult::with_all_items(conformance::tools()));
        }
        let selection = Self::selection(&context)?;
        let hub = &self.mcp.shared().hub;
        let own = self.mcp.catalogue().iter().filter(|tool| {
            let hidden = hub.is_hidden(tool.server);
            let shown = selection.lists_foreign(tool.server, &tool.definition.name, hidden);
            shown && selection.lists(tool)
        });
        let mut tools: Vec<Tool> = own.map(|tool| tool.definition.clone()).collect();
        tools.extend(hub.tools(&selection).await);
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.mcp.shared().conformance
            && let Some(outcome) =
                conformance::call(&request, &context, &self.mcp.shared().notices).await
        {
            return outcome;
        }
        let arguments = request.arguments.unwrap_or_default();
        Ok(self.call(&request.name, arguments, &context).await?.into())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        if self.mcp.shared().conformance {
            return conformance::tools().into_iter().find(|tool| tool.name == name);
        }
        self.mcp.catalogue().get(name).map(|tool| tool.definition.clone())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        if self.mcp.shared().conformance {
            return Ok(ListResourcesResult::with_all_items(conformance::resources()));
        }
        let calls = self.calls(&context);
        let mut list = skills::resources(&calls).await;
        list.extend(resources::list(&calls, &self.mcp.shared().workspace).await);
        Ok(ListResourcesResult::with_all_items(list))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = if self.mcp.shared().conformance {
            conformance::templates()
        } else {
            resources::templates()
        };
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if self.mcp.shared().conformance {
            return conformance::read(&request.uri).map(Into::into);
        }
        let calls = self.calls(&context);
        let read = if skills::is_address(&request.uri) {
            skills::read(&calls, &request.uri).await
        } else {
            resources::read(&calls, &request.uri).await
        };
        read.map(Into::into)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = if self.mcp.shared().conformance {
            conformance::prompts()
        } else {
            skills::prompts(&self.calls(&context)).await
        };
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if self.mcp.shared().conformance {
            return conformance::prompt(&request);
        }
        skills::prompt(&self.calls(&context), &request.name).await.map(Into::into)
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(CompleteResult::default())
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Nothing is logged to clients, so any level will do.
        Ok(())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // Nothing else is ever told.
        let told = SubscriptionFilter::builder()
            .tools_list_changed()
            .prompts_list_changed()
            .resources_list_changed()
            .build();
        Some(told.intersection(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.mcp.shared().notices.watch();
        let mut known = *changes.borrow_and_update();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = changes.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    let (before, now) = (known, *changes.borrow_and_update());
                    known = now;
                    let sink = context.sink();
                    let mut told = Vec::new();
                    if now.tools != before.tools {
                        told.push(sink.notify_tool_list_changed().await);
                    }
                    if now.skills != before.skills {
                        told.push(sink.notify_prompt_list_changed().await);
                        told.push(sink.notify_resource_list_changed().await);
                    }
                    let gone = |told: &Result<(), SubscriptionSendError>| {
                        matches!(told, Err(error) if !matches!(
                            error,
                            SubscriptionSendError::NotificationNotAccepted(_)
                        ))
                    };
                    if told.iter().any(gone) {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.mcp.shared().notices.join(context.peer);
    }
}

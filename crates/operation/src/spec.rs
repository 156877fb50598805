//! How an operation is addressed and described: plain data, built in `const` position.

use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::handle::{Conversation, Operation};

/// HTTP method of an operation's REST route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// `GET`
    Get,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `PATCH`
    Patch,
    /// `DELETE`
    Delete,
}

impl Method {
    /// Upper-case name, as on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }
}

/// Whether and how an operation is offered as an MCP tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mcp {
    /// Not a tool.
    Hidden,
    /// A tool that changes nothing.
    ReadOnly,
    /// A tool that changes something.
    Mutating,
    /// A tool that may destroy something.
    Destructive,
}

/// The name generated SDKs give the call: `client.<group>.<method>()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SdkName {
    /// Sub-client, `shell`.
    pub group: &'static str,
    /// Method, `exec_command`.
    pub method: &'static str,
}

/// How an operation exchanges data with its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One input, one output.
    Unary,
    /// One input, one output; or a stream of events for a caller that asks for it.
    Streaming,
    /// Messages both ways over a WebSocket.
    Conversation,
}

/// An operation's identity. The id is the OpenAPI operationId, the MCP tool name, the CLI verb and the metric label.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// `<area>_<verb>`, unique.
    pub id: &'static str,
    /// Method of the REST route.
    pub method: Method,
    /// Path of the REST route, with `{name}` for path parameters.
    pub path: &'static str,
    /// Permission a caller needs, `<area>:<read|write>`.
    pub scope: &'static str,
    /// Name in generated SDKs, where a public SDK has one.
    pub sdk: Option<SdkName>,
    /// Offered as an MCP tool?
    pub mcp: Mcp,
    /// Error codes a caller may meet beyond the general ones.
    pub errors: &'static [&'static str],
    /// How data is exchanged.
    pub shape: Shape,
}

impl Spec {
    const fn new(
        id: &'static str,
        method: Method,
        path: &'static str,
        scope: &'static str,
    ) -> Self {
        Self {
            id,
            method,
            path,
            scope,
            sdk: None,
            mcp: Mcp::Hidden,
            errors: &[],
            shape: Shape::Unary,
        }
    }

    /// A `GET` operation.
    pub const fn get(id: &'static str, path: &'static str, scope: &'static str) -> Self {
        Self::new(id, Method::Get, path, scope)
    }

    /// A `POST` operation.
    pub const fn post(id: &'static str, path: &'static str, scope: &'static str) -> Self {
        Self::new(id, Method::Post, path, scope)
    }

    /// A `DELETE` operation.
    pub const fn delete(id: &'static str, path: &'static str, scope: &'static str) -> Self {
        Self::new(id, Method::Delete, path, scope)
    }

    /// A WebSocket.
    pub const fn conversation(id: &'static str, path: &'static str, scope: &'static str) -> Self {
        let mut spec = Self::new(id, Method::Get, path, scope);
        spec.shape = Shape::Conversation;
        spec
    }

    /// Gives the call its name in generated SDKs.
    #[must_use]
    pub const fn sdk(mut self, group: &'static str, method: &'static str) -> Self {
        self.sdk = Some(SdkName { group, method });
        self
    }

    /// Offers the operation as an MCP tool.
    #[must_use]
    pub const fn mcp(mut self, mcp: Mcp) -> Self {
        self.mcp = mcp;
        self
    }

    /// Lists the error codes a caller may meet.
    #[must_use]
    pub const fn errors(mut self, errors: &'static [&'static str]) -> Self {
        self.errors = errors;
        self
    }

    /// Says that a caller may ask for a stream of events instead of one answer.
    #[must_use]
    pub const fn streaming(mut self) -> Self {
        self.shape = Shape::Streaming;
        self
    }
}

type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// A declared operation with the schemas of what goes in and comes out: what documents and list-wide tests read.
#[derive(Debug, Clone, Copy)]
pub struct Declaration {
    /// Identity.
    pub spec: Spec,
    /// Schema of the input.
    pub input: SchemaOf,
    /// Schema of the output; for a conversation, of a message to the caller.
    pub output: SchemaOf,
    /// Schema of a message from the caller; only for conversations.
    pub message: Option<SchemaOf>,
}

impl Declaration {
    /// The declaration of an operation.
    pub const fn of<O: Operation>() -> Self {
        Self { spec: O::SPEC, input: schema_of::<O>, output: schema_of::<O::Output>, message: None }
    }

    /// The declaration of a conversation.
    pub const fn of_conversation<C: Conversation>() -> Self {
        Self {
            spec: C::SPEC,
            input: schema_of::<C>,
            output: schema_of::<C::Down>,
            message: Some(schema_of::<C::Up>),
        }
    }
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

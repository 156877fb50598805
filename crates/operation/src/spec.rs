//! How an operation is addressed and described: plain data, built in `const` position.

use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::handle::{Conversation, Operation};
use crate::transfer::{Download, Upload};
use crate::window::Window;

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
    /// One input with a file of any size, one output.
    Upload,
    /// One input, bytes of any size.
    Download,
    /// Every request below a path, passed on to another server.
    Window,
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
    /// Fields that documents show in the query although the rest is in the body.
    pub query: &'static [&'static str],
    /// Whether its JSON body may be as large as the content of a file.
    pub large_body: bool,
    /// Whether documents show its fields in a JSON body although its method usually has none.
    pub json_body: bool,
    /// Whether the last part of its path, in braces, takes all that follows, slashes included.
    pub remainder: bool,
    /// Whether it only looks at how things are, so that observers of calls are not told of it.
    pub quiet: bool,
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
            query: &[],
            large_body: false,
            json_body: false,
            remainder: false,
            quiet: false,
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

    /// A `PUT` operation.
    pub const fn put(id: &'static str, path: &'static str, scope: &'static str) -> Self {
        Self::new(id, Method::Put, path, scope)
    }

    /// A `PATCH` operation.
    pub const fn patch(id: &'static str, path: &'static str, scope: &'static str) -> Self {
        Self::new(id, Method::Patch, path, scope)
    }

    /// A `DELETE` operation.
    pub const fn delete(id: &'static str, path: &'static str, scope: &'static str) -> Self {
        Self::new(id, Method::Delete, path, scope)
    }

    /// A `POST` operation that receives a file.
    pub const fn upload(id: &'static str, path: &'static str, scope: &'static str) -> Self {
        let mut spec = Self::new(id, Method::Post, path, scope);
        spec.shape = Shape::Upload;
        spec
    }

    /// A `GET` operation that sends bytes.
    pub const fn download(id: &'static str, path: &'static str, scope: &'static str) -> Self {
        let mut spec = Self::new(id, Method::Get, path, scope);
        spec.shape = Shape::Download;
        spec
    }

    /// A path below which another server answers.
    pub const fn window(id: &'static str, path: &'static str, scope: &'static str) -> Self {
        let mut spec = Self::new(id, Method::Get, path, scope);
        spec.shape = Shape::Window;
        spec
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

    /// Shows these fields in the query.
    #[must_use]
    pub const fn query(mut self, fields: &'static [&'static str]) -> Self {
        self.query = fields;
        self
    }

    /// Lets its JSON body be as large as the content of a file.
    #[must_use]
    pub const fn large_body(mut self) -> Self {
        self.large_body = true;
        self
    }

    /// Shows the fields of a `DELETE` in a JSON body; the query is read all the same.
    #[must_use]
    pub const fn json_body(mut self) -> Self {
        self.json_body = true;
        self
    }

    /// Says that it only looks at how things are: observers of calls are not told of it.
    #[must_use]
    pub const fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Lets the last part of its path take all that follows, slashes included.
    #[must_use]
    pub const fn remainder(mut self) -> Self {
        self.remainder = true;
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
    /// Media types of the bytes sent; only for downloads.
    pub media_types: &'static [&'static str],
    /// Whether a call without a file is refused; only for uploads.
    pub file_required: bool,
}

impl Declaration {
    /// The declaration of an operation.
    pub const fn of<O: Operation>() -> Self {
        Self::new(O::SPEC, schema_of::<O>, schema_of::<O::Output>)
    }

    /// The declaration of an upload.
    pub const fn of_upload<U: Upload>() -> Self {
        let mut declaration = Self::new(U::SPEC, schema_of::<U>, schema_of::<U::Output>);
        declaration.file_required = U::FILE_REQUIRED;
        declaration
    }

    /// The declaration of a download.
    pub const fn of_download<D: Download>() -> Self {
        let mut declaration = Self::new(D::SPEC, schema_of::<D>, schema_of::<()>);
        declaration.media_types = D::MEDIA_TYPES;
        declaration
    }

    /// The declaration of a window.
    pub const fn of_window<W: Window>() -> Self {
        Self::new(W::SPEC, schema_of::<W>, schema_of::<()>)
    }

    /// The declaration of a conversation.
    pub const fn of_conversation<C: Conversation>() -> Self {
        let mut declaration = Self::new(C::SPEC, schema_of::<C>, schema_of::<C::Down>);
        declaration.message = Some(schema_of::<C::Up>);
        declaration
    }

    const fn new(spec: Spec, input: SchemaOf, output: SchemaOf) -> Self {
        Self { spec, input, output, message: None, media_types: &[], file_required: false }
    }
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

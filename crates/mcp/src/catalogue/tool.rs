//! One tool: what it is called, what it takes, and how it is carried out.

use std::fmt;
use std::sync::Arc;

use atoll_operation::{Error, FieldError, InputShape, Mcp as Mark};
use futures::future::BoxFuture;
use rmcp::model::{Tool as Definition, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::schema;
use crate::calls::Calls;
use crate::reply::Reply;

/// Groups of tools that are listed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sets(u8);

impl Sets {
    /// Callable, listed to nobody.
    pub(crate) const NONE: Self = Self(0);
    /// Listed to everybody.
    pub(crate) const DEFAULT: Self = Self(1);
    /// What clients of AIO Sandbox know.
    pub(crate) const AIO: Self = Self(2);
    /// What clients of deep-agent's sandbox know.
    pub(crate) const AGENT: Self = Self(4);
    /// The operations by their own names.
    pub(crate) const NATIVE: Self = Self(8);
    /// Everything but names that are only there to be called.
    pub(crate) const ALL: Self = Self(15);

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

type Run = Arc<
    dyn Fn(Calls, Map<String, Value>) -> BoxFuture<'static, Result<Reply, Error>> + Send + Sync,
>;

/// A tool.
#[derive(Clone)]
pub(crate) struct Tool {
    pub(crate) definition: Definition,
    /// The server it is said to belong to.
    pub(crate) server: &'static str,
    pub(crate) sets: Sets,
    /// Other names by which arguments are known.
    aliases: &'static [(&'static str, &'static str)],
    shape: Arc<InputShape>,
    run: Run,
}

impl Tool {
    /// A tool whose arguments are a type; its documentation is what the model reads.
    pub(super) fn new<A, F, R>(
        (name, server): (&'static str, &'static str),
        sets: Sets,
        mark: Mark,
        run: F,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(Calls, A) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Reply, Error>> + Send + 'static,
    {
        let (schema, description) = schema::input_of::<A>();
        let run = move |calls: Calls, arguments: Map<String, Value>| {
            let read: Result<A, _> = serde_json::from_value(Value::Object(arguments));
            let started = read.map(|arguments| run(calls, arguments));
            let running = async move {
                match started {
                    Ok(running) => running.await,
                    Err(error) => Err(Error::invalid_input(vec![FieldError {
                        path: Vec::new(),
                        message: error.to_string(),
                        rule: "type",
                    }])),
                }
            };
            Box::pin(running) as BoxFuture<'static, _>
        };
        Self::raw((name.to_owned(), server), sets, mark, schema, description, Arc::new(run))
    }

    /// A tool put together from its parts.
    pub(super) fn raw(
        (name, server): (String, &'static str),
        sets: Sets,
        mark: Mark,
        schema: Map<String, Value>,
        description: String,
        run: Run,
    ) -> Self {
        let shape = Arc::new(InputShape::of_schema(&Value::Object(schema.clone())));
        let definition =
            Definition::new(name, description, schema).with_annotations(annotations(mark));
        Self { definition, server, sets, aliases: &[], shape, run }
    }

    /// Says what its structured result looks like.
    pub(super) fn returning<T: JsonSchema>(mut self) -> Self {
        self.definition.output_schema = Some(schema::output_of::<T>());
        self
    }

    /// Takes arguments by other names too. The first name given counts.
    pub(super) fn also_taking(mut self, aliases: &'static [(&'static str, &'static str)]) -> Self {
        self.aliases = aliases;
        self
    }

    /// The same tool by another name, only to be called.
    pub(super) fn alias(&self, name: &'static str) -> Self {
        let mut alias = self.clone();
        alias.definition.name = name.into();
        alias.sets = Sets::NONE;
        alias
    }

    /// Checks the arguments and carries it out.
    pub(crate) async fn call(
        &self,
        calls: Calls,
        arguments: Map<String, Value>,
    ) -> Result<Reply, Error> {
        let mut arguments = arguments;
        for (alias, field) in self.aliases {
            let given = arguments.get(*field).is_some_and(|value| !value.is_null());
            if !given && let Some(value) = arguments.remove(*alias) {
                arguments.insert((*field).to_owned(), value);
            }
        }
        match self.shape.check(Value::Object(arguments))? {
            Value::Object(arguments) => (self.run)(calls, arguments).await,
            _ => Ok(Reply::default()),
        }
    }
}

fn annotations(mark: Mark) -> ToolAnnotations {
    let plain = ToolAnnotations::new();
    match mark {
        Mark::ReadOnly => plain.read_only(true),
        Mark::Mutating | Mark::Hidden => plain.read_only(false).destructive(false),
        Mark::Destructive => plain.read_only(false).destructive(true),
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.definition.name)
            .field("server", &self.server)
            .field("sets", &self.sets)
            .finish_non_exhaustive()
    }
}

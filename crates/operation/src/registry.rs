//! Where declarations meet implementations. Faces walk it; nothing else connects them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::error::{Error, FieldError};
use crate::handle::{Conversation, Converse, Handle, Operation, Stream, Streaming};
use crate::input::InputShape;
use crate::spec::{Declaration, Spec};

type Call = Box<dyn Fn(Context, Value) -> BoxFuture<'static, Result<Value, Error>> + Send + Sync>;
type CallStream =
    Box<dyn Fn(Context, Value) -> BoxFuture<'static, Result<Stream, Error>> + Send + Sync>;
type CallConverse = Box<
    dyn Fn(
            Context,
            Value,
            BoxStream<'static, String>,
        ) -> BoxFuture<'static, Result<BoxStream<'static, String>, Error>>
        + Send
        + Sync,
>;

/// Every operation this program carries out.
#[derive(Debug, Default)]
pub struct Registry {
    operations: Vec<Bound>,
    positions: HashMap<&'static str, usize>,
}

/// A declared operation with its implementation, types erased.
pub struct Bound {
    declaration: Declaration,
    shape: InputShape,
    call: Option<Call>,
    stream: Option<CallStream>,
    converse: Option<CallConverse>,
}

impl Registry {
    /// Binds an operation to the service that carries it out.
    ///
    /// # Panics
    /// When the id is bound already: a mistake in wiring, found at start.
    pub fn bind<O: Operation, H: Handle<O>>(&mut self, service: &Arc<H>) -> &mut Self {
        let service = Arc::clone(service);
        let bound = self.insert(Declaration::of::<O>());
        bound.call = Some(Box::new(move |cx, input| {
            let service = Arc::clone(&service);
            Box::pin(async move {
                let input = read::<O>(input)?;
                let output = service.handle(&cx, input).await?;
                serde_json::to_value(output)
                    .map_err(|error| Error::internal("the result could not be written", error))
            })
        }));
        self
    }

    /// Binds the streaming form of an operation that is bound already.
    ///
    /// # Panics
    /// When the operation is not bound.
    pub fn bind_stream<O: Operation, H: Streaming<O>>(&mut self, service: &Arc<H>) -> &mut Self {
        let service = Arc::clone(service);
        let position = self.positions.get(O::SPEC.id).copied();
        let bound = position.and_then(|position| self.operations.get_mut(position));
        #[expect(clippy::expect_used, reason = "wiring mistake, found at start")]
        let bound = bound.expect("bind the operation before its stream");
        bound.stream = Some(Box::new(move |cx, input| {
            let service = Arc::clone(&service);
            Box::pin(async move { service.stream(&cx, read::<O>(input)?).await })
        }));
        self
    }

    /// Binds a conversation to the service that holds it.
    ///
    /// # Panics
    /// When the id is bound already.
    pub fn bind_conversation<C: Conversation, H: Converse<C>>(
        &mut self,
        service: &Arc<H>,
    ) -> &mut Self {
        let service = Arc::clone(service);
        let bound = self.insert(Declaration::of_conversation::<C>());
        bound.converse = Some(Box::new(move |cx, input, up| {
            let service = Arc::clone(&service);
            Box::pin(async move {
                let input = read::<C>(input)?;
                let up = up.map(|text| {
                    serde_json::from_str::<C::Up>(&text).map_err(|error| error.to_string())
                });
                let down = service.converse(&cx, input, up.boxed()).await?;
                // A message that cannot be written would be a bug in its type; it is left out, not fatal.
                Ok(down.filter_map(async |message| serde_json::to_string(&message).ok()).boxed())
            })
        }));
        self
    }

    fn insert(&mut self, declaration: Declaration) -> &mut Bound {
        let position = self.operations.len();
        let taken = self.positions.insert(declaration.spec.id, position);
        assert!(taken.is_none(), "operation {} is bound twice", declaration.spec.id);
        self.operations.push(Bound {
            shape: InputShape::of(&declaration),
            declaration,
            call: None,
            stream: None,
            converse: None,
        });
        &mut self.operations[position]
    }

    /// The operations in the order they were bound.
    pub fn iter(&self) -> impl Iterator<Item = &Bound> {
        self.operations.iter()
    }

    /// Takes the registry apart, for a face that keeps each operation beside its route.
    pub fn into_operations(self) -> Vec<Bound> {
        self.operations
    }

    /// The operation with this id.
    pub fn get(&self, id: &str) -> Option<&Bound> {
        self.positions.get(id).and_then(|position| self.operations.get(*position))
    }
}

impl Bound {
    /// The operation's identity.
    pub fn spec(&self) -> &Spec {
        &self.declaration.spec
    }

    /// The operation's declaration.
    pub fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    /// What its input must look like.
    pub fn input_shape(&self) -> &InputShape {
        &self.shape
    }

    /// Whether it can answer with a stream.
    pub fn streams(&self) -> bool {
        self.stream.is_some()
    }

    /// Checks the input and carries the operation out.
    pub async fn call(&self, cx: Context, input: Value) -> Result<Value, Error> {
        let input = self.shape.check(input)?;
        let call = self.call.as_ref().ok_or_else(|| self.wrong_shape())?;
        call(cx, input).await
    }

    /// Checks the input and starts the operation's stream.
    pub async fn stream(&self, cx: Context, input: Value) -> Result<Stream, Error> {
        let input = self.shape.check(input)?;
        let stream = self.stream.as_ref().ok_or_else(|| self.wrong_shape())?;
        stream(cx, input).await
    }

    /// Checks the input and opens the conversation; messages are JSON text both ways.
    pub async fn converse(
        &self,
        cx: Context,
        input: Value,
        up: BoxStream<'static, String>,
    ) -> Result<BoxStream<'static, String>, Error> {
        let input = self.shape.check(input)?;
        let converse = self.converse.as_ref().ok_or_else(|| self.wrong_shape())?;
        converse(cx, input, up).await
    }

    fn wrong_shape(&self) -> Error {
        Error::new(
            crate::Kind::Unsupported,
            "operation.shape",
            format!("{} cannot be called in this form", self.declaration.spec.id),
        )
    }
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound").field("spec", &self.declaration.spec).finish_non_exhaustive()
    }
}

/// Reads a typed input; a mistake names the field.
fn read<T: DeserializeOwned>(input: Value) -> Result<T, Error> {
    serde_path_to_error::deserialize(input).map_err(|error| {
        let path =
            error.path().iter().map(ToString::to_string).filter(|segment| segment != ".").collect();
        Error::invalid_input(vec![FieldError {
            path,
            message: error.into_inner().to_string(),
            rule: "type",
        }])
    })
}

//! Where declarations meet implementations. Faces walk it; nothing else connects them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::error::{Error, FieldError};
use crate::handle::{Conversation, Converse, Handle, Operation, Stream, Streaming};
use crate::input::InputShape;
use crate::observe::{Observed, Observer, Observers};
use crate::spec::{Declaration, Spec};
use crate::transfer::{Content, Download, Fetch, Incoming, Late, Receive, Upload};
use crate::window::{Open, Upstream, Window};

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

type CallReceive = Box<
    dyn Fn(
            Context,
            Option<Value>,
            BoxFuture<'static, Result<Value, Error>>,
            Option<Incoming>,
        ) -> BoxFuture<'static, Result<Value, Error>>
        + Send
        + Sync,
>;
type CallFetch =
    Box<dyn Fn(Context, Value) -> BoxFuture<'static, Result<Content, Error>> + Send + Sync>;
type CallOpen =
    Box<dyn Fn(Context, Value) -> BoxFuture<'static, Result<Upstream, Error>> + Send + Sync>;

/// Every operation this program carries out.
#[derive(Debug, Default)]
pub struct Registry {
    operations: Vec<Arc<Bound>>,
    positions: HashMap<&'static str, usize>,
    observers: Observers,
}

/// A declared operation with its implementation, types erased.
pub struct Bound {
    declaration: Declaration,
    shape: Arc<InputShape>,
    observers: Observers,
    call: Option<Call>,
    stream: Option<CallStream>,
    converse: Option<CallConverse>,
    receive: Option<CallReceive>,
    fetch: Option<CallFetch>,
    open: Option<CallOpen>,
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
                write(service.handle(&cx, input).await?)
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
        let bound = bound
            .and_then(Arc::get_mut)
            .expect("bind an operation, then its stream, then share it");
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

    /// Binds an upload to the service that takes it.
    ///
    /// # Panics
    /// When the id is bound already.
    pub fn bind_upload<U: Upload, H: Receive<U>>(&mut self, service: &Arc<H>) -> &mut Self {
        let service = Arc::clone(service);
        let bound = self.insert(Declaration::of_upload::<U>());
        bound.receive = Some(Box::new(move |cx, early, all, file| {
            let service = Arc::clone(&service);
            Box::pin(async move {
                let early = early.map(read::<U>).transpose()?;
                let all = Box::pin(async move { read::<U>(all.await?) });
                write(service.receive(&cx, Late::new(early, all), file).await?)
            })
        }));
        self
    }

    /// Binds a download to the service that opens it.
    ///
    /// # Panics
    /// When the id is bound already.
    pub fn bind_download<D: Download, H: Fetch<D>>(&mut self, service: &Arc<H>) -> &mut Self {
        let service = Arc::clone(service);
        let bound = self.insert(Declaration::of_download::<D>());
        bound.fetch = Some(Box::new(move |cx, input| {
            let service = Arc::clone(&service);
            Box::pin(async move { service.fetch(&cx, read::<D>(input)?).await })
        }));
        self
    }

    /// Binds a window to the service that knows the server behind it.
    ///
    /// # Panics
    /// When the id is bound already.
    pub fn bind_window<W: Window, H: Open<W>>(&mut self, service: &Arc<H>) -> &mut Self {
        let service = Arc::clone(service);
        let bound = self.insert(Declaration::of_window::<W>());
        bound.open = Some(Box::new(move |cx, input| {
            let service = Arc::clone(&service);
            Box::pin(async move { service.open(&cx, read::<W>(input)?).await })
        }));
        self
    }

    /// Adds an operation that nothing carries out, for those who only look at what follows from declarations.
    ///
    /// # Panics
    /// When the id is bound already.
    pub fn declare(&mut self, declaration: &Declaration) -> &mut Self {
        self.insert(*declaration);
        self
    }

    /// Has somebody told of every call from now on. The first one stays.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.observers.set(observer);
    }

    fn insert(&mut self, declaration: Declaration) -> &mut Bound {
        let position = self.operations.len();
        let taken = self.positions.insert(declaration.spec.id, position);
        assert!(taken.is_none(), "operation {} is bound twice", declaration.spec.id);
        self.operations.push(Arc::new(Bound {
            shape: Arc::new(InputShape::of(&declaration)),
            observers: self.observers.clone(),
            declaration,
            call: None,
            stream: None,
            converse: None,
            receive: None,
            fetch: None,
            open: None,
        }));
        #[expect(clippy::expect_used, reason = "made in the line above")]
        Arc::get_mut(&mut self.operations[position]).expect("nobody shares it yet")
    }

    /// The operations in the order they were bound.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Bound>> {
        self.operations.iter()
    }

    /// Takes the registry apart, for a face that keeps each operation beside its route.
    pub fn into_operations(self) -> Vec<Arc<Bound>> {
        self.operations
    }

    /// The operation with this id.
    pub fn get(&self, id: &str) -> Option<&Bound> {
        self.positions.get(id).and_then(|position| self.operations.get(*position)).map(Arc::as_ref)
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
        let observed = self.begin(&cx, &input);
        observed.end_with(call(cx, input).await)
    }

    /// Has somebody told of work that is another way to the same: of a call of this operation with this input.
    pub async fn observed<T>(
        &self,
        cx: &Context,
        input: &Value,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let observed = self.begin(cx, input);
        observed.end_with(work.await)
    }

    /// Checks the input and starts the operation's stream.
    pub async fn stream(&self, cx: Context, input: Value) -> Result<Stream, Error> {
        let input = self.shape.check(input)?;
        let stream = self.stream.as_ref().ok_or_else(|| self.wrong_shape())?;
        let observed = self.begin(&cx, &input);
        let (events, mut observed) = observed.lasts(stream(cx, input).await)?;
        Ok(events.inspect(move |event| observed.pass(event)).boxed())
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
        let observed = self.begin(&cx, &input);
        let (down, observed) = observed.lasts(converse(cx, input, up).await)?;
        let held = move |_: &String| {
            let _until_its_end = &observed;
        };
        Ok(down.inspect(held).boxed())
    }

    /// Takes an upload: the input as far as it came before the file, the whole of it once the file has been taken, and
    /// the file. An early part that is wrong is refused at once; one that only lacks fields waits for them.
    pub async fn receive(
        &self,
        cx: Context,
        early: Value,
        all: BoxFuture<'static, Result<Value, Error>>,
        file: Option<Incoming>,
    ) -> Result<Value, Error> {
        let receive = self.receive.as_ref().ok_or_else(|| self.wrong_shape())?;
        let early = match self.shape.check(early) {
            Ok(early) => Some(early),
            Err(error) if error.fields().iter().all(|field| field.rule == "missing") => None,
            Err(error) => return Err(error),
        };
        if file.is_none() && self.declaration.file_required {
            return Err(Error::field("file", "missing", "is required: send it as a form's part"));
        }
        let shape = Arc::clone(&self.shape);
        let all = Box::pin(async move { shape.check(all.await?) });
        let observed = self.begin(&cx, early.as_ref().unwrap_or(&Value::Null));
        observed.end_with(receive(cx, early, all, file).await)
    }

    /// Checks the input and opens what shall be sent.
    pub async fn fetch(&self, cx: Context, input: Value) -> Result<Content, Error> {
        let input = self.shape.check(input)?;
        let fetch = self.fetch.as_ref().ok_or_else(|| self.wrong_shape())?;
        let observed = self.begin(&cx, &input);
        observed.end_with(fetch(cx, input).await)
    }

    /// Checks the input and says where the server behind a window is.
    pub async fn open(&self, cx: Context, input: Value) -> Result<Upstream, Error> {
        let input = self.shape.check(input)?;
        let open = self.open.as_ref().ok_or_else(|| self.wrong_shape())?;
        open(cx, input).await
    }

    fn begin(&self, cx: &Context, input: &Value) -> Observed {
        self.observers.begin(&self.declaration.spec, cx, input)
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

/// Writes a typed output.
fn write<T: Serialize>(output: T) -> Result<Value, Error> {
    serde_json::to_value(output)
        .map_err(|error| Error::internal("the result could not be written", error))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ByteStream, Kind};
    use futures::FutureExt;
    use futures::stream;
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Keep {
        place: String,
        #[serde(default)]
        copies: u64,
    }

    impl Upload for Keep {
        type Output = String;
        const SPEC: Spec = Spec::upload("shelf_keep", "/v1/keep", "shelf:write");
        const FILE_REQUIRED: bool = true;
    }

    struct Shelf;

    impl Receive<Keep> for Shelf {
        async fn receive(
            &self,
            _: &Context,
            input: Late<Keep>,
            file: Option<Incoming>,
        ) -> Result<String, Error> {
            let early = input.early().is_some();
            let mut bytes = 0;
            let mut stream = file.map(|file| file.bytes).into_iter().collect::<Vec<_>>();
            while let Some(Ok(part)) = stream[0].next().await {
                bytes += part.len();
            }
            let input = input.all().await?;
            Ok(format!("{bytes} bytes in {}, early: {early}", input.place))
        }
    }

    fn keep(early: Value, all: Value, file: Option<Incoming>) -> Result<Value, Error> {
        let mut registry = Registry::default();
        registry.bind_upload::<Keep, _>(&Arc::new(Shelf));
        let bound = registry.get("shelf_keep").unwrap();
        let all = Box::pin(async move { Ok(all) });
        bound
            .receive(Context::new("r"), early, all, file)
            .now_or_never()
            .expect("nothing here waits")
    }

    fn file() -> Incoming {
        let bytes: ByteStream = stream::iter([Ok("abc".into()), Ok("de".into())]).boxed();
        Incoming::new(None, bytes)
    }

    #[test]
    fn an_upload_knows_its_input_before_the_file_or_after_it() {
        let whole = json!({"place": "here"});
        let kept = keep(whole.clone(), whole.clone(), Some(file())).unwrap();
        assert_eq!(kept, "5 bytes in here, early: true");
        let kept = keep(json!({}), whole, Some(file())).unwrap();
        assert_eq!(kept, "5 bytes in here, early: false");
    }

    #[test]
    fn a_wrong_field_refuses_an_upload_before_its_file_is_taken() {
        let wrong = json!({"copies": "many"});
        let error = keep(wrong, json!({"place": "here"}), Some(file())).unwrap_err();
        assert_eq!(error.kind(), Kind::InvalidInput);
        assert!(error.message().contains("copies"), "{error}");
    }

    #[test]
    fn what_an_upload_lacks_is_named() {
        let error = keep(json!({}), json!({}), Some(file())).unwrap_err();
        assert!(error.message().contains("place"), "{error}");
        let whole = json!({"place": "here"});
        let error = keep(whole.clone(), whole, None).unwrap_err();
        assert!(error.message().contains("file"), "{error}");
    }
}

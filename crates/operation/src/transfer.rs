//! Files of any size, in and out: what an upload and a download are, and what a service must do to carry them out.
//!
//! Nothing here reads or writes: bytes pass as streams or as an open file, and the face that holds the connection moves
//! them. Ranges, validators and conditional requests are the face's business too; a service only says what there is.

use std::fmt;
use std::fs::File;
use std::future::Future;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::error::Error;
use crate::spec::Spec;

/// Bytes as they come; an error means that they broke off.
pub type ByteStream = BoxStream<'static, io::Result<Bytes>>;

/// Takes a file. The implementing type is the input that goes with it.
pub trait Upload: DeserializeOwned + Serialize + JsonSchema + Send + 'static {
    /// The answer.
    type Output: DeserializeOwned + Serialize + JsonSchema + Send + 'static;
    /// How it is addressed.
    const SPEC: Spec;
    /// Whether a call without a file is refused.
    const FILE_REQUIRED: bool;
}

/// Carries out an upload.
pub trait Receive<U: Upload>: Send + Sync + 'static {
    /// Takes the file, if one was sent. Bytes that end with an error must leave nothing behind; so must dropping the
    /// future, which means that the caller went away.
    fn receive(
        &self,
        cx: &Context,
        input: Late<U>,
        file: Option<Incoming>,
    ) -> impl Future<Output = Result<U::Output, Error>> + Send;
}

/// A file that is being sent.
pub struct Incoming {
    /// The name its sender gives it, which may be anything: a path, `..`, empty.
    pub filename: Option<String>,
    /// Its bytes.
    pub bytes: ByteStream,
    /// A faster way for all of them, where there is one.
    pub direct: Option<Direct>,
}

/// Has all bytes of a file that is being sent put into another one, from where that stands, and counts them. They may
/// be taken like this or as they come, not both.
pub type Direct = Box<dyn FnOnce(File) -> BoxFuture<'static, io::Result<u64>> + Send>;

impl Incoming {
    /// A file whose bytes can only be taken as they come.
    pub fn new(filename: Option<String>, bytes: ByteStream) -> Self {
        Self { filename, bytes, direct: None }
    }
}

/// An input whose fields may come before the file or after it.
pub struct Late<U> {
    early: Option<U>,
    all: BoxFuture<'static, Result<U, Error>>,
}

impl<U> Late<U> {
    /// Made by the registry: what is known before the file, and what will be known after it.
    pub(crate) fn new(early: Option<U>, all: BoxFuture<'static, Result<U, Error>>) -> Self {
        Self { early, all }
    }

    /// The input as far as it came before the file; `None` when that is not a whole input.
    pub fn early(&self) -> Option<&U> {
        self.early.as_ref()
    }

    /// The whole input. It is complete once the file's bytes have been taken, and would wait for ever before that.
    pub async fn all(self) -> Result<U, Error> {
        self.all.await
    }
}

/// Sends bytes. The implementing type is the input.
pub trait Download: DeserializeOwned + Serialize + JsonSchema + Send + 'static {
    /// How it is addressed.
    const SPEC: Spec;
    /// Media types the bytes may have.
    const MEDIA_TYPES: &'static [&'static str];
}

/// Carries out a download.
pub trait Fetch<D: Download>: Send + Sync + 'static {
    /// Opens what shall be sent.
    fn fetch(&self, cx: &Context, input: D) -> impl Future<Output = Result<Content, Error>> + Send;
}

/// Something to send.
#[derive(Debug)]
pub struct Content {
    /// Its media type.
    pub media_type: String,
    /// The name to save it under.
    pub filename: Option<String>,
    /// Whether a browser shall show it rather than save it.
    pub inline: bool,
    /// What tells this version of it from another: an opaque text, and when it last changed.
    pub version: Option<Version>,
    /// Further headers of the answer.
    pub headers: Vec<(&'static str, String)>,
    /// The bytes.
    pub source: Source,
}

/// A version of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Equal only for the same bytes; printable ASCII without quotes.
    pub tag: String,
    /// Seconds since 1970.
    pub modified: Option<i64>,
}

/// Where bytes to send come from.
pub enum Source {
    /// A regular file from its beginning; any part of it can be sent.
    File(FileSource),
    /// Bytes at hand; any part of them can be sent.
    Bytes(Bytes),
    /// Bytes made as they go.
    Stream(ByteStream),
}

/// A file to send.
#[derive(Clone)]
pub struct FileSource {
    /// The open file.
    pub file: Arc<File>,
    /// Its length when it was opened: what is sent, whatever it grows to.
    pub length: u64,
    /// Asked before each part is sent and after the last: an error breaks the transfer off.
    pub check: Option<Arc<dyn Fn() -> io::Result<()> + Send + Sync>>,
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming").field("filename", &self.filename).finish_non_exhaustive()
    }
}

impl<U: fmt::Debug> fmt::Debug for Late<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Late").field("early", &self.early).finish_non_exhaustive()
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => f.debug_tuple("File").field(file).finish(),
            Self::Bytes(bytes) => f.debug_tuple("Bytes").field(&bytes.len()).finish(),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

impl fmt::Debug for FileSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileSource").field("length", &self.length).finish_non_exhaustive()
    }
}

//! A fake service that takes and gives files, with ways to fail in each.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use atoll_operation::{
    Content, Context, Download, Error, Fetch, FileSource, Incoming, Kind, Late, Receive, Registry,
    Source, Spec, Upload, Version,
};
use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Take a file.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Take {
    /// Where to; `refused` is refused at once, `midway` after the first bytes, `unread` taken without reading.
    #[serde(default)]
    pub(crate) path: Option<String>,
    /// A number.
    #[serde(default)]
    pub(crate) times: Option<u64>,
}

/// What was taken.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Taken {
    /// The input when the file began.
    pub(crate) early: Option<String>,
    /// The input at the end.
    pub(crate) path: Option<String>,
    pub(crate) times: Option<u64>,
    pub(crate) filename: Option<String>,
    /// Absent when no file was sent.
    pub(crate) bytes: Option<u64>,
    /// Tells contents apart.
    pub(crate) sum: u64,
}

impl Upload for Take {
    type Output = Taken;
    const SPEC: Spec = Spec::upload("file_take", "/v1/take", "test:write");
    const FILE_REQUIRED: bool = true;
}

/// Take a file, or none.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TakeOrNot {
    /// Its name.
    pub(crate) name: String,
}

impl Upload for TakeOrNot {
    type Output = Taken;
    const SPEC: Spec = Spec::upload("file_take_or_not", "/v1/maybe/{name}", "test:write");
    const FILE_REQUIRED: bool = false;
}

/// Give something.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Give {
    /// `file`, `checked`, `bytes`, `stream`, `broken` or `panic`.
    pub(crate) what: String,
    /// The file, or what to call the bytes.
    pub(crate) path: String,
    /// How many questions `checked` answers well.
    #[serde(default)]
    pub(crate) checks: u64,
}

impl Download for Give {
    const SPEC: Spec = Spec::download("test_give", "/v1/give", "test:read");
    const MEDIA_TYPES: &'static [&'static str] = &["application/octet-stream"];
}

/// The fake service. Its counters let a test wait for what it cannot see from outside.
#[derive(Debug, Default)]
pub(crate) struct Store {
    /// Uploads begun.
    pub(crate) begun: AtomicUsize,
    /// Uploads that did not come to a good end.
    pub(crate) undone: AtomicUsize,
    given: Mutex<Vec<Weak<File>>>,
}

impl Store {
    /// Whether every file given is closed again.
    pub(crate) fn all_closed(&self) -> bool {
        self.given.lock().unwrap().iter().all(|file| file.upgrade().is_none())
    }
}

/// Tells contents apart, also those with the same bytes in another order.
pub(crate) fn sum(bytes: &[u8], before: u64) -> u64 {
    bytes.iter().fold(before, |sum, byte| {
        sum.wrapping_mul(0x100_0000_01b3).wrapping_add(u64::from(*byte) + 1)
    })
}

struct Undone<'a>(&'a Store, bool);

impl Drop for Undone<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.undone.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Receive<Take> for Store {
    async fn receive(
        &self,
        _: &Context,
        input: Late<Take>,
        file: Option<Incoming>,
    ) -> Result<Taken, Error> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let mut undone = Undone(self, false);
        let refusal = || Error::new(Kind::Conflict, "test.refused", "as asked");
        let early = input.early().and_then(|early| early.path.clone());
        let mut file = file.expect("it is required");
        if early.as_deref() == Some("refused") {
            return Err(refusal());
        }
        let (mut bytes, mut total) = (0, 0);
        if early.as_deref() != Some("unread") {
            while let Some(piece) = file.bytes.next().await {
                // What a service says of bytes that broke off is not what the caller is told.
                let piece = piece.map_err(|error| Error::internal("it broke off", error))?;
                bytes += piece.len() as u64;
                total = sum(&piece, total);
                if early.as_deref() == Some("midway") {
                    return Err(refusal());
                }
            }
        }
        drop(file.bytes);
        let input = input.all().await?;
        undone.1 = true;
        let filename = file.filename;
        let Take { path, times } = input;
        Ok(Taken { early, path, times, filename, bytes: Some(bytes), sum: total })
    }
}

impl Receive<TakeOrNot> for Store {
    async fn receive(
        &self,
        _: &Context,
        input: Late<TakeOrNot>,
        file: Option<Incoming>,
    ) -> Result<Taken, Error> {
        let early = input.early().map(|early| early.name.clone());
        let (mut bytes, mut total, mut filename) = (None, 0, None);
        if let Some(mut file) = file {
            let mut count = 0;
            while let Some(piece) = file.bytes.next().await {
                let piece = piece.map_err(|error| Error::internal("it broke off", error))?;
                count += piece.len() as u64;
                total = sum(&piece, total);
            }
            (bytes, filename) = (Some(count), file.filename);
        }
        let name = input.all().await?.name;
        Ok(Taken { early, path: Some(name), times: None, filename, bytes, sum: total })
    }
}

impl Fetch<Give> for Store {
    async fn fetch(&self, _: &Context, input: Give) -> Result<Content, Error> {
        let path = Path::new(&input.path);
        let pieces = || (0..100_u8).map(|number| Ok(Bytes::from(vec![number; 1000])));
        let source = match input.what.as_str() {
            "file" | "checked" => {
                let file = File::open(path).map_err(|_| {
                    Error::new(Kind::NotFound, "test.missing", "there is no such file")
                })?;
                let file = Arc::new(file);
                self.given.lock().unwrap().push(Arc::downgrade(&file));
                let length = file.metadata().unwrap().len();
                let check = (input.what == "checked").then(|| checks(input.checks));
                Source::File(FileSource { file, length, check })
            }
            "bytes" => Source::Bytes(Bytes::from((0..100).collect::<Vec<u8>>())),
            "stream" => Source::Stream(stream::iter(pieces()).boxed()),
            "broken" => {
                let end = stream::iter([Err(io::Error::other("as asked"))]);
                Source::Stream(stream::iter(pieces()).chain(end).boxed())
            }
            _ => {
                let end = stream::poll_fn(|_| panic!("as asked"));
                Source::Stream(stream::iter(pieces()).chain(end).boxed())
            }
        };
        Ok(Content {
            media_type: "text/x-test".to_owned(),
            filename: path.file_name().map(|name| name.to_string_lossy().into_owned()),
            inline: input.what == "bytes",
            version: Some(Version { tag: "v-1".to_owned(), modified: Some(784_111_777) }),
            headers: vec![("X-Made-By", "a test".to_owned())],
            source,
        })
    }
}

/// Answers so many questions well.
fn checks(mut left: u64) -> Arc<dyn Fn() -> io::Result<()> + Send + Sync> {
    let left = Mutex::new(std::mem::take(&mut left));
    Arc::new(move || {
        let mut left = left.lock().unwrap();
        *left = left.checked_sub(1).ok_or_else(|| io::Error::other("it changed"))?;
        Ok(())
    })
}

pub(crate) fn bind(registry: &mut Registry, store: &Arc<Store>) {
    registry
        .bind_upload::<Take, _>(store)
        .bind_upload::<TakeOrNot, _>(store)
        .bind_download::<Give, _>(store);
}

//! Receives a file while it arrives: as a part of a form, or as the bare body.
//!
//! The face reads and the service writes, both at once in one task, a piece apart. What breaks the reading off (too
//! much, too slow, cut short) is the face's to tell: the service only sees that the bytes end with an error and undoes
//! what it did, and its own account of that is not the answer. Nothing is read before the service asks for it, so that
//! a client which waits for permission to send learns of a refusal first. The file's bytes end well only when all that
//! follows them in the form has been read and is sound. A large bare body is left to the kernel where the service
//! wants it in a file.

use std::fs::File;
use std::future::ready;
use std::io;
use std::pin::pin;
use std::sync::Arc;

use atoll_operation::{Bound, ByteStream, Context, Direct, Error, Incoming, Kind};
use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap};
use axum::http::request::Parts;
use bytes::Bytes;
use futures::FutureExt;
use futures::stream::{self, StreamExt};
use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};

use super::boundary::Boundary;
use super::disposition::{parameter, parameters};
use super::form::{FORM_BYTES, Form, Part, broken};
use super::siphon::Tap;
use crate::arrival::Arrival;
use crate::dialect::{Failure, Reading};
use crate::request::{BodyLimit, Fields};

type Chunk = io::Result<Bytes>;

/// Hands an upload to the operation it is for, whose own error is the inner one.
pub(crate) async fn receive(
    bound: &Bound,
    cx: &Context,
    parts: &mut Parts,
    body: Body,
    reading: Reading<'_>,
    limit: BodyLimit,
) -> Result<Result<Value, Error>, Failure> {
    let tap = parts.extensions.get::<Tap>().cloned();
    let arrival = Arrival::new(&parts.headers, body).tapped(tap);
    let (mut sent, readable) = match boundary(&parts.headers) {
        Ok(Some(boundary)) => (Sent::Form(Form::new(arrival, boundary, limit.bytes)), Ok(())),
        Ok(None) => (Sent::Bare(arrival), Ok(())),
        Err(failure) => (Sent::Bare(arrival), Err(failure)),
    };
    let outcome = match readable {
        Ok(()) => {
            let fields = Fields::new(bound.input_shape(), reading);
            hand_over(bound, cx, parts, &mut sent, fields, limit).await
        }
        Err(failure) => Err(failure),
    };
    sent.into_arrival().drain().await;
    outcome
}

async fn hand_over(
    bound: &Bound,
    cx: &Context,
    parts: &mut Parts,
    sent: &mut Sent,
    mut fields: Fields<'_>,
    limit: BodyLimit,
) -> Result<Result<Value, Error>, Failure> {
    fields.add_target(parts).await?;
    if sent.announced() > sent.most(limit) {
        return Err(limit.exceeded("the file"));
    }
    let Some(Found { filename }) = sent.find_file(&parts.headers, &mut fields).await? else {
        let input = fields.into_input();
        let all = ready(Ok(input.clone())).boxed();
        return Ok(bound.receive(cx.clone(), input, all, None).await);
    };
    let early = fields.clone().into_input();
    let (chunks, received) = mpsc::channel(1);
    let (complete, completed) = oneshot::channel();
    let wanted = Arc::new(Notify::new());
    let bytes = bytes(received, Arc::clone(&wanted));
    let asking = Arc::clone(&wanted);
    let all = async move {
        asking.notify_one();
        // Not complete means that the reading failed, which is told instead of this.
        let broken = |_| Error::new(Kind::InvalidArgument, "request.body", "the body broke off");
        completed.await.map_err(broken)
    };
    let (ask, asked) = oneshot::channel();
    let direct = sent.can_be_siphoned().then(|| direct(ask));
    let file = Some(Incoming { filename, bytes, direct });
    let mut handling = pin!(bound.receive(cx.clone(), early, all.boxed(), file));
    let reading = async {
        tokio::select! {
            () = wanted.notified() => sent.feed(fields, &chunks, complete, limit).await,
            Ok(whole) = asked => sent.siphon(fields, whole, complete).await,
        }
    };
    tokio::select! {
        biased;
        handled = &mut handling => Ok(handled),
        read = reading => {
            drop(chunks);
            let handled = handling.await;
            read.map(|()| handled)
        }
    }
}

/// A file that is to get the whole body, and who waits for that.
struct Whole {
    into: File,
    told: oneshot::Sender<io::Result<u64>>,
}

/// The bytes as the kernel moves them.
fn direct(ask: oneshot::Sender<Whole>) -> Direct {
    Box::new(|into| {
        let (told, tells) = oneshot::channel();
        let asked = ask.send(Whole { into, told });
        // Neither can be without the end of the reading, which tells why.
        let broken = || io::Error::other("the body broke off");
        async move {
            asked.map_err(|_| broken())?;
            tells.await.map_err(|_| broken())?
        }
        .boxed()
    })
}

/// The bytes as the service reads them.
fn bytes(mut received: mpsc::Receiver<Chunk>, wanted: Arc<Notify>) -> ByteStream {
    let mut wanted = Some(wanted);
    let bytes = stream::poll_fn(move |cx| {
        if let Some(wanted) = wanted.take() {
            wanted.notify_one();
        }
        received.poll_recv(cx)
    });
    bytes.boxed()
}

/// The file of an upload was found; its bytes follow.
struct Found {
    filename: Option<String>,
}

/// How an upload is sent.
enum Sent {
    Bare(Arrival),
    Form(Form),
}

impl Sent {
    fn announced(&self) -> u64 {
        match self {
            Self::Bare(arrival) => arrival.announced(),
            Self::Form(form) => form.announced(),
        }
    }

    /// Bytes the whole may have when its file is at the limit.
    fn most(&self, limit: BodyLimit) -> u64 {
        match self {
            Self::Bare(_) => limit.bytes,
            Self::Form(_) => limit.bytes.saturating_add(FORM_BYTES),
        }
    }

    fn into_arrival(self) -> Arrival {
        match self {
            Self::Bare(arrival) => arrival,
            Self::Form(form) => form.into_arrival(),
        }
    }

    /// Reads up to the file, and the fields before it.
    async fn find_file(
        &mut self,
        headers: &HeaderMap,
        fields: &mut Fields<'_>,
    ) -> Result<Option<Found>, Failure> {
        match self {
            Self::Bare(arrival) => {
                let sent = !arrival.is_empty() || is_a_file_although_empty(headers);
                Ok(sent.then_some(Found { filename: None }))
            }
            Self::Form(form) => {
                while let Some(part) = form.next_part().await? {
                    if is_file(&part) {
                        return Ok(Some(Found { filename: part.filename }));
                    }
                    add_field(form, &part, fields).await?;
                }
                Ok(None)
            }
        }
    }

    fn can_be_siphoned(&self) -> bool {
        match self {
            Self::Bare(arrival) => arrival.can_be_siphoned(),
            Self::Form(_) => false,
        }
    }

    /// Leaves the file to the kernel; nothing follows it.
    async fn siphon(
        &mut self,
        fields: Fields<'_>,
        Whole { into, told }: Whole,
        complete: oneshot::Sender<Value>,
    ) -> Result<(), Failure> {
        let Self::Bare(arrival) = self else { return Ok(()) };
        let outcome = arrival.siphon(into).await?;
        // The service may have gone.
        drop((complete.send(fields.into_input()), told.send(outcome)));
        Ok(())
    }

    /// Reads the file and all that follows it.
    async fn feed(
        &mut self,
        fields: Fields<'_>,
        chunks: &mpsc::Sender<Chunk>,
        complete: oneshot::Sender<Value>,
        limit: BodyLimit,
    ) -> Result<(), Failure> {
        match self.read(fields, chunks, limit).await {
            Ok(input) => {
                // The service may have all it needs.
                drop(complete.send(input));
                Ok(())
            }
            Err(failure) => {
                // Whoever no longer reads the bytes need not be told that they broke off.
                let told = chunks.send(Err(io::Error::other(failure.error.message().to_owned())));
                drop(told.await);
                Err(failure)
            }
        }
    }

    async fn read(
        &mut self,
        mut fields: Fields<'_>,
        chunks: &mpsc::Sender<Chunk>,
        limit: BodyLimit,
    ) -> Result<Value, Failure> {
        let mut left = limit.bytes;
        while let Some(chunk) = self.chunk().await? {
            let Some(rest) = left.checked_sub(chunk.len() as u64) else {
                return Err(limit.exceeded("the file"));
            };
            left = rest;
            // A service that does not want the file may still want the fields that follow it.
            drop(chunks.send(Ok(chunk)).await);
        }
        if let Self::Form(form) = self {
            while let Some(part) = form.next_part().await? {
                if is_file(&part) {
                    return Err(broken("it holds a second file; upload one at a time"));
                }
                add_field(form, &part, &mut fields).await?;
            }
        }
        Ok(fields.into_input())
    }

    /// The next bytes of the file.
    async fn chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        match self {
            Self::Bare(arrival) => arrival.next().await,
            Self::Form(form) => form.chunk().await,
        }
    }
}

/// Whether a part is the file: by its name, or because it has a file's name.
fn is_file(part: &Part) -> bool {
    part.name.as_deref() == Some("file") || part.filename.is_some()
}

async fn add_field(form: &mut Form, part: &Part, fields: &mut Fields<'_>) -> Result<(), Failure> {
    // A part without a name means nothing; the form passes over it.
    let Some(name) = &part.name else { return Ok(()) };
    let text = form.text(name).await?;
    fields.add_text(name, &text)
}

/// The boundary of a form; none when the body is something else.
fn boundary(headers: &HeaderMap) -> Result<Option<Boundary>, Failure> {
    let content_type = headers.get(header::CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    if media_type(content_type) != "multipart/form-data" {
        return Ok(None);
    }
    let parameters = parameters(content_type);
    let boundary = parameter(&parameters, "boundary");
    let boundary = boundary.and_then(|boundary| Boundary::new(boundary.as_bytes()));
    boundary.map(Some).ok_or_else(|| {
        Failure::new(
            StatusCode::BAD_REQUEST,
            "request.form",
            "the Content-Type of a form must name its boundary, of 1 to 70 characters; leave the header to the client \
             that builds the form",
        )
    })
}

fn media_type(content_type: &[u8]) -> String {
    let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
    String::from_utf8_lossy(essence.trim_ascii()).to_ascii_lowercase()
}

/// Whether a body of no bytes is a file of no bytes: only if it is declared as something that clients do not declare
/// by themselves.
fn is_a_file_although_empty(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    content_type.is_some_and(|content_type| {
        let media_type = media_type(content_type.as_bytes());
        media_type != "application/json" && media_type != "application/x-www-form-urlencoded"
    })
}

#[cfg(test)]
mod tests;

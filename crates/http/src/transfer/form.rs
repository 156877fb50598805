//! Takes a form (`multipart/form-data`) apart while it arrives.
//!
//! A part's bytes are handed on as they come, not copied; only its head and the last few bytes before a possible
//! boundary wait here. Everything that could grow has a bound: heads, their number, and the form as a whole.

use axum::http::StatusCode;
use bytes::{Buf, Bytes, BytesMut};

use super::boundary::{Boundary, Found};
use super::disposition::{filename, parameter, parameters};
use crate::arrival::Arrival;
use crate::dialect::Failure;

/// Parts of one form.
const PARTS: usize = 64;
/// Bytes of one part's head.
const HEAD_BYTES: usize = 16 << 10;
/// Bytes of one field.
const FIELD_BYTES: usize = 1 << 20;
/// Bytes of a form beside its file.
pub(super) const FORM_BYTES: u64 = (PARTS * (FIELD_BYTES + HEAD_BYTES)) as u64;

/// A form that is being sent.
pub(super) struct Form {
    arrival: Arrival,
    boundary: Boundary,
    /// Bytes that have come and belong to nobody yet.
    buffer: Bytes,
    place: Place,
    parts: usize,
    /// Bytes it may still have.
    left: u64,
}

/// Where in a form its reader stands.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// In the bytes of a part, or before the first one.
    Inside,
    /// Right behind a boundary.
    Between,
    /// Behind the last one.
    End,
}

/// The head of a part.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) name: Option<String>,
    pub(super) filename: Option<String>,
}

impl Form {
    /// A form with this boundary whose file may have so many bytes.
    pub(super) fn new(arrival: Arrival, boundary: Boundary, file_bytes: u64) -> Self {
        Self {
            arrival,
            boundary,
            // The first boundary needs no line break before it.
            buffer: Bytes::from_static(b"\r\n"),
            place: Place::Inside,
            parts: 0,
            left: file_bytes.saturating_add(FORM_BYTES),
        }
    }

    /// Its whole length, as far as the client has said.
    pub(super) fn announced(&self) -> u64 {
        self.arrival.announced()
    }

    /// The head of the next part, whatever is left of this one; none at the end.
    pub(super) async fn next_part(&mut self) -> Result<Option<Part>, Failure> {
        while self.chunk().await?.is_some() {}
        if self.place == Place::End {
            return Ok(None);
        }
        while self.buffer.len() < 2 {
            if !self.more().await? {
                return Err(broken("it ends before its last boundary"));
            }
        }
        if self.buffer.starts_with(b"--") {
            self.place = Place::End;
            // What follows means nothing, but a connection is used again only when all of it was read.
            self.buffer.clear();
            while self.more().await? {
                self.buffer.clear();
            }
            return Ok(None);
        }
        let mut line = self.line().await?;
        if !line.trim_ascii().is_empty() {
            return Err(broken("a boundary is followed by something else"));
        }
        self.parts += 1;
        if self.parts > PARTS {
            return Err(broken(&format!("it has more than {PARTS} parts")));
        }
        let mut part = Part::default();
        let mut room = HEAD_BYTES;
        loop {
            line = self.line().await?;
            if line.is_empty() {
                break;
            }
            room = room.checked_sub(line.len() + 2).ok_or_else(head_too_large)?;
            let Some(colon) = line.iter().position(|byte| *byte == b':') else {
                return Err(broken("a part's head has a line without a colon"));
            };
            if line[..colon].trim_ascii().eq_ignore_ascii_case(b"content-disposition") {
                let parameters = parameters(&line[colon + 1..]);
                part.name = parameter(&parameters, "name").map(str::to_owned);
                part.filename = filename(&parameters);
            }
        }
        self.place = Place::Inside;
        Ok(Some(part))
    }

    /// The next bytes of this part; none at its end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        while self.place == Place::Inside {
            match self.boundary.find(&self.buffer) {
                Found::Whole(at) => {
                    let data = self.buffer.split_to(at);
                    self.buffer.advance(self.boundary.len());
                    self.place = Place::Between;
                    if !data.is_empty() {
                        return Ok(Some(data));
                    }
                }
                Found::Perhaps(0) => {
                    if !self.more().await? {
                        return Err(broken("it ends before its last boundary"));
                    }
                }
                Found::Perhaps(at) => return Ok(Some(self.buffer.split_to(at))),
            }
        }
        Ok(None)
    }

    /// The whole of this part, which is a field, as text.
    pub(super) async fn text(&mut self, name: &str) -> Result<String, Failure> {
        let mut text = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if text.len() + chunk.len() > FIELD_BYTES {
                return Err(too_large(format!(
                    "the form's field {name} is over {FIELD_BYTES} bytes"
                )));
            }
            text.extend_from_slice(&chunk);
        }
        String::from_utf8(text).map_err(|_| broken(&format!("its field {name} is not UTF-8")))
    }

    /// What is left of the request.
    pub(super) fn into_arrival(self) -> Arrival {
        self.arrival
    }

    /// The bytes up to the next line break.
    async fn line(&mut self) -> Result<Bytes, Failure> {
        let mut searched = 0;
        loop {
            let rest = &self.buffer[searched..];
            if let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.buffer.split_to(searched + end);
                self.buffer.advance(2);
                return Ok(line);
            }
            if self.buffer.len() > HEAD_BYTES {
                return Err(head_too_large());
            }
            searched = self.buffer.len().saturating_sub(1);
            if !self.more().await? {
                return Err(broken("it ends in the head of a part"));
            }
        }
    }

    /// Waits for more bytes; false when there are none.
    async fn more(&mut self) -> Result<bool, Failure> {
        let Some(data) = self.arrival.next().await? else {
            return Ok(false);
        };
        self.left = self
            .left
            .checked_sub(data.len() as u64)
            .ok_or_else(|| too_large("the form is larger than its file and its fields may be"))?;
        // Rarely is anything left, and then it is a few bytes that look like a boundary.
        self.buffer = if self.buffer.is_empty() {
            data
        } else {
            let mut joined = BytesMut::with_capacity(self.buffer.len() + data.len());
            joined.extend_from_slice(&self.buffer);
            joined.extend_from_slice(&data);
            joined.freeze()
        };
        Ok(true)
    }
}

/// The refusal of a form that makes no sense.
pub(super) fn broken(what: &str) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, "request.form", format!("the form is broken: {what}"))
}

fn head_too_large() -> Failure {
    broken(&format!("the head of a part is over {HEAD_BYTES} bytes"))
}

fn too_large(message: impl Into<String>) -> Failure {
    Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "request.too_large", message)
}

#[cfg(test)]
mod tests;

//! From bytes to Markdown: finds out what they are and has the right converter read them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::document::{Bounds, Markdown, Selection, Source};
use crate::error::ConvertError;
use crate::format::{epub, feed, html, image, notebook, office, package, pdf, structured, table};
use crate::kind::Kind;
use crate::text::decode;

/// Archives within archives that are opened.
const DEPTH: u8 = 2;

/// What a conversion with everything in it may still use.
#[derive(Debug)]
pub(crate) struct Allowance {
    pub(crate) unpacked_bytes: u64,
    pub(crate) members: u64,
    /// The bounds as they were, for messages.
    pub(crate) bounds: Bounds,
    depth: u8,
}

/// Converts a document. A parser that panics is a document that cannot be read; one that overflows the stack, loops or
/// takes all memory ends the process, which is why this belongs into one of its own (see [`crate::worker`]).
pub fn convert(
    bytes: Vec<u8>,
    source: &Source,
    selection: &Selection,
    bounds: &Bounds,
) -> Result<Markdown, ConvertError> {
    let mut allowance = Allowance {
        unpacked_bytes: bounds.unpacked_bytes,
        members: bounds.members,
        bounds: *bounds,
        depth: 0,
    };
    convert_within(bytes, source, selection, &mut allowance, bounds.output_bytes)
}

/// Converts something that is perhaps part of something larger, into this many bytes.
pub(crate) fn convert_within(
    bytes: Vec<u8>,
    source: &Source,
    selection: &Selection,
    allowance: &mut Allowance,
    room: u64,
) -> Result<Markdown, ConvertError> {
    let kind = Kind::of(&bytes, source);
    let run = AssertUnwindSafe(|| by_kind(kind, bytes, source, selection, allowance, room));
    let markdown = catch_unwind(run).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<&str>().map(|said| (*said).to_owned());
        let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
        let reason = format!("its parser gave up: {}", said.unwrap_or_default());
        Err(ConvertError::broken(kind.name(), reason))
    })?;
    if markdown.text.len() as u64 > room {
        return Err(ConvertError::too_large("its Markdown", room, "bytes"));
    }
    Ok(markdown)
}

fn by_kind(
    kind: Kind,
    bytes: Vec<u8>,
    source: &Source,
    selection: &Selection,
    allowance: &mut Allowance,
    room: u64,
) -> Result<Markdown, ConvertError> {
    let text = |bytes| decode(bytes, source.media_type.as_deref());
    match kind {
        Kind::Html => html::convert(&text(&bytes), source.url.as_deref()),
        Kind::Pdf => pdf::convert(&bytes, selection),
        Kind::Docx | Kind::Xlsx | Kind::Pptx | Kind::Doc | Kind::Xls | Kind::Ppt => {
            office::convert(kind, bytes, selection, allowance)
        }
        Kind::Csv | Kind::Tsv => table::convert(kind, &text(&bytes), room),
        Kind::Json => structured::json(&text(&bytes), room),
        Kind::Xml => structured::xml(&text(&bytes), room),
        Kind::Feed => feed::convert(&text(&bytes), room),
        Kind::Epub => epub::convert(&bytes, allowance, room),
        Kind::Notebook => notebook::convert(&text(&bytes), room),
        Kind::Image => Ok(image::convert(&bytes)),
        Kind::Zip if allowance.depth < DEPTH => {
            allowance.depth += 1;
            let converted = package::convert(&bytes, source, allowance, room);
            allowance.depth -= 1;
            converted
        }
        Kind::Zip => Err(ConvertError::Unsupported {
            what: format!("archives more than {DEPTH} deep within one another"),
        }),
        Kind::Markdown | Kind::Text => Ok(Markdown::new(kind, text(&bytes).into_owned())),
        Kind::Other => Err(ConvertError::Unsupported { what: described(&bytes, source) }),
    }
}

/// What something unknown seems to be.
fn described(bytes: &[u8], source: &Source) -> String {
    if bytes.is_empty() {
        return "an empty document".to_owned();
    }
    let media_type =
        source.media_type.as_deref().filter(|given| !given.starts_with("application/octet"));
    let extension = source.name.as_deref().and_then(|name| {
        let (_, extension) = name.rsplit('/').next()?.rsplit_once('.')?;
        Some(format!("`.{extension}`"))
    });
    match media_type.map(str::to_owned).or(extension) {
        Some(what) => format!("documents of the type {what}"),
        None => "bytes that are no text and no document we know".to_owned(),
    }
}

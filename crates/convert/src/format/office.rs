//! Word, Excel and PowerPoint, of today and of before 2007.

use std::io::Cursor;

use office_oxide::ir::{DocumentIR, Element};
use office_oxide::options::ParseOptions;
use office_oxide::{Document, DocumentFormat, OfficeError};

use crate::convert::Allowance;
use crate::document::{Markdown, Selection};
use crate::error::ConvertError;
use crate::kind::Kind;

/// Converts a document, or the part of it that is asked for.
pub(crate) fn convert(
    kind: Kind,
    bytes: Vec<u8>,
    selection: &Selection,
    allowance: &Allowance,
) -> Result<Markdown, ConvertError> {
    let what = kind.name();
    let format = match kind {
        Kind::Xlsx => DocumentFormat::Xlsx,
        Kind::Pptx => DocumentFormat::Pptx,
        Kind::Doc => DocumentFormat::Doc,
        Kind::Xls => DocumentFormat::Xls,
        Kind::Ppt => DocumentFormat::Ppt,
        _ => DocumentFormat::Docx,
    };
    let mut options = ParseOptions::default();
    let limits = &mut options.limits;
    limits.package_bytes = limits.package_bytes.min(allowance.unpacked_bytes);
    limits.part_bytes = limits.part_bytes.min(allowance.unpacked_bytes);
    let room = usize::try_from(allowance.bounds.output_bytes).unwrap_or(usize::MAX);
    limits.text_chars = limits.text_chars.min(room);
    limits.memory_bytes = limits.memory_bytes.min(allowance.unpacked_bytes.saturating_mul(2));
    let document = Document::from_reader_with(Cursor::new(bytes), format, &options)
        .map_err(|error| refused(what, &error, allowance))?;
    if *selection == Selection::default() {
        return Ok(Markdown::new(kind, document.to_markdown()));
    }
    let mut content = document.to_ir();
    let count = content.sections.len();
    select(&mut content, kind, selection)?;
    let (parts, about) = (part_name(kind), &content.metadata);
    Ok(Markdown::new(kind, content.to_markdown())
        .titled(about.title.clone())
        .with("author", about.author.as_ref())
        .with("subject", about.subject.as_ref())
        .with("created", about.created.as_ref())
        .with("modified", about.modified.as_ref())
        .with(parts, Some(count)))
}

fn part_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Xlsx | Kind::Xls => "sheets",
        Kind::Pptx | Kind::Ppt => "slides",
        _ => "sections",
    }
}

/// Takes out what was not asked for.
fn select(content: &mut DocumentIR, kind: Kind, selection: &Selection) -> Result<(), ConvertError> {
    let total = content.sections.len();
    if let (Some((first, last)), Kind::Pptx | Kind::Ppt) = (selection.slides, kind) {
        let (first, last) = (first as usize, last as usize);
        if first == 0 || first > total {
            let message = format!("there is no slide {first}: the presentation has {total}");
            return Err(ConvertError::NoSuchPart(message));
        }
        content.sections.truncate(last.min(total));
        content.sections.drain(..first - 1);
    }
    if !matches!(kind, Kind::Xlsx | Kind::Xls) {
        return Ok(());
    }
    if let Some(wanted) = &selection.sheet {
        let titles = content.sections.iter().filter_map(|section| section.title.clone());
        let titles = titles.collect::<Vec<_>>();
        content.sections.retain(|section| section.title.as_ref() == Some(wanted));
        if content.sections.is_empty() {
            let names = titles.join(", ");
            let message = format!("there is no sheet {wanted:?}: the workbook has {names}");
            return Err(ConvertError::NoSuchPart(message));
        }
    }
    if let Some((first, last)) = selection.rows {
        for element in content.sections.iter_mut().flat_map(|section| &mut section.elements) {
            if let Element::Table(table) = element {
                table.rows.truncate(last as usize);
                let before = (first.max(1) as usize - 1).min(table.rows.len());
                table.rows.drain(..before);
            }
        }
    }
    Ok(())
}

fn refused(what: &str, error: &OfficeError, allowance: &Allowance) -> ConvertError {
    let said = error.to_string();
    if said.contains("password") || said.contains("encrypted") {
        return ConvertError::Protected { what: what.to_owned() };
    }
    if said.contains("exceed") || said.contains("limit") {
        let most = allowance.bounds.unpacked_bytes;
        return ConvertError::too_large(&format!("what the {what} unpacks to"), most, "bytes");
    }
    ConvertError::broken(what, said)
}

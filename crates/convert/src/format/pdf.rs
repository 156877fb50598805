//! PDF.

use pdf_inspector::{PdfError, PdfOptions, process_pdf_mem_with_options};

use crate::document::{Markdown, Selection};
use crate::error::ConvertError;
use crate::kind::Kind;

/// Pages that can be asked for one by one.
const PAGES: u32 = 100_000;

/// Converts a PDF, or some of its pages.
pub(crate) fn convert(bytes: &[u8], selection: &Selection) -> Result<Markdown, ConvertError> {
    let mut options = PdfOptions::new();
    if let Some((first, last)) = selection.pages {
        options = options.pages(first..=last.min(first.saturating_add(PAGES)));
    }
    let document = process_pdf_mem_with_options(bytes, options).map_err(|error| match error {
        PdfError::Encrypted => ConvertError::Protected { what: "PDF".to_owned() },
        other => ConvertError::broken("PDF", other),
    })?;
    let pages = document.page_count;
    if let Some((first, _)) = selection.pages
        && (first == 0 || first > pages)
    {
        let message = format!("there is no page {first}: the PDF has {pages}");
        return Err(ConvertError::NoSuchPart(message));
    }
    let text = document.markdown.unwrap_or_default();
    if text.trim().is_empty() && pages > 0 {
        return Err(ConvertError::NoText { what: "PDF".to_owned() });
    }
    Ok(Markdown::new(Kind::Pdf, text)
        .titled(document.title)
        .with("author", document.author)
        .with("subject", document.subject)
        .with("keywords", document.keywords)
        .with("created", document.creation_date)
        .with("modified", document.mod_date)
        .with("pages", Some(pages)))
}

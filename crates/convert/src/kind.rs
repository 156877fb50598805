//! What a document is: by its first bytes, by what it was called or sent as, by how its text begins.

use serde::{Deserialize, Serialize};

use crate::document::Source;
use crate::format::{legacy, package};
use crate::text::{decode, is_text};

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Kind {
    Html,
    Pdf,
    Docx,
    Xlsx,
    Pptx,
    Doc,
    Xls,
    Ppt,
    Csv,
    Tsv,
    Json,
    Xml,
    Feed,
    Epub,
    Notebook,
    Image,
    Zip,
    Markdown,
    Text,
    /// Nothing we convert.
    Other,
}

impl Kind {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Html => "HTML page",
            Kind::Pdf => "PDF",
            Kind::Docx | Kind::Doc => "Word document",
            Kind::Xlsx | Kind::Xls => "workbook",
            Kind::Pptx | Kind::Ppt => "presentation",
            Kind::Csv | Kind::Tsv => "table",
            Kind::Json => "JSON",
            Kind::Xml => "XML",
            Kind::Feed => "feed",
            Kind::Epub => "book",
            Kind::Notebook => "notebook",
            Kind::Image => "image",
            Kind::Zip => "archive",
            Kind::Markdown | Kind::Text => "text",
            Kind::Other => "document",
        }
    }

    /// What these bytes are.
    pub fn of(bytes: &[u8], source: &Source) -> Self {
        if let Some(kind) = by_magic(bytes) {
            return kind;
        }
        if !is_text(bytes) {
            return Kind::Other;
        }
        let start = bytes.get(..4096).unwrap_or(bytes);
        let start = decode(start, source.media_type.as_deref());
        let start = start.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        match by_name(source) {
            // Some servers call everything this, and some files are called anything.
            None | Some(Kind::Text) => by_beginning(start, bytes),
            Some(Kind::Xml) => markup(start).unwrap_or(Kind::Xml),
            Some(Kind::Json) if is_notebook(start) => Kind::Notebook,
            Some(kind) => kind,
        }
    }
}

fn by_magic(bytes: &[u8]) -> Option<Kind> {
    let start = bytes.get(..1024).unwrap_or(bytes);
    if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
        return Some(package::kind(bytes));
    }
    if start.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
        return Some(legacy::kind(bytes));
    }
    // A PDF may have something before it.
    if start.windows(5).any(|window| window == b"%PDF-") {
        return Some(Kind::Pdf);
    }
    let of_images: [&[u8]; 8] = [
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff",
        b"GIF87a",
        b"GIF89a",
        b"II*\0",
        b"MM\0*",
        b"BM",
        b"\0\0\x01\0",
    ];
    let riff = start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP");
    let heif = start.get(4..8) == Some(b"ftyp")
        && matches!(start.get(8..12), Some(b"avif" | b"avis" | b"heic" | b"heix" | b"mif1"));
    let bitmap = !start.starts_with(b"BM") || (start.len() > 30 && !is_text(start));
    let image = bitmap && of_images.iter().any(|magic| start.starts_with(magic));
    (image || riff || heif).then_some(Kind::Image)
}

/// By the media type it was sent with, else by the extension of its name.
fn by_name(source: &Source) -> Option<Kind> {
    let media_type = source.media_type.as_deref().unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let by_type = match media_type.as_str() {
        "text/html" | "application/xhtml+xml" => Some(Kind::Html),
        "text/csv" => Some(Kind::Csv),
        "text/tab-separated-values" => Some(Kind::Tsv),
        "application/x-ipynb+json" => Some(Kind::Notebook),
        "text/markdown" => Some(Kind::Markdown),
        "application/rss+xml" | "application/atom+xml" | "text/xml" | "application/xml" => {
            Some(Kind::Xml)
        }
        "application/json" | "text/json" | "application/x-ndjson" => Some(Kind::Json),
        other if other.ends_with("+json") => Some(Kind::Json),
        other if other.ends_with("+xml") => Some(Kind::Xml),
        _ => None,
    };
    by_type.or_else(|| {
        let name = source.name.as_deref()?;
        let extension = name.rsplit('/').next()?.rsplit_once('.')?.1.to_ascii_lowercase();
        Some(match extension.as_str() {
            "html" | "htm" | "xhtml" | "shtml" => Kind::Html,
            "csv" => Kind::Csv,
            "tsv" | "tab" => Kind::Tsv,
            "json" | "jsonl" | "ndjson" | "geojson" => Kind::Json,
            "ipynb" => Kind::Notebook,
            "xml" | "rss" | "atom" | "rdf" | "svg" | "xsd" | "xsl" | "plist" => Kind::Xml,
            "md" | "markdown" | "mdx" | "rst" => Kind::Markdown,
            "txt" | "text" | "log" => Kind::Text,
            _ => return None,
        })
    })
}

fn by_beginning(start: &str, bytes: &[u8]) -> Kind {
    if let Some(kind) = markup(start) {
        return kind;
    }
    if start.starts_with(['{', '[']) && bytes.len() <= 4 << 20 {
        if is_notebook(start) {
            return Kind::Notebook;
        }
        if serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok() {
            return Kind::Json;
        }
    }
    Kind::Text
}

/// HTML, a feed or other XML, by the first element.
fn markup(start: &str) -> Option<Kind> {
    let lower: String = start.chars().take(2000).collect::<String>().to_ascii_lowercase();
    if ["<!doctype html", "<html", "<head", "<body"].iter().any(|tag| lower.starts_with(tag)) {
        return Some(Kind::Html);
    }
    let xml = lower.starts_with("<?xml");
    if !xml && !["<rss", "<feed", "<rdf:rdf"].iter().any(|tag| lower.starts_with(tag)) {
        return None;
    }
    let root = lower.match_indices('<').map(|(at, _)| lower.get(at + 1..).unwrap_or_default());
    let root = root.into_iter().find(|tag| tag.starts_with(|c: char| c.is_ascii_alphabetic()));
    Some(match root {
        Some(root) if root.starts_with("html") => Kind::Html,
        Some(root) if ["rss", "feed", "rdf:rdf"].iter().any(|name| root.starts_with(name)) => {
            Kind::Feed
        }
        _ => Kind::Xml,
    })
}

fn is_notebook(start: &str) -> bool {
    start.starts_with('{') && start.contains("\"cells\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(bytes: &[u8], name: &str, media_type: &str) -> Kind {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Kind::of(bytes, &Source { name: some(name), media_type: some(media_type), url: None })
    }

    #[test]
    fn content_counts_more_than_names() {
        assert_eq!(kind(b"%PDF-1.7", "a.txt", "text/plain"), Kind::Pdf);
        assert_eq!(kind(b"\x89PNG\r\n\x1a\n", "a.html", "text/html"), Kind::Image);
        assert_eq!(kind(b"<!DOCTYPE html><p>", "a", "text/plain"), Kind::Html);
        assert_eq!(kind(b"\0\x01\x02", "a.csv", ""), Kind::Other);
    }

    #[test]
    fn names_decide_between_kinds_of_text() {
        assert_eq!(kind(b"a,b\n", "a.csv", ""), Kind::Csv);
        assert_eq!(kind(b"a,b\n", "", "text/csv; charset=utf-8"), Kind::Csv);
        assert_eq!(kind(b"a,b\n", "a.txt", ""), Kind::Text);
        assert_eq!(kind(b"# a", "README.md", ""), Kind::Markdown);
        assert_eq!(kind(b"<p>x", "a.html", ""), Kind::Html);
    }

    #[test]
    fn text_without_a_name_is_known_by_its_beginning() {
        assert_eq!(kind(b"{\"a\": 1}", "", ""), Kind::Json);
        assert_eq!(kind(b"{not json", "", ""), Kind::Text);
        assert_eq!(kind(b"{\"cells\": []}", "", ""), Kind::Notebook);
        assert_eq!(kind(b"<?xml version='1.0'?><rss/>", "", ""), Kind::Feed);
        assert_eq!(kind(b"<?xml version='1.0'?><!-- x --><a/>", "", ""), Kind::Xml);
        assert_eq!(kind(b"<feed xmlns='x'/>", "", "application/atom+xml"), Kind::Feed);
        assert_eq!(kind(b"BM is a text", "", ""), Kind::Text);
    }
}

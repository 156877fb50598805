//! What goes in and what comes out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kind::Kind;

/// What is known of a document beside its bytes. Each is a hint: content that shows what it is counts more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its name, of which the extension tells something.
    pub name: Option<String>,
    /// The media type it was sent with, parameters included.
    pub media_type: Option<String>,
    /// Where it was found; links are made whole with it.
    pub url: Option<String>,
}

/// Which part of a document is wanted. Numbers are counted from 1, ends included.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Pages of a PDF.
    pub pages: Option<(u32, u32)>,
    /// The sheet of a workbook with this name.
    pub sheet: Option<String>,
    /// Rows of each sheet.
    pub rows: Option<(u32, u32)>,
    /// Slides of a presentation.
    pub slides: Option<(u32, u32)>,
    /// Whether what a document says of itself is wanted too, where that costs something.
    pub properties: bool,
}

/// What a conversion may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Bytes of Markdown.
    pub output_bytes: u64,
    /// Bytes that archives may unpack to, together.
    pub unpacked_bytes: u64,
    /// Members of an archive that are converted.
    pub members: u64,
}

/// A document as Markdown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Markdown {
    /// What it was.
    pub kind: Kind,
    /// Its title, if it says one.
    pub title: Option<String>,
    /// What it says of itself: author, pages, dates, whatever its kind has.
    pub properties: BTreeMap<String, String>,
    /// The text; empty where it travels apart.
    #[serde(default)]
    pub text: String,
}

impl Markdown {
    pub(crate) fn new(kind: Kind, text: String) -> Self {
        Self { kind, title: None, properties: BTreeMap::new(), text }
    }

    pub(crate) fn titled(mut self, title: Option<String>) -> Self {
        self.title = title.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty());
        self
    }

    pub(crate) fn with(mut self, name: &str, value: Option<impl ToString>) -> Self {
        let value = value.map(|value| value.to_string()).filter(|value| !value.trim().is_empty());
        if let Some(value) = value {
            self.properties.insert(name.to_owned(), value);
        }
        self
    }
}

//! A page on paper.

use std::time::Duration;

use bytes::Bytes;
use serde_json::json;

use super::screenshot::decoded;
use crate::error::Error;
use crate::tab::Tab;

/// How long printing a long page may take.
const PRINTED: Duration = Duration::from_mins(2);

/// How a page is printed. Lengths are in inches.
#[derive(Debug, Clone, PartialEq)]
pub struct Pdf {
    /// Wider than high.
    pub landscape: bool,
    /// With colours and pictures behind the text.
    pub background: bool,
    /// Size of everything, from 0.1 to 2.
    pub scale: f64,
    /// Size of the paper.
    pub paper: (f64, f64),
    /// Empty space at each edge.
    pub margin: f64,
    /// Which pages, such as `1-3, 5`; empty for all.
    pub pages: String,
    /// Whether the page's own idea of the paper counts more.
    pub prefer_css_page_size: bool,
}

impl Default for Pdf {
    fn default() -> Self {
        Self {
            landscape: false,
            background: true,
            scale: 1.0,
            paper: (8.27, 11.69),
            margin: 0.4,
            pages: String::new(),
            prefer_css_page_size: false,
        }
    }
}

impl Tab {
    /// Prints the page.
    pub async fn pdf(&self, pdf: &Pdf) -> Result<Bytes, Error> {
        self.check()?;
        let params = json!({
            "landscape": pdf.landscape,
            "printBackground": pdf.background,
            "scale": pdf.scale,
            "paperWidth": pdf.paper.0,
            "paperHeight": pdf.paper.1,
            "marginTop": pdf.margin,
            "marginBottom": pdf.margin,
            "marginLeft": pdf.margin,
            "marginRight": pdf.margin,
            "pageRanges": pdf.pages,
            "preferCSSPageSize": pdf.prefer_css_page_size,
        });
        let sent = self.session().command_within("Page.printToPDF", params, PRINTED);
        let answer = sent.await.map_err(|error| match error {
            atoll_cdp::CdpError::Refused { message, .. } => Error::Picture { reason: message },
            other => self.explain(other),
        })?;
        decoded(&answer["data"])
    }
}

//! The operation: from a URI to Markdown.

use std::sync::Arc;
use std::time::Duration;

use atoll_api::util::ConvertToMarkdown;
use atoll_convert::{Selection, Source};
use atoll_fetch::{Fetcher, Request};
use atoll_operation::{Context, Error, Handle};

use super::converter::{Content, Converter, Document};
use super::locate::{Place, locate};
use crate::programs::Programs;
use crate::web::{refused, unfriendly};

/// The conversion capability.
#[derive(Debug)]
pub struct Conversions {
    programs: Programs,
    converter: Converter,
    fetcher: Fetcher,
}

impl Conversions {
    /// Starts nothing yet.
    pub fn new(programs: &Programs, converter: &Converter, fetcher: &Fetcher) -> Arc<Self> {
        Arc::new(Self {
            programs: programs.clone(),
            converter: converter.clone(),
            fetcher: fetcher.clone(),
        })
    }

    async fn document(&self, uri: &str) -> Result<Document, Error> {
        let foundation = self.programs.foundation();
        let selection = Selection::default();
        Ok(match locate(uri, foundation)? {
            Place::File(path) => {
                let name = Some(path.to_string_lossy().into_owned());
                let source = Source { name, ..Source::default() };
                Document { content: Content::File(path), source, selection }
            }
            Place::Data { media_type, bytes } => {
                let source = Source { media_type, ..Source::default() };
                Document { content: Content::Bytes(bytes), source, selection }
            }
            Place::Web(url) => {
                let limits = &foundation.limits;
                let time = Duration::from_secs(limits.web_timeout_seconds);
                let request = Request::get(&url, limits.convert_input_bytes, time)
                    .map_err(|error| refused(&error))?;
                let fetched = self.fetcher.fetch(request).await.map_err(|error| refused(&error))?;
                unfriendly(&fetched)?;
                let source = Source {
                    name: Some(fetched.url.path().to_owned()),
                    media_type: fetched.media_type,
                    url: Some(fetched.url.into()),
                };
                Document { content: Content::Bytes(fetched.body), source, selection }
            }
        })
    }
}

impl Handle<ConvertToMarkdown> for Conversions {
    async fn handle(&self, _cx: &Context, input: ConvertToMarkdown) -> Result<String, Error> {
        let document = self.document(&input.uri).await?;
        Ok(self.converter.convert(document).await?.text)
    }
}

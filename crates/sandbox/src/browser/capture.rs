//! Pictures of a page.

use std::time::Duration;

use atoll_api::browser::{ImageFormat, PrintPage, TakeScreenshot};
use atoll_browser::element::Target;
use atoll_browser::{Format, Pdf, Shot};
use atoll_operation::{Content, Context, Error, Fetch, Source};

use super::service::Browsers;

/// How long an element may take to come into view.
const ELEMENT: Duration = Duration::from_secs(10);

impl Fetch<TakeScreenshot> for Browsers {
    async fn fetch(&self, cx: &Context, input: TakeScreenshot) -> Result<Content, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let selector = input.selector.filter(|selector| !selector.trim().is_empty());
        let clip = match selector {
            Some(selector) => {
                let area = page.tab.element_box(&Target::Selector(selector), ELEMENT).await;
                Some(page.outcome(area)?)
            }
            None => None,
        };
        let (format, media_type, name) = match input.format {
            ImageFormat::Png => (Format::Png, "image/png", "page.png"),
            ImageFormat::Jpeg | ImageFormat::Jpg => (Format::Jpeg, "image/jpeg", "page.jpg"),
            ImageFormat::Webp => (Format::Webp, "image/webp", "page.webp"),
        };
        let quality = input.quality.map(|quality| u8::try_from(quality).unwrap_or(100));
        let shot = Shot { full_page: input.full_page && clip.is_none(), clip, format, quality };
        let image = page.outcome(page.tab.screenshot(&shot).await)?;
        Ok(Content {
            headers: vec![
                ("x-image-width", format!("{:.0}", image.size.width)),
                ("x-image-height", format!("{:.0}", image.size.height)),
            ],
            ..shown(media_type, name, Source::Bytes(image.bytes))
        })
    }
}

impl Fetch<PrintPage> for Browsers {
    async fn fetch(&self, cx: &Context, input: PrintPage) -> Result<Content, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let pdf =
            Pdf { landscape: input.landscape, background: input.background, ..Pdf::default() };
        let bytes = page.outcome(page.tab.pdf(&pdf).await)?;
        Ok(shown("application/pdf", "page.pdf", Source::Bytes(bytes)))
    }
}

/// Something for a browser to show.
fn shown(media_type: &str, name: &str, source: Source) -> Content {
    Content {
        media_type: media_type.to_owned(),
        filename: Some(name.to_owned()),
        inline: true,
        version: None,
        headers: Vec::new(),
        source,
    }
}

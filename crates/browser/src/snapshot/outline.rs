//! The page as assistive technology tells it: an indented outline, with an index where something can be acted on.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::element::Key;
use crate::element::engine::DEPTH;
use crate::snapshot::text::read_frame;
use crate::snapshot::{Scope, TextSnapshot};
use crate::{Frame, Result, Tab};

/// A line as the engine tells it.
#[derive(Debug, Deserialize)]
struct Line {
    depth: usize,
    text: String,
    #[serde(default)]
    tail: String,
    #[serde(default)]
    number: Option<u64>,
    #[serde(default)]
    frame: Option<u64>,
    #[serde(default)]
    url: Option<String>,
}

/// The outline as it grows.
#[derive(Debug, Default)]
struct Outline {
    text: String,
    listed: Vec<Option<Key>>,
}

impl Tab {
    /// The accessibility tree as an outline. From here on indices mean those in it.
    pub async fn accessibility(self: &Arc<Self>, scope: &Scope) -> Result<TextSnapshot> {
        let (frame, told) = self.read("outline", json!({}), scope.selector.as_deref()).await?;
        let mut outline = Outline::default();
        write(&frame, told, 0, DEPTH, &mut outline).await;
        self.elements().list(outline.listed);
        let about = (String::new(), self.url());
        Ok(self.snapshot("accessibility", outline.text.trim_end().to_owned(), about, scope))
    }
}

fn write<'a>(
    frame: &'a Arc<Frame>,
    mut told: Value,
    indent: usize,
    depth: usize,
    outline: &'a mut Outline,
) -> BoxFuture<'a, ()> {
    Box::pin(async move {
        let epoch = told["epoch"].as_str().unwrap_or_default().to_owned();
        let lines: Vec<Line> = serde_json::from_value(told["lines"].take()).unwrap_or_default();
        for line in lines {
            let inside = indent + line.depth;
            outline.text.push_str(&"  ".repeat(inside));
            outline.text.push_str(&line.text);
            if let Some(number) = line.number {
                let key = Key { frame: frame.id().to_owned(), epoch: epoch.clone(), number };
                outline.text.push_str(&format!(" [index={}]", outline.listed.len()));
                outline.listed.push(Some(key));
            }
            let inner = match line.frame {
                Some(number) if depth > 0 => {
                    read_frame(frame, number, "outline", &json!({})).await.ok()
                }
                _ => None,
            };
            outline.text.push_str(if inner.is_some() { ":" } else { &line.tail });
            outline.text.push('\n');
            if let Some(url) = line.url {
                outline.text.push_str(&format!("{}- /url: {url}\n", "  ".repeat(inside + 1)));
            }
            if let Some((inner, told)) = inner {
                write(&inner, told, inside + 1, depth - 1, outline).await;
            }
        }
    })
}

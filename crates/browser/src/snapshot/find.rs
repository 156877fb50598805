//! Where on a page something is said.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::element::ElementError;
use crate::element::engine::DEPTH;
use crate::snapshot::elements::{FramePlace, Origin};
use crate::snapshot::text::read_frame;
use crate::{Frame, Result, Tab};

/// Places that are told at most.
const MATCHES: usize = 200;

/// Where something is said.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The first of them: the text, what is around it, the element, a selector for it, and its box.
    pub matches: Vec<Value>,
    /// How many there are.
    pub total: usize,
}

impl Tab {
    /// Finds a text in any case, however its white space is broken, in the page and its frames.
    pub async fn find_text(self: &Arc<Self>, keyword: &str) -> Result<Found> {
        if keyword.trim().is_empty() {
            let message = "there is nothing to find: the keyword is empty".to_owned();
            return Err(ElementError::Unsuitable { message }.into());
        }
        let request = json!({ "keyword": keyword, "limit": MATCHES });
        let (frame, told) = self.read("findText", request.clone(), None).await?;
        let mut found = Found::default();
        collect(&frame, told, &request, Origin::PAGE, DEPTH, &mut found).await;
        Ok(found)
    }
}

fn collect<'a>(
    frame: &'a Arc<Frame>,
    mut told: Value,
    request: &'a Value,
    origin: Origin,
    depth: usize,
    found: &'a mut Found,
) -> BoxFuture<'a, ()> {
    Box::pin(async move {
        let total = told["total"].as_u64().unwrap_or_default();
        found.total += usize::try_from(total).unwrap_or(usize::MAX);
        if let Value::Array(matches) = told["matches"].take() {
            for mut each in matches {
                if found.matches.len() >= MATCHES {
                    break;
                }
                origin.place(&mut each);
                each["frame"] =
                    if frame.is_main() { Value::Null } else { Value::from(frame.url()) };
                found.matches.push(each);
            }
        }
        let frames: Vec<FramePlace> =
            serde_json::from_value(told["frames"].take()).unwrap_or_default();
        for place in frames.iter().filter(|_| depth > 0) {
            let read = read_frame(frame, place.number, "findText", request).await;
            let Ok((inner, told)) = read else { continue };
            let origin = origin.of(place.origin);
            collect(&inner, told, request, origin, depth - 1, found).await;
        }
    })
}

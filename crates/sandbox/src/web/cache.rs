//! What was fetched lately, bounded in bytes and age.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use atoll_api::web::WebDocument;
use tokio::time::Instant;

/// How long something is kept.
const AGE: Duration = Duration::from_mins(15);
/// What an entry takes beside its content.
const OVERHEAD: usize = 512;

/// Pages by the address they were asked for.
#[derive(Debug)]
pub(super) struct Cache {
    pages: HashMap<String, (Instant, WebDocument)>,
    /// Addresses, oldest first.
    order: VecDeque<(Instant, String)>,
    bytes: usize,
    limit: usize,
}

impl Cache {
    pub(super) fn new(limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Self { pages: HashMap::new(), order: VecDeque::new(), bytes: 0, limit }
    }

    /// The page at an address, if it was fetched lately.
    pub(super) fn get(&self, url: &str) -> Option<WebDocument> {
        let (since, page) = self.pages.get(url)?;
        (since.elapsed() < AGE).then(|| page.clone())
    }

    /// Keeps a page. The oldest are forgotten first.
    pub(super) fn put(&mut self, url: String, page: WebDocument) {
        let size = size(&url, &page);
        if size > self.limit / 4 {
            return;
        }
        let now = Instant::now();
        self.forget(&url);
        self.bytes += size;
        self.order.push_back((now, url.clone()));
        self.pages.insert(url, (now, page));
        while let Some((since, url)) = self.order.front().cloned() {
            let current = self.pages.get(&url).is_some_and(|(known, _)| *known == since);
            if current && since.elapsed() < AGE && self.bytes <= self.limit {
                break;
            }
            self.order.pop_front();
            if current {
                self.forget(&url);
            }
        }
    }

    fn forget(&mut self, url: &str) {
        if let Some((_, page)) = self.pages.remove(url) {
            self.bytes -= size(url, &page);
        }
    }
}

fn size(url: &str, page: &WebDocument) -> usize {
    url.len() * 2 + page.url.len() + page.content.len() + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(content: &str) -> WebDocument {
        WebDocument {
            url: "u".to_owned(),
            title: None,
            content: content.to_owned(),
            content_type: None,
            status: 200,
            truncated: false,
            cached: false,
            redirect_url: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn pages_are_kept_for_a_while_and_within_a_bound() {
        let mut cache = Cache::new(10_000);
        cache.put("a".to_owned(), page("one"));
        assert_eq!(cache.get("a").unwrap().content, "one");
        cache.put("a".to_owned(), page("two"));
        assert_eq!(cache.get("a").unwrap().content, "two");
        cache.put("large".to_owned(), page(&"x".repeat(5000)));
        assert!(cache.get("large").is_none());
        for number in 0..100 {
            cache.put(number.to_string(), page(&"x".repeat(1000)));
            assert!(cache.bytes <= 10_000 && cache.pages.len() <= cache.order.len());
        }
        assert!(cache.get("a").is_none() && cache.get("99").is_some());
        tokio::time::advance(AGE).await;
        assert!(cache.get("99").is_none());
    }
}

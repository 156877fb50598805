//! Reading a page.

use atoll_api::browser::{
    AccessibilityTree, FindText, GetAccessibilityTree, GetElements, GetHtml, GetMarkdown, GetText,
    PageElement, PageMarkdown, TextMatch,
};
use atoll_browser::snapshot::{Scope, TextSnapshot};
use atoll_operation::{Context, Error, Handle};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::service::{Browsers, Page};

/// What a caller asked to see.
struct Excerpt {
    selector: Option<String>,
    max_chars: Option<u64>,
    since: Option<String>,
}

impl Excerpt {
    /// Whether the caller counts characters and so will want to ask for changes.
    fn is_frugal(&self) -> bool {
        self.selector.is_some() || self.max_chars.is_some() || self.since.is_some()
    }

    fn scope(&self, since: Option<String>) -> Scope {
        Scope {
            selector: self.selector.clone().filter(|selector| !selector.trim().is_empty()),
            max_chars: self.max_chars.map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
            since,
        }
    }
}

impl Browsers {
    fn scope(&self, page: &Page<'_>, kind: &'static str, excerpt: &Excerpt) -> Scope {
        excerpt.scope(self.since(page, kind, excerpt.since.clone()))
    }

    /// A text that is an answer by itself: its token goes into the hint.
    fn told(
        &self,
        page: &Page<'_>,
        kind: &'static str,
        excerpt: &Excerpt,
        snapshot: atoll_browser::Result<TextSnapshot>,
    ) -> Result<String, Error> {
        let note = snapshot.as_ref().ok().and_then(|snapshot| {
            self.remember(page, kind, &snapshot.snapshot);
            note(snapshot.note(), &snapshot.snapshot, excerpt)
        });
        Ok(page.noted(snapshot, note)?.text)
    }
}

/// What a reader should know, with the token for those who will want it.
fn note(note: Option<String>, token: &str, excerpt: &Excerpt) -> Option<String> {
    let token =
        excerpt.is_frugal().then(|| format!("snapshot {token}: pass it as `since` for changes"));
    let notes: Vec<_> = note.into_iter().chain(token).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

impl Handle<GetHtml> for Browsers {
    async fn handle(&self, cx: &Context, input: GetHtml) -> Result<String, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let GetHtml { outer, selector, max_chars, since, .. } = input;
        let excerpt = Excerpt { selector, max_chars, since };
        let scope = self.scope(&page, "html", &excerpt);
        let snapshot = page.tab.html(outer, &scope).await;
        self.told(&page, "html", &excerpt, snapshot)
    }
}

impl Handle<GetText> for Browsers {
    async fn handle(&self, cx: &Context, input: GetText) -> Result<String, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let GetText { selector, max_chars, since, .. } = input;
        let excerpt = Excerpt { selector, max_chars, since };
        let scope = self.scope(&page, "text", &excerpt);
        let snapshot = page.tab.text(&scope).await;
        self.told(&page, "text", &excerpt, snapshot)
    }
}

impl Handle<GetMarkdown> for Browsers {
    async fn handle(&self, cx: &Context, input: GetMarkdown) -> Result<PageMarkdown, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let GetMarkdown { selector, max_chars, since, .. } = input;
        let excerpt = Excerpt { selector, max_chars, since };
        let scope = self.scope(&page, "markdown", &excerpt);
        let snapshot = page.tab.markdown(&scope).await;
        let note = snapshot.as_ref().ok().and_then(TextSnapshot::note);
        let told = page.noted(snapshot, note)?;
        self.remember(&page, "markdown", &told.snapshot);
        Ok(PageMarkdown {
            markdown: told.text,
            title: told.title,
            url: told.url,
            snapshot: told.snapshot,
            omitted_chars: told.left_out_chars as u64,
        })
    }
}

impl Handle<GetAccessibilityTree> for Browsers {
    async fn handle(
        &self,
        cx: &Context,
        input: GetAccessibilityTree,
    ) -> Result<AccessibilityTree, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let GetAccessibilityTree { selector, max_chars, since, .. } = input;
        let excerpt = Excerpt { selector, max_chars, since };
        let scope = self.scope(&page, "accessibility", &excerpt);
        let snapshot = page.tab.accessibility(&scope).await;
        let note = snapshot.as_ref().ok().and_then(TextSnapshot::note);
        let told = page.noted(snapshot, note)?;
        self.remember(&page, "accessibility", &told.snapshot);
        Ok(AccessibilityTree {
            tree: told.text,
            title: page.tab.title().await.unwrap_or_default(),
            url: told.url,
            snapshot: told.snapshot,
            omitted_chars: told.left_out_chars as u64,
        })
    }
}

impl Handle<GetElements> for Browsers {
    async fn handle(&self, cx: &Context, input: GetElements) -> Result<Vec<PageElement>, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let GetElements { selector, max_chars, since, .. } = input;
        let excerpt = Excerpt { selector, max_chars, since };
        let scope = self.scope(&page, "elements", &excerpt);
        let snapshot = page.tab.elements_snapshot(&scope).await;
        let note = snapshot.as_ref().ok().and_then(|snapshot| {
            self.remember(&page, "elements", &snapshot.snapshot);
            note(snapshot.note(), &snapshot.snapshot, &excerpt)
        });
        typed(page.noted(snapshot, note)?.elements)
    }
}

impl Handle<FindText> for Browsers {
    async fn handle(&self, cx: &Context, input: FindText) -> Result<Vec<TextMatch>, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let found = page.tab.find_text(&input.keyword).await;
        let more = found.as_ref().ok().filter(|found| found.total > found.matches.len());
        let note = more.map(|found| {
            format!(
                "{} matches, of which the first {} are listed",
                found.total,
                found.matches.len()
            )
        });
        typed(page.noted(found, note)?.matches)
    }
}

/// What a page said, as the API has it.
fn typed<T: DeserializeOwned>(values: Vec<Value>) -> Result<Vec<T>, Error> {
    serde_json::from_value(Value::Array(values))
        .map_err(|error| Error::internal("the page's elements could not be read", error))
}

//! Contexts and their tabs.

use std::time::Duration;

use atoll_browser::{Error, Until};
use serde_json::json;

use crate::support::{Bench, LONG, eventually};

#[tokio::test]
async fn tabs_are_opened_activated_and_closed_by_index() {
    let bench = Bench::new().await;
    let context = bench.context().await;
    let first = context.active_tab().await.unwrap();
    assert_eq!(context.tabs().len(), 1, "the browser's first tab is the first tab");
    let url = bench.site.page("<title>second</title>");
    let (index, second) = context.new_tab(Some(&url)).await.unwrap();
    assert_eq!((index, second.title().await.unwrap().as_str()), (1, "second"));
    assert!(context.is_active(&second));
    context.activate(0).await.unwrap();
    assert_eq!(context.active_tab().await.unwrap().id(), first.id());
    let missing = context.activate(7).await;
    assert!(matches!(missing, Err(Error::NoSuchTab { index: 7, count: 2 })), "{missing:?}");
    context.close_tab(0).await.unwrap();
    assert_eq!(context.active_tab().await.unwrap().id(), second.id());
    let gone = first.evaluate("1", LONG).await;
    assert!(matches!(gone, Err(Error::TabClosed)), "{gone:?}");
    context.close_tab(0).await.unwrap();
    assert_eq!(context.tabs().len(), 1, "the last one is replaced");
    let tab = context.active_tab().await.unwrap();
    assert_eq!(tab.evaluate("1 + 1", LONG).await.unwrap(), json!(2));
}

#[tokio::test]
async fn a_tab_whose_page_cannot_be_loaded_is_not_left_behind() {
    let bench = Bench::with(|options| options.limits.tabs = 2).await;
    let context = bench.context().await;
    context.active_tab().await.unwrap();
    for url in ["nonsense", "http://127.0.0.1:1/"] {
        assert!(context.new_tab(Some(url)).await.is_err());
        assert_eq!(context.tabs().len(), 1, "{url}");
    }
    context.new_tab(None).await.unwrap();
    let more = context.new_tab(None).await;
    assert!(matches!(more, Err(Error::TooManyTabs { max: 2 })), "{more:?}");
}

#[tokio::test]
async fn contexts_share_nothing() {
    let bench = Bench::with(|options| options.limits.contexts = 2).await;
    let url = bench.site.page("");
    let set = "document.cookie = 'who=me'; localStorage.who = 'me'";
    let one = bench.browser.context(Some("one")).await.unwrap();
    let tab = one.active_tab().await.unwrap();
    tab.navigate(&url, Until::Load, LONG).await.unwrap();
    tab.evaluate(set, LONG).await.unwrap();
    for name in [None, Some("two")] {
        let context = bench.browser.context(name).await.unwrap();
        let tab = context.active_tab().await.unwrap();
        tab.navigate(&url, Until::Load, LONG).await.unwrap();
        let seen = tab.evaluate("[document.cookie, localStorage.who ?? null]", LONG).await.unwrap();
        assert_eq!(seen, json!(["", null]), "{name:?}");
        assert_eq!(context.tabs().len(), 1);
    }
    let again = bench.browser.context(Some("one")).await.unwrap().active_tab().await.unwrap();
    assert_eq!(again.id(), tab.id());
    let third = bench.browser.context(Some("three")).await;
    assert!(matches!(third, Err(Error::TooManyContexts { max: 2 })), "{third:?}");
    let odd = bench.browser.context(Some("a\nb")).await;
    assert!(matches!(odd, Err(Error::ContextName { .. })), "{odd:?}");
    assert!(bench.browser.close_context("one").await.unwrap());
    assert!(!bench.browser.close_context("one").await.unwrap());
    bench.browser.context(Some("three")).await.unwrap().active_tab().await.unwrap();
}

#[tokio::test]
async fn several_agents_never_see_each_others_pages() {
    let bench = Bench::new().await;
    let pages: Vec<_> = (0..24).map(|n| bench.site.page(&format!("<title>{n}</title>"))).collect();
    let agents = ["a", "b", "c", "d"].map(|name| {
        let (browser, pages) = (bench.browser.clone(), pages.clone());
        async move {
            for (number, url) in pages.iter().enumerate() {
                let context = browser.context(Some(name)).await.unwrap();
                let tab = context.active_tab().await.unwrap();
                tab.navigate(url, Until::Load, LONG).await.unwrap();
                let title = tab.evaluate("document.title", LONG).await.unwrap();
                assert_eq!(title, json!(number.to_string()), "{name}");
                assert_eq!(context.tabs().len(), 1);
            }
        }
    });
    futures::future::join_all(agents).await;
}

#[tokio::test]
async fn a_tab_in_the_background_draws_and_keeps_time() {
    let bench = Bench::new().await;
    let context = bench.context().await;
    let back = bench.show("").await;
    context.new_tab(None).await.unwrap();
    let frames = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(document.visibilityState))))";
    assert_eq!(back.evaluate(frames, LONG).await.unwrap(), json!("visible"));
}

/// Less than a question waits that nobody answers: a window that hangs on one is not there by then.
const SOON: Duration = Duration::from_secs(25);

#[tokio::test]
async fn windows_a_page_opens_become_tabs_and_a_hint_but_not_active() {
    let bench = Bench::with(|options| options.limits.tabs = 3).await;
    let target = bench.site.path("<title>popup</title>");
    let body = format!("<a id=a target=_blank href='{target}'>x</a>");
    let tab = bench.show(&body).await;
    let context = bench.context().await;
    for (code, index) in [
        (format!("void window.open('{target}')"), 1),
        ("document.querySelector('#a').click()".to_owned(), 2),
    ] {
        tab.evaluate(&code, LONG).await.unwrap();
        eventually("the new tab", async || context.tabs().len() == index + 1).await;
        assert!(context.is_active(&tab));
        let hints = tab.take_hints();
        let told = hints
            .iter()
            .any(|hint| hint.contains(&format!("index {index}")) && hint.contains(&target));
        assert!(told, "{code}: {hints:?}");
        let opened = context.activate(index).await.unwrap();
        opened.wait_load(Until::Load, SOON).await.unwrap();
        // While the blank page gives way to the one asked for, there is none that could tell its title.
        eventually("its page", async || opened.title().await.is_ok_and(|title| title == "popup"))
            .await;
        context.activate(0).await.unwrap();
    }
    tab.evaluate(&format!("void window.open('{target}')"), LONG).await.unwrap();
    eventually("the refusal", async || {
        tab.take_hints().iter().any(|hint| hint.contains("closed at once"))
    })
    .await;
    assert_eq!(context.tabs().len(), 3);
    assert_eq!(tab.evaluate("1", LONG).await.unwrap(), json!(1));
}

#[tokio::test]
async fn a_page_for_our_own_use_is_no_tab() {
    let bench = Bench::new().await;
    let context = bench.context().await;
    let tab = bench.show("<title>seen</title>").await;
    let hidden = context.hidden_tab().await.unwrap();
    let url = bench.site.page("<title>hidden</title>");
    assert_eq!(hidden.navigate(&url, Until::Load, LONG).await.unwrap().title, "hidden");
    assert_eq!(context.tabs().len(), 1);
    assert!(context.is_active(&tab) && tab.take_hints().is_empty());
    let page = hidden.clone();
    drop(hidden);
    eventually("its end", async || page.is_closed()).await;
    assert_eq!(context.active_tab().await.unwrap().title().await.unwrap(), "seen");
}

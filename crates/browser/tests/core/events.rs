//! What a page does unasked: writing to the console, asking questions, dying.

use std::time::Duration;

use atoll_browser::{ConsoleEntry, Error, Until};
use serde_json::json;

use crate::support::{Bench, LONG, eventually};

#[tokio::test]
async fn the_console_is_kept_from_the_first_message_on() {
    let bench = Bench::with(|options| options.limits.console_entries = 8).await;
    let body = "<script>console.log('first', 1, { a: [1] }, null, undefined); console.error(new Error('bad'));\n\
                setTimeout(() => { throw new TypeError('thrown') }); Promise.reject('rejected')</script>\
                <img src=/status/404>";
    let tab = bench.show(body).await;
    // The page's icon is missing too, so there may be more, in any order but that of the script.
    for (source, said) in [
        ("exception", "TypeError: thrown"),
        ("exception", "rejected"),
        ("network", "404"),
        ("console", "Error: bad"),
    ] {
        let is_it = |entry: &ConsoleEntry| entry.source == source && entry.text.contains(said);
        eventually(said, async || tab.console(false).iter().any(is_it)).await;
    }
    let entries = tab.console(false);
    let at = |text: &str| entries.iter().position(|entry| entry.text.starts_with(text)).unwrap();
    let (first, second) = (&entries[at("first")], at("Error: bad"));
    assert_eq!(
        (first.text.as_str(), first.level.as_str()),
        ("first 1 {a: Array(1)} null undefined", "log")
    );
    assert!(at("first") < second);
    assert!(first.url.is_some() && first.line == Some(1) && first.timestamp > 1e12);
    tab.evaluate("for (let i = 0; i < 20; i++) console.info(i)", LONG).await.unwrap();
    // What is told of the missing icon may come after it.
    let is_last = |entry: &ConsoleEntry| entry.text == "19";
    eventually("the last message", async || tab.console(false).iter().any(is_last)).await;
    assert_eq!(tab.console(true).len(), 8);
    assert!(tab.console(false).is_empty());
}

#[tokio::test]
async fn dialogs_are_answered_and_told_of() {
    let bench = Bench::new().await;
    let tab = bench.show("").await;
    let code = "[alert('hey'), confirm('sure?'), prompt('name?', 'x')]";
    assert_eq!(tab.evaluate(code, LONG).await.unwrap(), json!([null, false, null]));
    let hints = tab.take_hints();
    assert_eq!(hints.len(), 3, "{hints:?}");
    for (hint, word) in
        hints.iter().zip(["accepted: \"hey\"", "dismissed: \"sure?\"", "dismissed: \"name?\""])
    {
        assert!(hint.contains(word), "{hint}");
    }
    let page = bench.site.page("<script>alert('at once')</script><title>loaded</title>");
    assert_eq!(tab.navigate(&page, Until::Load, LONG).await.unwrap().title, "loaded");
    assert_eq!(tab.take_hints().len(), 1);
}

#[tokio::test]
async fn a_page_that_dies_is_named_and_can_be_reloaded() {
    let bench = Bench::new().await;
    let tab = bench.show("<title>alive</title>").await;
    for round in 0..2 {
        let waiting = tab.evaluate("new Promise(() => {})", LONG);
        let dying = async {
            // A page that crashes does not answer the command to do so.
            let _gone = tab
                .session()
                .command_within("Page.crash", json!({}), Duration::from_secs(30))
                .await;
        };
        let (waited, ()) = tokio::join!(waiting, dying);
        assert!(matches!(waited, Err(Error::TabCrashed { .. })), "{round}: {waited:?}");
        let after = tab.evaluate("1", LONG).await;
        assert!(matches!(after, Err(Error::TabCrashed { .. })), "{round}: {after:?}");
        assert!(matches!(
            tab.screenshot(&atoll_browser::Shot::default()).await,
            Err(Error::TabCrashed { .. })
        ));
        if round == 0 {
            assert_eq!(tab.reload(Until::Load, LONG).await.unwrap().title, "alive");
        } else {
            let url = bench.site.page("<title>elsewhere</title>");
            assert_eq!(tab.navigate(&url, Until::Load, LONG).await.unwrap().title, "elsewhere");
        }
        assert_eq!(tab.evaluate("1 + 1", LONG).await.unwrap(), json!(2));
    }
}

#[tokio::test]
async fn a_page_that_eats_memory_dies_alone() {
    // A small heap makes it die soon, and without starving the machine.
    let bench = Bench::with(|options| {
        options.extra_arguments.push("--js-flags=--max-old-space-size=64".to_owned());
    })
    .await;
    let context = bench.context().await;
    let other = bench.browser.context(Some("other")).await.unwrap().active_tab().await.unwrap();
    let tab = bench.show("").await;
    let eaten =
        tab.evaluate("const all = []; for (;;) all.push(new Array(10000).fill({}))", LONG).await;
    assert!(matches!(eaten, Err(Error::TabCrashed { .. })), "{eaten:?}");
    assert_eq!(other.evaluate("1 + 1", LONG).await.unwrap(), json!(2));
    context.active_tab().await.unwrap().reload(Until::Load, LONG).await.unwrap();
    assert_eq!(tab.evaluate("1 + 1", LONG).await.unwrap(), json!(2));
}

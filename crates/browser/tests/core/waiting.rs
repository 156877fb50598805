//! Waiting for something about a page.

use std::time::Duration;

use atoll_browser::{Error, Until, UrlPattern};
use serde_json::json;

use crate::support::{Bench, LONG};

const SHORT: Duration = Duration::from_millis(300);

fn pattern(text: &str) -> UrlPattern {
    UrlPattern::parse(text).unwrap()
}

#[tokio::test]
async fn a_url_is_waited_for_however_it_comes() {
    let bench = Bench::new().await;
    let next = bench.site.page("<title>next</title>");
    let tab = bench.show("").await;
    tab.evaluate("setTimeout(() => history.pushState(0, '', '/pushed?x=1'), 50)", LONG)
        .await
        .unwrap();
    tab.wait_url(&pattern("**/pushed*"), LONG).await.unwrap();
    tab.evaluate(&format!("setTimeout(() => location = '{next}', 50)"), LONG).await.unwrap();
    assert_eq!(tab.wait_url(&pattern(&next), LONG).await.unwrap(), next);
    tab.wait_load(Until::Load, LONG).await.unwrap();
    let error = tab.wait_url(&pattern("**/elsewhere"), SHORT).await.unwrap_err();
    assert!(error.to_string().contains(&next), "{error}");
}

#[tokio::test]
async fn a_quiet_network_is_waited_for_also_after_the_page_has_loaded() {
    let bench = Bench::new().await;
    let tab = bench.show("").await;
    tab.wait_network_idle(LONG).await.unwrap();
    tab.evaluate("void fetch('/slow/800').then(() => window.done = 1)", LONG).await.unwrap();
    tab.wait_network_idle(LONG).await.unwrap();
    assert_eq!(tab.evaluate("window.done", LONG).await.unwrap(), json!(1));
    tab.evaluate("void fetch('/never').catch(() => 0)", LONG).await.unwrap();
    let error = tab.wait_network_idle(Duration::from_secs(1)).await.unwrap_err();
    assert!(error.to_string().contains("1 requests"), "{error}");
}

#[tokio::test]
async fn requests_and_responses_count_from_the_latest_action_on() {
    let bench = Bench::new().await;
    let tab = bench.show("").await;
    tab.evaluate("fetch('/echo?one').then(r => r.text())", LONG).await.unwrap();
    // It has come and gone already.
    let response = tab.wait_response(&pattern("**/echo?one"), LONG).await.unwrap();
    assert_eq!((response.status, response.resource_type.as_str()), (Some(200), "Fetch"));
    let request = tab.wait_request(&pattern("/echo?one"), LONG).await.unwrap();
    assert_eq!((request.method.as_str(), request.request_id), ("GET", response.request_id));
    tab.evaluate("void setTimeout(() => fetch('/status/503'), 50)", LONG).await.unwrap();
    assert_eq!(
        tab.wait_response(&pattern("re:/status/\\d+"), LONG).await.unwrap().status,
        Some(503)
    );
    let earlier = tab.wait_response(&pattern("**/echo?one"), SHORT).await;
    assert!(matches!(earlier, Err(Error::Timeout { .. })), "{earlier:?}");
}

#[tokio::test]
async fn a_function_is_waited_for_and_survives_a_navigation() {
    let bench = Bench::new().await;
    let next = bench.site.page("<script>setTimeout(() => window.ready = 'yes', 100)</script>");
    let tab = bench.show("").await;
    tab.evaluate(&format!("void setTimeout(() => location = '{next}', 100)"), LONG).await.unwrap();
    for code in
        ["window.ready", "() => window.ready", "return window.ready", "async () => window.ready"]
    {
        assert_eq!(tab.wait_function(code, None, LONG).await.unwrap(), json!("yes"), "{code}");
    }
    let every = Some(Duration::from_millis(20));
    assert_eq!(tab.wait_function("document.body", every, LONG).await.unwrap(), json!("<body>"));
    let error = tab.wait_function("window.missing", None, SHORT).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    let error = tab.wait_function("missing.at.all", None, LONG).await.unwrap_err();
    assert!(matches!(error, Error::Script { .. }), "{error:?}");
    let error = tab.wait_function("1 +", None, LONG).await.unwrap_err();
    assert!(matches!(error, Error::Syntax { .. }), "{error:?}");
    let error = tab.wait_function("for (;;) {}", None, SHORT).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. } | Error::Syntax { .. }), "{error:?}");
}

#[tokio::test]
async fn a_download_is_waited_for_whether_it_began_before_or_after() {
    let bench = Bench::new().await;
    let tab = bench.show("<a id=a href=/download/x.txt download>x</a>").await;
    let context = bench.context().await;
    tab.evaluate("document.querySelector('#a').click()", LONG).await.unwrap();
    let first = context.next_download(LONG).await.unwrap();
    assert_eq!(first.suggested_filename, "x.txt");
    let late = "void setTimeout(() => document.querySelector('#a').click(), 100)";
    tab.evaluate(late, LONG).await.unwrap();
    assert_ne!(context.next_download(LONG).await.unwrap().id, first.id);
    let none = context.next_download(SHORT).await;
    assert!(matches!(none, Err(Error::Timeout { .. })), "{none:?}");
}

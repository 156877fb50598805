//! Going to pages, back, forward, and loading them anew.

use std::time::Duration;

use atoll_browser::{Error, Until};
use serde_json::json;

use crate::support::{Bench, LONG};

const SHORT: Duration = Duration::from_millis(700);

#[tokio::test]
async fn a_page_is_loaded_as_far_as_asked() {
    let bench = Bench::new().await;
    let tab = bench.tab().await;
    let url = bench.site.page("<title>Hello</title>");
    for until in [Until::Commit, Until::DomContentLoaded, Until::Load, Until::NetworkIdle] {
        let arrived = tab.navigate(&url, until, LONG).await.unwrap();
        assert_eq!((arrived.url.as_str(), arrived.status), (url.as_str(), Some(200)));
        if until != Until::Commit {
            assert_eq!(arrived.title, "Hello");
        }
    }
    let redirect = bench.site.url(&format!(
        "/redirect{}",
        url.split_once("1:")
            .unwrap()
            .1
            .split_once('/')
            .map(|(_, path)| format!("/{path}"))
            .unwrap()
    ));
    assert_eq!(tab.navigate(&redirect, Until::Load, LONG).await.unwrap().url, url);
    let jump = format!("{url}#there");
    assert_eq!(tab.navigate(&jump, Until::Load, LONG).await.unwrap().url, jump);
    let missing = tab.navigate(&bench.site.url("/status/404"), Until::Load, LONG).await.unwrap();
    assert_eq!((missing.status, missing.title.as_str()), (Some(404), "404"));
    let text = tab.navigate("data:text/html,<title>data</title>", Until::Load, LONG).await.unwrap();
    assert_eq!((text.status.unwrap_or(200), text.title.as_str()), (200, "data"));
}

#[tokio::test]
async fn the_title_is_the_one_that_the_page_gave_itself_while_it_was_loaded() {
    let bench = Bench::new().await;
    let tab = bench.tab().await;
    let url = bench.site.page(
        "<title>first</title><iframe srcdoc='<title>inner</title>'></iframe><script>\
           addEventListener('load', () => { document.title = 'last' });\
           document.title = typeof atollTellTitle;\
         </script>",
    );
    for _ in 0..3 {
        assert_eq!(tab.navigate(&url, Until::Load, LONG).await.unwrap().title, "last");
    }
    assert_eq!(tab.reload(Until::Load, LONG).await.unwrap().title, "last");
    // It is told once: what the page calls itself later is asked for.
    tab.evaluate("document.title = 'later'", LONG).await.unwrap();
    let jump = format!("{url}#there");
    assert_eq!(tab.navigate(&jump, Until::Load, LONG).await.unwrap().title, "later");
    assert_eq!(tab.evaluate("typeof atollTellTitle", LONG).await.unwrap(), json!("undefined"));
}

#[tokio::test]
async fn history_goes_back_and_forward_and_ends() {
    let bench = Bench::new().await;
    let tab = bench.tab().await;
    let (first, second) =
        (bench.site.page("<title>1</title>"), bench.site.page("<title>2</title>"));
    tab.navigate(&first, Until::Load, LONG).await.unwrap();
    tab.navigate(&second, Until::Load, LONG).await.unwrap();
    assert_eq!(tab.back(Until::Load, LONG).await.unwrap().title, "1");
    assert_eq!(tab.forward(Until::Load, LONG).await.unwrap().url, second);
    let error = tab.forward(Until::Load, LONG).await.unwrap_err();
    assert!(matches!(error, Error::NoHistory { direction: "forward" }), "{error:?}");
    tab.evaluate("history.pushState(0, '', '#spa')", LONG).await.unwrap();
    assert_eq!(tab.back(Until::Load, LONG).await.unwrap().url, second);
    tab.evaluate("window.mark = 1", LONG).await.unwrap();
    assert_eq!(tab.reload(Until::Load, LONG).await.unwrap().url, second);
    assert_eq!(tab.evaluate("window.mark", LONG).await.unwrap(), json!(null));
}

#[tokio::test]
async fn what_cannot_be_opened_is_named_and_changes_nothing() {
    let bench = Bench::new().await;
    let tab = bench.show("<title>here</title>").await;
    let here = tab.url();
    for url in ["", "example.org", "http://", "http://[::1", "http://host:99999/"] {
        let error = tab.navigate(url, Until::Load, LONG).await.unwrap_err();
        assert!(matches!(error, Error::InvalidUrl { .. }), "{url}: {error:?}");
    }
    for url in ["chrome://crash", "about:hang", "javascript:alert(1)", "ftp://host/"] {
        let error = tab.navigate(url, Until::Load, LONG).await.unwrap_err();
        assert!(matches!(error, Error::RefusedUrl { .. }), "{url}: {error:?}");
    }
    assert_eq!(tab.url(), here);
    let error = tab.navigate("http://127.0.0.1:1/", Until::Load, LONG).await.unwrap_err();
    match error {
        Error::NavigationFailed { reason, .. } => assert!(reason.contains("net::ERR_"), "{reason}"),
        other => panic!("{other:?}"),
    }
    let nowhere = tab.navigate("http://does-not.exist.invalid/", Until::Load, LONG).await;
    assert!(matches!(nowhere, Err(Error::NavigationFailed { .. })), "{nowhere:?}");
}

#[tokio::test]
async fn a_load_that_never_ends_ends_at_its_time() {
    let bench = Bench::new().await;
    let tab = bench.show("<title>here</title>").await;
    for (path, until) in
        [("/never", Until::Commit), ("/never", Until::Load), ("/endless", Until::Load)]
    {
        let error = tab.navigate(&bench.site.url(path), until, SHORT).await.unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{path}: {error:?}");
    }
    // What has come of it can be used, and the tab can go elsewhere.
    let text = "document.querySelector('#first').textContent";
    assert_eq!(tab.evaluate(text, LONG).await.unwrap(), json!("first"));
    let endless = tab.navigate(&bench.site.url("/endless"), Until::Commit, LONG).await.unwrap();
    assert_eq!(endless.status, Some(200));
    let url = bench.site.page("<title>after</title>");
    assert_eq!(tab.navigate(&url, Until::Load, LONG).await.unwrap().title, "after");
}

#[tokio::test]
async fn a_download_is_an_outcome_of_its_own() {
    let bench = Bench::new().await;
    let tab = bench.show("<title>here</title>").await;
    let here = tab.url();
    for round in 0..2 {
        let arrived =
            tab.navigate(&bench.site.url("/download/a.bin"), Until::Load, LONG).await.unwrap();
        assert_eq!((arrived.url.as_str(), arrived.title.as_str()), (here.as_str(), "here"));
        assert_eq!(arrived.download.unwrap().suggested_filename, "a.bin");
        let download = bench.context().await.next_download(LONG).await.unwrap();
        let path = download.path.unwrap();
        assert!(path.starts_with(bench.directory.path().join("Downloads")), "{round}: {path:?}");
        assert_eq!(std::fs::read(&path).unwrap(), b"downloaded bytes");
    }
    let files = std::fs::read_dir(bench.directory.path().join("Downloads")).unwrap().flatten();
    let mut names: Vec<_> = files.filter_map(|file| file.file_name().into_string().ok()).collect();
    names.sort_unstable();
    assert_eq!(names, [".incoming", "a (1).bin", "a.bin"], "the second must not replace the first");
    let nothing = tab.navigate(&bench.site.url("/status/204"), Until::Load, LONG).await;
    assert!(matches!(nothing, Err(Error::NavigationFailed { .. })), "{nothing:?}");
}

#[tokio::test]
async fn a_page_that_asks_whether_to_leave_it_is_left() {
    let bench = Bench::new().await;
    let body = "<script>addEventListener('beforeunload', e => e.preventDefault())</script>";
    let tab = bench.show(body).await;
    // Only a page somebody did something with may ask.
    tab.evaluate("document.body.focus()", LONG).await.unwrap();
    let url = bench.site.page("<title>left</title>");
    assert_eq!(tab.navigate(&url, Until::Load, LONG).await.unwrap().title, "left");
}

//! Elements in frames, also those of other sites; and what a press leads to.

use crate::support::{Bench, LONG};
use crate::{SHORT, at, by, click, value};

const INNER: &str = r#"<p>Inside <span id="where"></span></p><input id="field">
    <button id="press" onclick="top.postMessage(location.hash + event.isTrusted, '*')">Press</button>
    <script>where.textContent = location.hash</script>"#;

/// A page with a frame of its own site and one of another.
async fn page(bench: &Bench) -> std::sync::Arc<atoll_browser::Tab> {
    let inner = bench.site.path(INNER);
    let (near, far) = (bench.site.url(&inner), bench.site.other_site(&inner));
    bench
        .show(&format!(
            r#"<h1>Outside</h1><button id="outer">Outer</button>
            <iframe name="near" style="border: 9px solid; padding: 4px" src="{near}#near"></iframe>
            <div style="height: 2000px"></div>
            <iframe id="far" title="far" style="border: 5px solid" src="{far}#far"></iframe>
            <script>told = []; addEventListener('message', (event) => told.push(event.data))</script>"#
        ))
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn elements_in_frames_of_any_site_are_found_and_pressed_for_real() {
    let bench = Bench::new().await;
    let tab = page(&bench).await;
    for (selector, told) in [
        ("iframe[name=near] >> #press", "#neartrue"),
        ("#far >> #press", "#fartrue"),
        ("frame=near >> text=Press", "#neartrue"),
        ("iframe >> nth=1 >> role=button", "#fartrue"),
    ] {
        value(&tab, "told.length = 0").await;
        click(&tab, selector).await;
        let answer = tab.wait_function("told.length", None, LONG).await;
        assert!(answer.is_ok(), "{selector}: {answer:?}");
        assert_eq!(value(&tab, "told.join()").await, told, "{selector}");
    }
    assert_eq!(tab.fill(&by("#far >> #field"), "over there", LONG).await.unwrap(), "over there");
    click(&tab, "#far >> #field").await;
    tab.type_text("!", std::time::Duration::ZERO).await.unwrap();
    let far = tab.frames().into_iter().find(|frame| frame.url().ends_with("#far")).unwrap();
    let typed = "document.querySelector('#field').value";
    let typed = far.evaluate(typed, atoll_browser::World::Main, LONG).await.unwrap();
    assert!(typed.as_str().unwrap().contains('!'), "{typed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selector_without_a_frame_is_tried_in_all_of_them_also_in_those_to_come() {
    let bench = Bench::new().await;
    let tab = page(&bench).await;
    assert_eq!(tab.fill(&by("#field >> nth=0"), "x", LONG).await.unwrap(), "x");
    let later = bench
        .site
        .path(r#"<button id="later" onclick="top.postMessage('later', '*')">Later</button>"#);
    let later = bench.site.other_site(&later);
    let add = format!(
        "setTimeout(() => {{ const frame = document.createElement('iframe'); frame.src = '{later}'; document.body.prepend(frame) }}, 200)"
    );
    value(&tab, &add).await;
    click(&tab, "#later").await;
    tab.wait_function("told.includes('later')", None, LONG).await.unwrap();
    let error = tab.click(&at("#nowhere"), "left", 1, SHORT).await.unwrap_err().to_string();
    assert!(error.contains("frames"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_covers_a_frame_is_named() {
    let bench = Bench::new().await;
    let tab = page(&bench).await;
    value(&tab, r#"document.body.insertAdjacentHTML('beforeend', '<div id="veil" style="position: fixed; inset: 0">wait</div>'), 0"#).await;
    let error = tab.click(&at("#far >> #press"), "left", 1, SHORT).await.unwrap_err().to_string();
    assert!(error.contains("veil"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_press_on_a_link_the_next_page_is_there() {
    let bench = Bench::new().await;
    let next = bench.site.page("<h1>Next page</h1>");
    let tab = bench.show(&format!(r#"<a href="{next}">Go</a>"#)).await;
    click(&tab, "text=Go").await;
    assert_eq!(
        tab.text(&atoll_browser::snapshot::Scope::default()).await.unwrap().text,
        "Next page"
    );
    let tab = bench.show(&format!(r#"<form action="{next}"><input name="q"></form>"#)).await;
    click(&tab, "input").await;
    tab.type_text("word\n", std::time::Duration::ZERO).await.unwrap();
    assert_eq!(value(&tab, "document.body.innerText").await, "Next page");
}

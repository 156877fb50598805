//! Pages read: elements, text, Markdown, outline; cut, narrowed, and compared.

use atoll_browser::Error;
use atoll_browser::element::{ElementError, Pointer, Target};
use atoll_browser::snapshot::Scope;
use serde_json::{Value, json};

use crate::support::{Bench, LONG};
use crate::value;

const PAGE: &str = r#"<title>Shop</title>
    <nav><a href="/a">Start</a> <a href="/b">About us</a></nav>
    <main><h1>Sea <em>salt</em></h1>
    <p>Salt from the sea, with <a href="/more">more</a> than enough words around it to be what a reader came for, and then a few more
       of them, so that nobody could mistake it for a menu or a footer: that is what an article is.</p>
    <ul><li>one<ol><li>inner</li></ol></li><li>two</li></ul>
    <table><tr><th>Name</th><th>Price</th></tr><tr><td>Salt</td><td>1 | 2</td></tr></table>
    <pre><code class="language-js">let a = 1;</code></pre>
    <label>Amount <input id="amount" value="3" placeholder="how much"></label>
    <input type="checkbox" id="gift" aria-label="Gift" checked> <button id="buy" disabled>Buy</button>
    <p style="display: none">hidden words</p></main>
    <footer>Imprint</footer>"#;

fn scope() -> Scope {
    Scope::default()
}

#[tokio::test(flavor = "multi_thread")]
async fn elements_are_listed_and_used_by_index_until_the_page_moves_on() {
    let bench = Bench::new().await;
    let tab = bench.show(PAGE).await;
    let listed = tab.elements_snapshot(&scope()).await.unwrap();
    let indices: Vec<Value> = listed.elements.iter().map(|each| each["index"].clone()).collect();
    assert_eq!(indices, (0..6).map(Value::from).collect::<Vec<_>>());
    let amount = &listed.elements[3];
    for (field, expected) in [
        ("tag", json!("input")),
        ("role", json!("textbox")),
        ("name", json!("Amount")),
        ("text", json!("")),
        ("placeholder", json!("how much")),
        ("href", json!(null)),
        ("type", json!("text")),
        ("value", json!("3")),
        ("checked", json!(null)),
        ("is_visible", json!(true)),
        ("is_enabled", json!(true)),
        ("frame", json!(null)),
    ] {
        assert_eq!(amount[field], expected, "{field}");
    }
    assert!(amount["bounding_box"]["width"].as_f64().unwrap() > 10.0);
    assert_eq!(listed.elements[0]["href"].as_str().unwrap(), bench.site.url("/a"));
    assert_eq!(listed.elements[4]["checked"], true);
    assert_eq!(listed.elements[5]["is_enabled"], false);

    assert_eq!(tab.fill(&Target::Index(3), "7", LONG).await.unwrap(), "7");
    tab.click(&Pointer::Element(Target::Index(4)), "left", 1, LONG).await.unwrap();
    assert_eq!(value(&tab, "gift.checked").await, false);
    value(&tab, "amount.remove()").await;
    let stale = async |index| match tab.fill(&Target::Index(index), "x", LONG).await {
        Err(Error::Element(ElementError::Stale { index: named, .. })) => named == index,
        _ => false,
    };
    assert!(stale(3).await && stale(99).await);
    bench.show(PAGE).await;
    assert!(stale(0).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_listing_tells_only_what_changed_and_keeps_indices() {
    let bench = Bench::new().await;
    let tab = bench.show(PAGE).await;
    let first = tab.elements_snapshot(&scope()).await.unwrap();
    let since = |token: &str| Scope { since: Some(token.to_owned()), ..scope() };
    let same = tab.elements_snapshot(&since(&first.snapshot)).await.unwrap();
    assert!(same.is_delta && same.elements.is_empty() && same.removed.is_empty());
    value(&tab, "document.querySelector('nav a').remove(), buy.disabled = false,         document.querySelector('nav').insertAdjacentHTML('beforeend', '<a href=/new>New</a>'), 0").await;
    let changed = tab.elements_snapshot(&since(&same.snapshot)).await.unwrap();
    assert_eq!(changed.removed, [0]);
    let told: Vec<(u64, &str)> = changed
        .elements
        .iter()
        .map(|each| (each["index"].as_u64().unwrap(), each["name"].as_str().unwrap()))
        .collect();
    assert!(told.contains(&(6, "New")) && told.contains(&(5, "Buy")), "{told:?}");
    assert_eq!(tab.fill(&Target::Index(3), "9", LONG).await.unwrap(), "9");
    let forgotten = tab.elements_snapshot(&since("s999")).await.unwrap();
    assert!(!forgotten.is_delta && forgotten.elements.len() == 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_reads_as_text_markdown_and_outline() {
    let bench = Bench::new().await;
    let tab = bench.show(PAGE).await;
    let text = tab.text(&scope()).await.unwrap();
    assert!(text.text.contains("Sea salt\n") && text.text.contains("Name\tPrice"), "{}", text.text);
    assert!(text.text.contains("About us") && !text.text.contains("hidden words"));
    assert_eq!(text.title, "Shop");
    let markdown = tab.markdown(&scope()).await.unwrap().text;
    let more = bench.site.url("/more");
    for part in [
        "# Sea *salt*",
        &format!("[more]({more})"),
        "- one\n  1. inner\n- two",
        "| Name | Price |\n| --- | --- |\n| Salt | 1 \\| 2 |",
        "```js\nlet a = 1;\n```",
    ] {
        assert!(markdown.contains(part), "{part:?} in {markdown}");
    }
    assert!(!markdown.contains("Imprint") && !markdown.contains("About us"), "{markdown}");
    let outline = tab.accessibility(&scope()).await.unwrap().text;
    for line in [
        "- navigation:",
        "- link \"Start\" [index=0]",
        "- heading \"Sea salt\" [level=1]",
        "- textbox \"Amount\" [index=3]: 3",
        "- checkbox \"Gift\" [checked] [index=4]",
        "- button \"Buy\" [disabled] [index=5]",
        "- listitem: two",
    ] {
        assert!(outline.lines().any(|each| each.trim() == line), "{line:?} in {outline}");
    }
    assert_eq!(tab.fill(&Target::Index(3), "1", LONG).await.unwrap(), "1");
    let inner = tab.html(false, &scope()).await.unwrap().text;
    let outer = tab.html(true, &scope()).await.unwrap().text;
    assert!(
        inner.starts_with("<head>") && outer.starts_with("<!DOCTYPE html>\n<html>"),
        "{inner} {outer}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_are_cut_narrowed_and_compared() {
    let bench = Bench::new().await;
    let tab = bench.show(PAGE).await;
    let cut = tab.text(&Scope { max_chars: Some(40), ..scope() }).await.unwrap();
    assert!(cut.text.chars().count() <= 40 && cut.left_out_chars > 100);
    assert_eq!(cut.left_out_chars + cut.text.chars().count(), cut.total_chars);
    assert!(cut.note().unwrap().contains("left out"));
    let list = Scope { selector: Some("main ul".to_owned()), ..scope() };
    assert_eq!(tab.markdown(&list).await.unwrap().text, "- one\n  1. inner\n- two");
    assert_eq!(
        tab.html(true, &Scope { selector: Some("footer".to_owned()), ..scope() })
            .await
            .unwrap()
            .text,
        "<footer>Imprint</footer>"
    );
    let nav = tab
        .elements_snapshot(&Scope { selector: Some("nav".to_owned()), ..scope() })
        .await
        .unwrap();
    assert_eq!(nav.elements.len(), 2);
    let few = tab.elements_snapshot(&Scope { max_chars: Some(900), ..scope() }).await.unwrap();
    assert!(few.elements.len() < 6 && few.elements.len() + few.left_out == 6, "{few:?}");
    let nowhere = tab.text(&Scope { selector: Some("#nowhere".to_owned()), ..scope() }).await;
    assert!(matches!(nowhere, Err(Error::Element(ElementError::NotFound { .. }))));
    let first = tab.text(&scope()).await.unwrap();
    value(&tab, "document.querySelector('footer').textContent = 'Legal', 0").await;
    let changed = tab.text(&Scope { since: Some(first.snapshot), ..scope() }).await.unwrap();
    assert!(changed.is_delta);
    assert_eq!(changed.text, "- Imprint\n+ Legal");
    let same = tab.text(&Scope { since: Some(changed.snapshot), ..scope() }).await.unwrap();
    assert!(same.text.is_empty() && same.note().unwrap().contains("nothing has changed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_frames_is_read_in_its_place() {
    let bench = Bench::new().await;
    let inner = bench.site.path("<h2>In the frame</h2><button id=inner>Inner</button><script>inner.onclick = () => top.postMessage('hit', '*')</script>");
    let far = bench.site.other_site(&inner);
    let tab = bench
        .show(&format!(
            r#"<style>body {{ margin: 0 }}</style><p>before</p><div style="height: 100px"></div>
        <iframe src="{far}" style="border: 0; margin: 0"></iframe><p>after <a href="/x">last</a></p>
        <script>addEventListener('message', (event) => {{ told = event.data }})</script>"#
        ))
        .await;
    let text = tab.text(&scope()).await.unwrap().text;
    let order: Vec<usize> =
        ["before", "In the frame", "after"].iter().map(|each| text.find(each).unwrap()).collect();
    assert!(order.is_sorted(), "{text}");
    assert!(tab.markdown(&scope()).await.unwrap().text.contains("## In the frame"));
    let outline = tab.accessibility(&scope()).await.unwrap().text;
    assert!(outline.contains("- iframe:\n  - heading \"In the frame\""), "{outline}");
    let listed = tab.elements_snapshot(&scope()).await.unwrap().elements;
    assert_eq!(listed[0]["name"], "Inner");
    assert_eq!(listed[1]["name"], "last");
    assert_eq!(listed[0]["frame"].as_str().unwrap(), far);
    assert!(listed[0]["bounding_box"]["y"].as_f64().unwrap() > 100.0);
    tab.click(&Pointer::Element(Target::Index(0)), "left", 1, LONG).await.unwrap();
    tab.wait_function("globalThis.told === 'hit'", None, LONG).await.unwrap();
    let found = tab.find_text("in  THE frame").await.unwrap();
    assert_eq!((found.total, found.matches[0]["tag"].as_str()), (1, Some("h2")));
    assert!(found.matches[0]["bounding_box"]["y"].as_f64().unwrap() > 100.0);
}

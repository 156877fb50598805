//! Pressing, filling, typing, scrolling; and what is in the way of it.

use std::time::Duration;

use atoll_browser::element::{Direction, ElementError, FormItem, Pointer, SelectBy};
use atoll_browser::{Error, Point};
use serde_json::{Value, json};

use crate::support::{Bench, LONG};
use crate::{SHORT, by, click, refused, value};

#[tokio::test(flavor = "multi_thread")]
async fn the_condition_that_fails_is_named() {
    let bench = Bench::new().await;
    let tab = bench.show(r#"
        <button id="hidden" style="visibility: hidden">a</button>
        <button id="off" disabled>b</button>
        <button id="under">c</button>
        <div id="over" style="position: fixed; inset: 0"><p>Accept cookies</p></div>
        <button id="runs" style="position: absolute; top: 300px; z-index: 1; animation: run 1s linear infinite">d</button>
        <input id="fixed" readonly>
        <style>@keyframes run { from { left: 0 } to { left: 300px } }</style>"#).await;
    for (selector, condition, word) in [
        ("#hidden", "visible", "visibility: hidden"),
        ("#off", "enabled", "is disabled"),
        ("#under", "able to receive pointer events", "<div id=\"over\""),
        ("#runs", "stable", "is moving"),
    ] {
        match refused(&tab, selector).await {
            ElementError::NotActionable { condition: named, message, .. } => {
                assert_eq!(named, condition);
                assert!(message.contains(word), "{message}");
            }
            other => panic!("{selector}: {other}"),
        }
    }
    let error = tab.fill(&by("#fixed"), "x", SHORT).await.unwrap_err().to_string();
    assert!(error.contains("editable") && error.contains("read-only"), "{error}");
    let error = tab.fill(&by("#under"), "x", SHORT).await.unwrap_err().to_string();
    assert!(error.contains("not a field"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_waits_until_it_can_be_done() {
    let bench = Bench::new().await;
    let tab = bench.show(r#"<main></main><script>
        setTimeout(() => { document.querySelector('main').innerHTML =
            '<button id="late" disabled onclick="hit = event.isTrusted">Late</button><div id="veil" style="position: fixed; inset: 0"></div>' }, 100);
        setTimeout(() => { document.querySelector('#late').disabled = false }, 200);
        setTimeout(() => { document.querySelector('#veil').remove() }, 300);
    </script>"#).await;
    click(&tab, "#late").await;
    assert_eq!(value(&tab, "hit").await, true);
    let tab = bench.show(r#"<div style="height: 5000px"></div><button onclick="hit = 'far'">Far below</button><div style="height: 200px"></div>
        <header style="position: fixed; bottom: 0; width: 100%; height: 60px; background: red"></header>"#).await;
    click(&tab, "text=Far below").await;
    assert_eq!(value(&tab, "hit").await, "far");
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_take_text_with_the_browsers_own_events() {
    let bench = Bench::new().await;
    let tab = bench.show(r#"
        <label for="name">Name</label><input id="name" value="old" maxlength="8">
        <textarea id="note">old</textarea><div id="rich" contenteditable>old</div>
        <input id="day" type="date"><input id="count" type="number"><input id="tint" type="color"><input id="level" type="range">
        <select id="size"><option value="s">Small</option><option value="l">Large</option></select>
        <input id="box" type="checkbox">
        <script>
          trusted = [];
          document.addEventListener('input', (event) => trusted.push(event.target.id + event.isTrusted), true);
        </script>"#).await;
    for (selector, text, expected) in [
        ("#name", "new", "new"),
        ("text=Name", "Zoë", "Zoë"),
        ("#name", "much too long", "much too"),
        ("#name", "", ""),
        ("#note", "two\nlines", "two\nlines"),
        ("#rich", "new text", "new text"),
        ("#day", "2026-12-31", "2026-12-31"),
        ("#count", "42", "42"),
        ("#tint", "#AA00FF", "#aa00ff"),
        ("#level", "70", "70"),
        ("#size", "Large", "Large"),
    ] {
        let held = tab.fill(&by(selector), text, LONG).await.unwrap();
        assert_eq!(held.trim_end(), expected, "{selector}");
    }
    let trusted = value(&tab, "trusted").await;
    let trusted: Vec<&str> = trusted.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(
        trusted.contains(&"nametrue")
            && trusted.contains(&"notetrue")
            && trusted.contains(&"richtrue"),
        "{trusted:?}"
    );
    assert!(!trusted.contains(&"namefalse"), "{trusted:?}");
    for (selector, text, word) in [
        ("#day", "tomorrow", "2026-12-31"),
        ("#count", "many", "a number"),
        ("#box", "x", "check or uncheck"),
    ] {
        let error = tab.fill(&by(selector), text, SHORT).await.unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_are_filled_in_one_go_or_not_begun() {
    let bench = Bench::new().await;
    let tab = bench.show(r#"
        <input id="name"><input id="gift" type="checkbox"><label for="hid">Styled</label><input id="hid" type="checkbox" style="display: none">
        <input id="a" type="radio" name="r"><input id="b" type="radio" name="r" checked>
        <select id="size"><option value="s">Small</option><option value="l">Large</option></select>
        <select id="many" multiple><option>x</option><option>y</option><option>z</option></select>
        <input id="file" type="file" hidden>"#).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "content").unwrap();
    let items = [
        json!({ "selector": "#name", "value": "Jo" }),
        json!({ "selector": "#gift", "value": true }),
        json!({ "selector": "#hid", "value": "yes" }),
        json!({ "selector": "#a", "checked": true }),
        json!({ "selector": "#size", "text": "Large" }),
        json!({ "selector": "#many", "value": ["x", "z"] }),
        json!({ "selector": "#file", "files": [file.path()] }),
    ];
    let items = FormItem::parse_all(&items).unwrap();
    tab.fill_form(&items, LONG).await.unwrap();
    let state = "[document.querySelector('#name').value, gift.checked, hid.checked, a.checked, size.value, \
        [...many.selectedOptions].map((each) => each.value).join(), file.files[0].name.length > 0]";
    let state =
        value(&tab, &state.replace("size.value", "document.querySelector('#size').value")).await;
    assert_eq!(state, json!(["Jo", true, true, true, "l", "x,z", true]));

    let bad = [
        json!({ "selector": "#name", "value": "changed" }),
        json!({ "selector": "][", "value": "x" }),
    ];
    let bad = FormItem::parse_all(&bad).unwrap();
    assert!(tab.fill_form(&bad, SHORT).await.is_err());
    assert_eq!(value(&tab, "document.querySelector('#name').value").await, "Jo");

    tab.set_checked(&by("#gift"), false, LONG).await.unwrap();
    tab.set_checked(&by("#gift"), false, LONG).await.unwrap();
    assert_eq!(value(&tab, "gift.checked").await, false);
    let error = tab.set_checked(&by("#a"), false, LONG).await.unwrap_err().to_string();
    assert!(error.contains("radio"), "{error}");
    let error = tab.select_option(&by("#size"), &[SelectBy::Value("xxl".to_owned())], SHORT).await;
    assert!(error.unwrap_err().to_string().contains("\"s\" (Small)"));
    let missing = tab.upload_files(&by("#file"), &["/nowhere/x".into()], SHORT).await.unwrap_err();
    assert!(matches!(missing, Error::Element(ElementError::File { .. })), "{missing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_text_reach_what_has_the_focus() {
    let bench = Bench::new().await;
    let tab = bench.show(r#"<textarea id="text" autofocus></textarea><script>
        keys = [];
        document.addEventListener('keydown', (event) => keys.push([event.key, event.code, event.keyCode, event.ctrlKey, event.isTrusted].join()));
    </script>"#).await;
    click(&tab, "#text").await;
    let text = "Hello, World! 漢字 🙂\nline {2}";
    tab.type_text(text, Duration::ZERO).await.unwrap();
    assert_eq!(value(&tab, "document.querySelector('#text').value").await, text);
    tab.hot_key(&["ctrl".to_owned(), "a".to_owned()]).await.unwrap();
    tab.press_key("Delete").await.unwrap();
    assert_eq!(value(&tab, "document.querySelector('#text').value").await, "");
    value(&tab, "keys.length = 0").await;
    tab.press_key("Return").await.unwrap();
    tab.press_key("Shift+a").await.unwrap();
    tab.press_key("pageup").await.unwrap();
    let keys = value(&tab, "keys").await;
    let expected = json!([
        "Enter,Enter,13,false,true",
        "Shift,ShiftLeft,16,false,true",
        "A,KeyA,65,false,true",
        "PageUp,PageUp,33,false,true",
    ]);
    assert_eq!(keys, expected);
    assert_eq!(value(&tab, "document.querySelector('#text').value").await, "\nA");
    assert!(tab.press_key("nokey").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn pointers_go_where_they_are_told() {
    let bench = Bench::new().await;
    let tab = bench.show(r#"<style>body { margin: 0 }</style><div id="pad" style="width: 200px; height: 100px"></div><script>
        seen = [];
        for (const type of ['click', 'dblclick', 'contextmenu', 'mouseenter', 'auxclick']) pad.addEventListener(type, (event) => seen.push(type + event.clientX + ',' + event.clientY));
    </script>"#).await;
    let spot = Pointer::At(Point { x: 20.0, y: 30.0 });
    tab.hover(&spot, LONG).await.unwrap();
    tab.click(&spot, "left", 2, LONG).await.unwrap();
    tab.click(&spot, "right", 1, LONG).await.unwrap();
    let seen = value(&tab, "seen").await;
    let expected = json!(["mouseenter20,30", "click20,30", "click20,30", "dblclick20,30"]);
    assert_eq!(seen.as_array().unwrap()[..4], expected.as_array().unwrap()[..]);
    assert!(seen.as_array().unwrap().contains(&json!("contextmenu20,30")), "{seen}");
    let off = Pointer::At(Point { x: 1.0, y: 100_000.0 });
    let error = tab.click(&off, "left", 1, LONG).await.unwrap_err();
    assert!(matches!(error, Error::Element(ElementError::OffScreen { .. })), "{error}");
    assert!(tab.click(&spot, "fourth", 1, LONG).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_scrolls_or_what_fills_it() {
    let bench = Bench::new().await;
    let tab =
        bench.show(r#"<div style="width: 3000px; height: 5000px"></div><p id="end">end</p>"#).await;
    assert!((tab.scroll(Direction::Down, 300.0).await.unwrap().y - 300.0).abs() < 1.0);
    assert!((tab.scroll(Direction::Up, 100.0).await.unwrap().y - 200.0).abs() < 1.0);
    assert!((tab.scroll(Direction::Right, 50.0).await.unwrap().x - 50.0).abs() < 1.0);
    let to = tab.scroll_to(0.0, 1e9).await.unwrap();
    assert!((to.y - to.max_y).abs() < 1.0 && to.max_y > 1000.0);
    tab.scroll_to(0.0, 0.0).await.unwrap();
    tab.scroll_to_element(&by("#end"), LONG).await.unwrap();
    assert_eq!(
        value(&tab, "document.querySelector('#end').getBoundingClientRect().top < innerHeight")
            .await,
        true
    );
    let tab = bench.show(r#"<style>html, body { margin: 0; height: 100%; overflow: hidden }</style>
        <div id="inner" style="height: 100%; overflow: auto"><div style="height: 4000px"></div></div>"#).await;
    assert!((tab.scroll(Direction::Down, 300.0).await.unwrap().y - 300.0).abs() < 1.0);
    assert_eq!(value(&tab, "inner.scrollTop").await, 300);
}

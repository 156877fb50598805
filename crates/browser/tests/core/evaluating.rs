//! Running code in a page.

use std::time::Duration;

use atoll_browser::Error;
use serde_json::{Value, json};

use crate::support::{Bench, LONG};

#[tokio::test]
async fn code_of_every_shape_is_run() {
    let bench = Bench::new().await;
    let tab = bench.show("<title>T</title><p id=a class=b>text</p>").await;
    for (code, result) in [
        ("1 + 1", json!(2)),
        ("document.title", json!("T")),
        ("document.title;", json!("T")),
        ("  'x' // why\n", json!("x")),
        ("() => 3", json!(3)),
        ("async () => { await null; return 4 }", json!(4)),
        ("function() { return 5 }", json!(5)),
        ("async function named() { return 6 }", json!(6)),
        ("return 7", json!(7)),
        ("const a = 3;\nif (a > 2) { return a + 5 }\nreturn 0;", json!(8)),
        ("let b = 4; b + 5", json!(9)),
        ("let b = 5; b * 2", json!(10)),
        ("await Promise.resolve(11)", json!(11)),
        ("const c = await Promise.resolve(6); c * 2", json!(12)),
        ("new Promise(done => setTimeout(() => done(13), 1))", json!(13)),
        ("return await Promise.resolve(14)", json!(14)),
        ("({ a: [1, { b: null }] })", json!({ "a": [1, { "b": null }] })),
        ("{ \"a\": 1 }", json!({ "a": 1 })),
        ("(() => 15)()", json!(15)),
        ("var f = () => 16; f", json!(16)),
        ("for (let i = 0; i < 3; i++) {} 17", json!(17)),
        ("", Value::Null),
    ] {
        assert_eq!(tab.evaluate(code, LONG).await.unwrap(), result, "{code}");
    }
}

#[tokio::test]
async fn every_result_has_a_representation() {
    let bench = Bench::new().await;
    let tab =
        bench.show("<p id=a class=b>text <b>bold</b></p><iframe src=about:blank></iframe>").await;
    for (code, result) in [
        ("undefined", Value::Null),
        ("NaN", json!("NaN")),
        ("-Infinity", json!("-Infinity")),
        ("-0", json!(0)),
        ("10n", json!(10)),
        ("2n ** 80n", json!("1208925819614629174706176")),
        ("let big = 2n ** 80n; big", json!("1208925819614629174706176")),
        ("let small = 7n; small", json!(7)),
        ("let not = NaN; not", json!("NaN")),
        ("Symbol('s')", json!("[Symbol(s)]")),
        ("[() => 1, function named() {}]", json!(["[Function anonymous]", "[Function named]"])),
        ("const o = { n: 1 }; o.self = o; o", json!({ "n": 1, "self": "[Circular]" })),
        ("(() => { const s = { x: 1 }; return [s, s] })()", json!([{ "x": 1 }, { "x": 1 }])),
        ("document.querySelector('#a')", json!("<p id=\"a\" class=\"b\">")),
        ("document.querySelectorAll('b')", json!(["<b>"])),
        ("document.querySelector('b').firstChild", json!("[Text \"bold\"]")),
        ("window", json!("[Window]")),
        ("new Date(0)", json!("1970-01-01T00:00:00.000Z")),
        ("new Date(NaN)", json!("Invalid Date")),
        ("/a+/gi", json!("/a+/gi")),
        ("new Map([['k', 1]])", json!({ "k": 1 })),
        ("new Map([[1, 2]])", json!([[1, 2]])),
        ("new Set([1, 'b'])", json!([1, "b"])),
        ("new Uint8Array([1, 2])", json!([1, 2])),
        ("[1, , 3]", json!([1, null, 3])),
        ("[undefined, { a: undefined }]", json!([null, { "a": null }])),
        ("new DOMPoint(1, 2)", json!({ "x": 1, "y": 2, "z": 0, "w": 1 })),
        ("new WeakMap()", json!("[WeakMap]")),
        ("({ get a() { throw new Error('no') } })", json!({ "a": "[Threw Error: no]" })),
        ("JSON.parse('{\"__proto__\": 1}')", json!({ "__proto__": 1 })),
    ] {
        assert_eq!(tab.evaluate(code, LONG).await.unwrap(), result, "{code}");
    }
    let deep = "let d = 1; for (let i = 0; i < 5000; i++) d = [d]; d";
    let mut value = &tab.evaluate(deep, LONG).await.unwrap();
    while let Some(inner) = value.get(0) {
        value = inner;
    }
    assert_eq!(*value, json!("[Too deep]"));
    let error = tab.evaluate("new Error('inner')", LONG).await.unwrap();
    assert_eq!((&error["name"], &error["message"]), (&json!("Error"), &json!("inner")));
}

#[tokio::test]
async fn what_code_throws_is_named() {
    let bench = Bench::new().await;
    let tab = bench.show("").await;
    for (code, name, message) in [
        ("null.x", "TypeError", "Cannot read properties of null"),
        ("let z = 1; nothing.there", "ReferenceError", "nothing is not defined"),
        ("throw new RangeError('far')", "RangeError", "far"),
        ("Promise.reject(new Error('later'))", "Error", "later"),
        ("JSON.parse('{')", "SyntaxError", "JSON"),
        ("let y = 1; JSON.parse('{')", "SyntaxError", "JSON"),
        ("Promise.reject('text')", "Thrown", "text"),
        ("Promise.reject({ a: 1 })", "Thrown", "{\"a\":1}"),
        ("document.querySelector('[')", "SyntaxError", "not a valid selector"),
    ] {
        match tab.evaluate(code, LONG).await {
            Err(Error::Script { name: thrown, message: said, .. }) => {
                assert_eq!(thrown, name, "{code}");
                assert!(said.contains(message), "{code}: {said}");
            }
            other => panic!("{code}: {other:?}"),
        }
    }
    for code in ["1 +", "let = = 3", "return (", "}{"] {
        let error = tab.evaluate(code, LONG).await.unwrap_err();
        assert!(matches!(error, Error::Syntax { .. }), "{code}: {error:?}");
    }
}

#[tokio::test]
async fn code_that_never_ends_is_stopped_and_the_page_lives_on() {
    let bench = Bench::new().await;
    let tab = bench.show("<script>var kept = 1</script>").await;
    for code in [
        "for (;;) {}",
        "let i = 0; for (;;) { i++ }",
        "await null; for (;;) {}",
        "new Promise(() => {})",
        "for (;;) { await null }",
        "setTimeout(() => { for (;;) {} }, 0); new Promise(() => {})",
    ] {
        let error = tab.evaluate(code, Duration::from_millis(500)).await.unwrap_err();
        assert!(matches!(error, Error::ScriptTimeout { .. }), "{code}: {error:?}");
        assert_eq!(tab.evaluate("kept", LONG).await.unwrap(), json!(1), "after {code}");
    }
}

#[tokio::test]
async fn a_result_that_is_too_large_is_refused_by_name() {
    let bench = Bench::with(|options| options.limits.result_size = 100_000).await;
    let tab = bench.show("").await;
    for code in
        ["'x'.repeat(200000)", "new Array(1e9)", "Array.from({ length: 200000 }, (_, i) => i)"]
    {
        let error = tab.evaluate(code, LONG).await.unwrap_err();
        assert!(matches!(error, Error::ResultTooLarge { .. }), "{code}: {error:?}");
    }
    assert_eq!(tab.evaluate("'x'.repeat(90000).length", LONG).await.unwrap(), json!(90000));
}

#[tokio::test]
async fn a_page_that_meddles_with_its_own_tools_still_answers() {
    let bench = Bench::new().await;
    let body = "<script>JSON.stringify = null; Array.prototype.toJSON = () => 'no'; window.Map = 1</script>";
    let tab = bench.show(body).await;
    assert_eq!(tab.evaluate("[1, 2]", LONG).await.unwrap(), json!([1, 2]));
}

#[tokio::test]
async fn code_sees_a_page_whose_policy_forbids_scripts() {
    let bench = Bench::new().await;
    let policy =
        "content-security-policy: default-src 'none'; require-trusted-types-for 'script'\r\n";
    let path = bench.site.serve("text/html", policy, b"<title>closed</title>");
    let tab = bench.tab().await;
    tab.navigate(&bench.site.url(&path), atoll_browser::Until::Load, LONG).await.unwrap();
    assert_eq!(tab.evaluate("document.title", LONG).await.unwrap(), json!("closed"));
    assert_eq!(tab.evaluate("return 1 + 1", LONG).await.unwrap(), json!(2));
}

//! Selectors of every kind, and waiting for what they find.

use atoll_browser::element::{ElementError, State};

use crate::support::{Bench, LONG};
use crate::{SHORT, click, refused, value};

#[tokio::test(flavor = "multi_thread")]
async fn selectors_of_every_kind_find_what_they_name() {
    let bench = Bench::new().await;
    let tab = bench.show(r#"
        <button data-testid="one" onclick="hit = 'one'">First</button>
        <button id="two" onclick="hit = 'two'">Second <b>thing</b></button>
        <div class="card"><h2>Card</h2><button onclick="hit = 'card'">Open</button></div>
        <div class="card"><h2>Other</h2><button onclick="hit = 'other'">Open</button></div>
        <label>Agree <input type="checkbox" onclick="hit = 'box'"></label>
        <my-host></my-host>
        <button style="display: none">First</button>
        <script>
          customElements.define('my-host', class extends HTMLElement {
            constructor() {
              super();
              this.attachShadow({ mode: 'open' }).innerHTML = '<p><button onclick="hit = \'deep\'">Deep</button></p>';
            }
          });
        </script>"#).await;
    for (selector, expected) in [
        ("text=First", "one"),
        ("text=second THING", "two"),
        ("text=\"Second thing\"", "two"),
        ("text=/^sec.nd/i", "two"),
        ("'Second thing'", "two"),
        ("#two", "two"),
        ("id=two", "two"),
        ("data-testid=one", "one"),
        ("css=button#two > b", "two"),
        ("//button[@id='two']", "two"),
        ("xpath=//h2[.='Other']/../button", "other"),
        ("role=button[name=\"Second thing\"]", "two"),
        ("role=checkbox[name=\"agree\" i]", "box"),
        (".card:has-text(\"Other\") >> text=Open", "other"),
        (".card:has(h2:text-is(\"Card\")) button", "card"),
        (".card >> nth=-1 >> button", "other"),
        ("button:visible:has-text(\"first\")", "one"),
        ("my-host button", "deep"),
        ("my-host p > button", "deep"),
        ("text=Deep", "deep"),
        ("role=button[name=/^de/i]", "deep"),
    ] {
        value(&tab, "globalThis.hit = null").await;
        click(&tab, selector).await;
        assert_eq!(value(&tab, "hit").await, expected, "{selector}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selector_that_cannot_be_used_is_explained() {
    let bench = Bench::new().await;
    let tab = bench.show("<button>a</button><button>b</button>").await;
    for (selector, word) in [
        ("button[", "never closed"),
        ("button >", "must follow"),
        ("a:frobnicate", "not a valid CSS selector"),
        ("//button[", "never closed"),
        ("//button[bad(]", "closed"),
        ("xpath=1 +", "not a valid XPath"),
        ("foo=bar", "none of css="),
        ("role=button[nom=\"x\"]", "none of name"),
        ("text=/(/", "regular expression"),
        (" ", "empty"),
        ("button >> >> a", "empty part"),
        ("nth=0", "chooses among"),
    ] {
        let error = refused(&tab, selector).await;
        assert!(matches!(error, ElementError::Selector { .. }), "{selector}: {error}");
        assert!(error.to_string().contains(word), "{selector}: {error}");
    }
    let none = refused(&tab, "#nowhere").await;
    assert!(matches!(none, ElementError::NotFound { .. }), "{none}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_elements_the_first_that_is_seen_is_taken_and_that_is_told() {
    let bench = Bench::new().await;
    let buttons =
        "<button hidden>no</button><button onclick='hit = 1'>a</button><button>b</button>";
    let tab = bench.show(buttons).await;
    click(&tab, "button").await;
    assert_eq!(value(&tab, "hit").await, 1);
    let hints = tab.take_hints();
    let [hint] = hints.as_slice() else { panic!("{hints:?}") };
    for word in ["\"button\" matches 2", "<button>a", "nth=1"] {
        assert!(hint.contains(word), "{hint}");
    }
    click(&tab, "button >> visible=true >> nth=1").await;
    assert!(tab.take_hints().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_an_element_ends_when_it_comes_or_goes() {
    let bench = Bench::new().await;
    let tab = bench
        .show(
            r#"<p id="here">x</p><script>
        setTimeout(() => { here.insertAdjacentHTML('afterend', '<p id="come" hidden>y</p>') }, 100);
        setTimeout(() => { come.hidden = false }, 200);
        setTimeout(() => { here.style.display = 'none' }, 300);
        setTimeout(() => { here.remove() }, 400);
    </script>"#,
        )
        .await;
    for (selector, state) in [
        ("#come", State::Attached),
        ("#come", State::Visible),
        ("#here", State::Hidden),
        ("#here", State::Detached),
        ("#never", State::Hidden),
    ] {
        tab.wait_selector(selector, state, LONG).await.unwrap();
    }
    assert!(tab.wait_selector("#here", State::Visible, SHORT).await.is_err());
    let still = tab.wait_selector("#come", State::Hidden, SHORT).await.unwrap_err().to_string();
    assert!(
        still.contains("hidden") && still.contains("#come") && still.contains("within 300 ms"),
        "{still}"
    );
}

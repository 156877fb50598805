//! Frames, in the page's process and in others.

use atoll_browser::{Argument, Error, World};
use serde_json::json;

use crate::support::{Bench, LONG, eventually};

#[tokio::test]
async fn frames_of_any_origin_are_found_and_answer() {
    let bench = Bench::new().await;
    let site = &bench.site;
    let inner = site.path("<p>inner</p>");
    let middle =
        site.path(&format!("<p>middle</p><iframe name=deep src='{}'></iframe>", site.url(&inner)));
    let body = format!(
        "<p>outer</p><iframe name=same src='{inner}'></iframe><iframe name=other src='{}'></iframe><iframe srcdoc='<p>doc</p>'></iframe>",
        site.other_site(&middle),
    );
    let tab = bench.show(&body).await;
    let frames = tab.frames();
    assert_eq!(frames.len(), 5, "{:?}", frames.iter().map(|frame| frame.url()).collect::<Vec<_>>());
    let mut texts = Vec::new();
    for frame in &frames {
        for world in [World::Main, World::Utility] {
            let text = frame.evaluate("document.querySelector('p').textContent", world, LONG);
            texts.push(text.await.unwrap().as_str().unwrap().to_owned());
        }
    }
    let expected = ["outer", "inner", "middle", "inner", "doc"];
    assert_eq!(texts, expected.iter().flat_map(|text| [*text, *text]).collect::<Vec<_>>());
    let names: Vec<_> = frames.iter().map(|frame| frame.name()).collect();
    assert_eq!(names[..4], ["", "same", "other", "deep"]);
    assert_ne!(frames[2].session().id(), frames[0].session().id(), "another site, another process");
    assert_eq!(frames[3].parent().unwrap().id(), frames[2].id());
}

#[tokio::test]
async fn a_frame_keeps_its_place_when_it_moves_between_processes() {
    let bench = Bench::new().await;
    let site = &bench.site;
    let inner = site.path("<p>inner</p>");
    let tab = bench.show(&format!("<iframe src='{inner}'></iframe>")).await;
    let frame = tab.frames().remove(1);
    let home = frame.session().id().to_owned();
    for (url, at_home) in [
        (site.other_site(&inner), false),
        (site.url(&inner), true),
        (site.other_site(&format!("{inner}?2")), false),
        (site.url(&format!("{inner}?2")), true),
    ] {
        tab.evaluate(&format!("document.querySelector('iframe').src = '{url}'"), LONG)
            .await
            .unwrap();
        eventually("the frame to arrive", async || frame.url() == url).await;
        let place = frame.evaluate("location.href", World::Utility, LONG).await.unwrap();
        assert_eq!(place, json!(url));
        assert_eq!(frame.session().id() == home, at_home, "{url}");
        assert_eq!(tab.frames().len(), 2);
    }
    tab.evaluate("document.querySelector('iframe').remove()", LONG).await.unwrap();
    eventually("the frame to go", async || tab.frames().len() == 1).await;
    let gone = frame.evaluate("1", World::Main, LONG).await;
    assert!(matches!(gone, Err(Error::FrameGone)), "{gone:?}");
}

#[tokio::test]
async fn the_place_of_a_frame_in_the_page_is_known_across_processes() {
    let bench = Bench::new().await;
    let site = &bench.site;
    let style = "position:absolute;border:5px solid;left:100px;top:50px;width:300px;height:200px";
    let inner = site.path("inner");
    let middle =
        site.path(&format!("<iframe style='{style}' src='{}'></iframe>", site.url(&inner)));
    let tab = bench
        .show(&format!("<iframe style='{style}' src='{}'></iframe>", site.other_site(&middle)))
        .await;
    let frames = tab.frames();
    let mut places = Vec::new();
    for frame in &frames {
        let place = frame.offset().await.unwrap();
        places.push((place.x, place.y));
    }
    assert_eq!(places, [(0.0, 0.0), (105.0, 55.0), (210.0, 110.0)]);
}

#[tokio::test]
async fn objects_are_held_on_to_and_passed_back() {
    let bench = Bench::new().await;
    let inner = bench.site.path("<p>inner</p>");
    let tab = bench
        .show(&format!("<p id=a>text</p><iframe src='{}'></iframe>", bench.site.other_site(&inner)))
        .await;
    let main = tab.main_frame();
    let find = "(selector) => document.querySelector(selector)";
    let found =
        main.call_handle(find, &[Argument::from("#a")], World::Utility, LONG).await.unwrap();
    let function = "function(end) { return this.textContent + end }";
    let text = found.call(function, &["!".into()], LONG).await.unwrap();
    assert_eq!(text, json!("text!"));
    let arguments = [Argument::Handle(&found), Argument::from(3)];
    let both =
        main.call("(node, count) => node.id.repeat(count)", &arguments, World::Utility, LONG);
    assert_eq!(both.await.unwrap(), json!("aaa"));
    let nothing = main.call_handle(find, &["#none".into()], World::Utility, LONG).await.unwrap();
    assert!(nothing.is_null());
    let element = main.call_handle(find, &["iframe".into()], World::Utility, LONG).await.unwrap();
    let frame = main.child_frame(&element).await.unwrap();
    assert_eq!(frame.id(), tab.frames()[1].id());
}

#[tokio::test]
async fn the_utility_world_sees_the_page_but_not_its_variables() {
    let bench = Bench::new().await;
    let tab =
        bench.show("<p>x</p><script>var mine = 1; document.querySelector = null</script>").await;
    let main = tab.main_frame();
    assert_eq!(main.evaluate("typeof mine", World::Main, LONG).await.unwrap(), json!("number"));
    assert_eq!(
        main.evaluate("typeof mine", World::Utility, LONG).await.unwrap(),
        json!("undefined")
    );
    let text = main.evaluate("document.querySelector('p').textContent", World::Utility, LONG);
    assert_eq!(text.await.unwrap(), json!("x"));
    let thrown = main.call("() => { throw new TypeError('no') }", &[], World::Utility, LONG).await;
    match thrown {
        Err(Error::Script { name, message, .. }) => {
            assert_eq!((&*name, &*message), ("TypeError", "no"));
        }
        other => panic!("{other:?}"),
    }
}

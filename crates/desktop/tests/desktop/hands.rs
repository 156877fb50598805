//! Mouse and keyboard.

use std::sync::Arc;
use std::time::Duration;

use atoll_desktop::{Action, Button, Error, Point, Session};
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, Notepad, eventually};

async fn start() -> (Bench, Arc<Session>, Notepad) {
    let bench = Bench::new();
    let session = bench.session().await;
    let notepad = Notepad::open(&session, "notepad", 0xff_ff_ff);
    session.perform(Action::MoveTo(at(1.0, 1.0))).await.unwrap();
    notepad.notes();
    (bench, session, notepad)
}

fn at(x: f64, y: f64) -> Point {
    Point { x, y }
}

fn keys(names: &[&str]) -> Action {
    Action::Keys(names.iter().map(|name| (*name).to_owned()).collect())
}

fn typed(text: &str) -> Action {
    Action::Type { text: text.to_owned(), paste: false }
}

#[tokio::test(flavor = "multi_thread")]
async fn clicks_land_where_they_are_meant_to() {
    let (bench, session, notepad) = start().await;
    let click = |at, button, count| Action::Click { at, button, count };
    session.perform(click(Some(at(120.0, 90.0)), Button::Left, 2)).await.unwrap();
    session.perform(click(None, Button::Right, 1)).await.unwrap();
    session.perform(Action::MoveBy(at(-20.0, 10.0))).await.unwrap();
    session.perform(Action::Press(Button::Middle)).await.unwrap();
    session.perform(Action::Release(Button::Middle)).await.unwrap();
    let expected = [
        "move 120,90",
        "down 1 at 120,90",
        "up 1",
        "down 1 at 120,90",
        "up 1",
        "down 3 at 120,90",
        "up 3",
        "move 100,100",
        "down 2 at 100,100",
        "up 2",
    ];
    assert_eq!(notepad.notes(), expected);
    session.perform(Action::Scroll { dx: -1, dy: 2 }).await.unwrap();
    let wheel: Vec<_> = notepad.notes().into_iter().filter(|note| note.starts_with("up")).collect();
    assert_eq!(wheel, ["up 4", "up 4", "up 7"]);
    bench.desktop.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drag_moves_through_places_in_between_and_keeps_a_button_that_is_held() {
    let (bench, session, notepad) = start().await;
    session.perform(Action::MoveTo(at(100.0, 100.0))).await.unwrap();
    session.perform(Action::DragTo(at(300.0, 200.0))).await.unwrap();
    let notes = notepad.notes();
    assert_eq!(notes[1], "down 1 at 100,100");
    assert_eq!(notes[notes.len() - 2..], ["move 300,200", "up 1"]);
    assert!(notes.len() > 10, "{notes:?}");
    session.perform(Action::Press(Button::Left)).await.unwrap();
    session.perform(Action::DragBy(at(-50.0, 0.0))).await.unwrap();
    assert!(!notepad.notes().contains(&"up 1".to_owned()), "it let go too early");
    session.perform(Action::Release(Button::Left)).await.unwrap();
    assert_eq!(notepad.notes(), ["up 1"]);
    bench.desktop.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_go_by_name_and_in_combination() {
    let (bench, session, notepad) = start().await;
    session.perform(keys(&["Ctrl", "C"])).await.unwrap();
    session.perform(keys(&["ctrl+shift+Tab"])).await.unwrap();
    session.perform(keys(&["A"])).await.unwrap();
    let expected = [
        "key Control_L",
        "key c",
        "let go c",
        "let go Control_L",
        "key Control_L",
        "key Shift_L",
        "key ISO_Left_Tab",
        "let go Tab",
        "let go Shift_L",
        "let go Control_L",
        "key Shift_L",
        "key A",
        "let go a",
        "let go Shift_L",
    ];
    assert_eq!(notepad.notes(), expected);
    session.perform(Action::KeyDown("shift".to_owned())).await.unwrap();
    session.perform(keys(&["enter"])).await.unwrap();
    session.perform(Action::KeyUp("Shift".to_owned())).await.unwrap();
    let expected = ["key Shift_L", "key Return", "let go Return", "let go Shift_L"];
    assert_eq!(notepad.notes(), expected);
    bench.desktop.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_text_can_be_typed_key_by_key() {
    let (bench, session, notepad) = start().await;
    let ascii = "The quick (brown) fox: 42% of \"$HOME\" | ~!@#^&*_+{}[];',./<>?\\`\nend";
    session.perform(typed(ascii)).await.unwrap();
    assert_eq!(notepad.text(), ascii);
    // More characters than there are keys for, so that keys change their meaning on the way.
    let kana: String = ('ぁ'..='ん').collect();
    for part in ["Straße, naïve – “café” €", "世界 🌍 Ω й ש ก", kana.as_str()] {
        // The notepad reads what a key means when it looks, so it must look before the next text changes that.
        for run in part.chars().collect::<Vec<_>>().chunks(8) {
            let run: String = run.iter().collect();
            session.perform(typed(&run)).await.unwrap();
            assert_eq!(notepad.text(), run);
        }
    }
    bench.desktop.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_named_and_changes_nothing() {
    let (bench, session, notepad) = start().await;
    for place in [at(800.0, 10.0), at(-1.0, 10.0), at(10.0, f64::NAN), at(0.0, 1e300)] {
        let click = Action::Click { at: Some(place), button: Button::Left, count: 1 };
        for action in [Action::MoveTo(place), Action::DragTo(place), click] {
            let refused = session.perform(action).await;
            assert!(matches!(refused, Err(Error::OffScreen { .. })), "{refused:?}");
        }
    }
    let far = session.perform(Action::MoveBy(at(5000.0, 0.0))).await;
    assert!(matches!(far, Err(Error::OffScreen { .. })), "{far:?}");
    for names in [&["ctrl", "nosuchkey"][..], &[""], &["\u{1}"]] {
        let refused = session.perform(keys(names)).await;
        assert!(matches!(refused, Err(Error::UnknownKey { .. })), "{refused:?}");
    }
    assert!(session.perform(typed("a\u{0}b")).await.is_err());
    assert_eq!(notepad.notes(), [""; 0]);
    bench.desktop.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn actions_in_a_row_that_fail_let_go_of_what_they_pressed() {
    let (bench, session, notepad) = start().await;
    session.perform(Action::KeyDown("alt".to_owned())).await.unwrap();
    notepad.notes();
    let actions = vec![
        Action::KeyDown("ctrl".to_owned()),
        Action::Press(Button::Left),
        Action::MoveTo(at(-5.0, 0.0)),
        keys(&["a"]),
    ];
    let (done, error) = session.perform_all(actions, &CancellationToken::new()).await;
    assert_eq!(done.len(), 2);
    assert!(matches!(error, Some(Error::OffScreen { .. })));
    let expected = ["key Control_L", "down 1 at 1,1", "up 1", "let go Control_L"];
    assert_eq!(notepad.notes(), expected);
    // The same when whoever asked for them has left.
    let stop = CancellationToken::new();
    let endless = vec![Action::KeyDown("ctrl".to_owned()), Action::Wait(Duration::from_hours(1))];
    let pressed = eventually("the key to go down", async || !notepad.notes().is_empty());
    let ((done, error), ()) = tokio::join!(session.perform_all(endless, &stop), async {
        pressed.await;
        stop.cancel();
    });
    assert!(done.len() == 1 && matches!(error, Some(Error::Gone { .. })), "{error:?}");
    assert_eq!(notepad.notes(), ["let go Control_L"]);
    session.perform(Action::KeyUp("alt".to_owned())).await.unwrap();
    assert_eq!(notepad.notes(), ["let go Alt_L"]);
    bench.desktop.stop().await;
}

//! Pictures, sizes, windows, clipboard.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_desktop::{Action, Error, Format, MODES, Picture, Point, Size};

use crate::support::{Bench, Notepad, eventually};

/// Size and pixels of a PNG: red, green, blue.
fn unpack(picture: &Picture) -> (Size, Vec<u8>) {
    let decoder = png::Decoder::new(std::io::Cursor::new(&picture.bytes));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let side = |side: u32| u16::try_from(side).unwrap();
    (Size { width: side(info.width), height: side(info.height) }, pixels)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_shows_what_is_on_the_screen_with_the_pointer_on_it() {
    let bench = Bench::new();
    let session = bench.session().await;
    let _window = Notepad::open(&session, "red", 0x00_c8_10_20);
    session.perform(Action::MoveTo(Point { x: 400.0, y: 300.0 })).await.unwrap();
    let picture = session.screenshot(Format::Png).await.unwrap();
    let (size, pixels) = unpack(&picture);
    assert_eq!((size, picture.size), (Size { width: 800, height: 600 }, size));
    let at = |x: usize, y: usize| &pixels[(y * 800 + x) * 3..][..3];
    assert_eq!(at(10, 10), [0xc8, 0x10, 0x20]);
    assert_eq!(at(799, 599), [0xc8, 0x10, 0x20]);
    let near = (-12_i32..12).flat_map(|dy| (-12_i32..12).map(move |dx| (dx, dy)));
    let place = |by: i32, from: i32| usize::try_from(from + by).unwrap();
    let drawn = near.filter(|(dx, dy)| at(place(*dx, 400), place(*dy, 300)) != [0xc8, 0x10, 0x20]);
    assert!(drawn.count() > 5, "the pointer is drawn");
    assert_eq!(session.pointer().await.unwrap(), Point { x: 400.0, y: 300.0 });
    let small = session.screenshot(Format::Jpeg(30)).await.unwrap();
    let fine = session.screenshot(Format::Jpeg(100)).await.unwrap();
    assert!(small.bytes.starts_with(&[0xff, 0xd8]) && small.bytes.len() < fine.bytes.len());
    bench.desktop.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_takes_each_size_it_offers_while_pictures_are_taken() {
    let bench = Bench::new();
    let session = bench.session().await;
    for size in MODES {
        let (resized, picture) =
            tokio::join!(session.resize(size), session.screenshot(Format::Png));
        resized.unwrap();
        picture.unwrap();
        assert_eq!(session.size().await.unwrap(), size);
        assert_eq!(unpack(&session.screenshot(Format::Png).await.unwrap()).0, size);
    }
    let odd = session.resize(Size { width: 1234, height: 567 }).await;
    assert!(matches!(odd, Err(Error::Mode { .. })), "{odd:?}");
    bench.desktop.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clipboard_goes_both_ways() {
    let bench = Bench::new();
    let session = bench.session().await;
    assert_eq!(session.clipboard().await.unwrap(), "");
    session.set_clipboard("Grüße, 世界 🌍".to_owned()).await.unwrap();
    assert_eq!(session.clipboard().await.unwrap(), "Grüße, 世界 🌍");
    let notepad = Notepad::open(&session, "copies", 0);
    let done = Arc::new(AtomicBool::default());
    let until = Arc::clone(&done);
    let serving = std::thread::spawn(move || notepad.copy_and_serve("kopiert: 漢字", &until));
    eventually("the copied text", async || {
        session.clipboard().await.is_ok_and(|text| text == "kopiert: 漢字")
    })
    .await;
    done.store(true, Ordering::Release);
    serving.join().unwrap();
    let long = "x".repeat(9 << 20);
    let refused = session.set_clipboard(long).await;
    assert!(matches!(refused, Err(Error::ClipboardSize { .. })));
    bench.desktop.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_is_not_there_cannot_be_brought_to_the_front() {
    let bench = Bench::new();
    let session = bench.session().await;
    assert_eq!(session.windows().await.unwrap(), []);
    let missing = session.focus(0x1234).await;
    assert!(matches!(missing, Err(Error::NoSuchWindow { id: 0x1234 })), "{missing:?}");
    bench.desktop.stop().await;
}

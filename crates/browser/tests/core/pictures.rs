//! Pictures, paper and films of a page.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use atoll_browser::{Error, Format, Pdf, RecordingSettings, Rect, Shot};

use crate::support::{Bench, LONG};

/// Width and height, from the head of a PNG.
fn png_size(bytes: &[u8]) -> (u32, u32) {
    assert_eq!(&bytes[1..4], b"PNG");
    let side = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (side(16), side(20))
}

#[tokio::test]
async fn a_page_is_pictured_whole_in_part_and_as_seen() {
    let bench = Bench::new().await;
    let body = "<style>body { margin: 0 } div { height: 3000px; background: linear-gradient(red, blue) }</style><div></div>";
    let tab = bench.show(body).await;
    let view = tab.viewport().await.unwrap();
    let seen = tab.screenshot(&Shot::default()).await.unwrap();
    let (width, height) = png_size(&seen.bytes);
    assert_eq!((f64::from(width), f64::from(height)), (view.width, view.height));
    let whole = tab.screenshot(&Shot { full_page: true, ..Shot::default() }).await.unwrap();
    assert_eq!(png_size(&whole.bytes).1, 3000);
    tab.evaluate("scrollTo(0, 1000)", LONG).await.unwrap();
    let clip = Some(Rect { x: 10.0, y: 20.0, width: 300.0, height: 200.0 });
    let part = tab.screenshot(&Shot { clip, ..Shot::default() }).await.unwrap();
    assert_eq!(png_size(&part.bytes), (300, 200));
    for (format, start) in [(Format::Jpeg, &b"\xff\xd8"[..]), (Format::Webp, &b"RIFF"[..])] {
        let shot = Shot { format, quality: Some(50), ..Shot::default() };
        assert!(tab.screenshot(&shot).await.unwrap().bytes.starts_with(start), "{format:?}");
    }
    let nothing = Some(Rect::default());
    let error = tab.screenshot(&Shot { clip: nothing, ..Shot::default() }).await.unwrap_err();
    assert!(matches!(error, Error::Picture { .. }), "{error:?}");
}

#[tokio::test]
async fn a_page_longer_than_a_picture_is_cut_and_that_is_told() {
    let bench = Bench::new().await;
    let tab = bench.show("<div style='height: 40000px'></div>").await;
    let whole = tab.screenshot(&Shot { full_page: true, ..Shot::default() }).await.unwrap();
    assert_eq!(png_size(&whole.bytes).1, 16384);
    let hints = tab.take_hints();
    assert!(hints.iter().any(|hint| hint.contains("cut")), "{hints:?}");
}

#[tokio::test]
async fn a_page_is_printed() {
    let bench = Bench::new().await;
    let tab = bench.show("<h1>Printed</h1>").await;
    let pdf = tab.pdf(&Pdf::default()).await.unwrap();
    assert!(pdf.starts_with(b"%PDF-"));
    let odd = Pdf { pages: "nonsense".to_owned(), ..Pdf::default() };
    let error = tab.pdf(&odd).await.unwrap_err();
    assert!(matches!(error, Error::Picture { .. }), "{error:?}");
}

#[tokio::test]
async fn a_page_is_recorded_paused_and_resumed() {
    // Where no film can be made, the pictures themselves are kept.
    let bench = Bench::with(|options| {
        options.environment.insert("PATH".to_owned(), "/nowhere".to_owned());
    })
    .await;
    let tab = bench.show(COUNTING).await;
    let path = bench.directory.path().join("film.mp4");
    let settings = RecordingSettings { path: path.clone(), fps: 30.0, quality: 60 };
    let idle = tab.record_stop().await;
    assert!(matches!(idle, Err(Error::Recording { .. })), "{idle:?}");
    tab.record_start(&settings).await.unwrap();
    assert!(matches!(tab.record_start(&settings).await, Err(Error::Recording { .. })));
    crate::support::eventually("three pictures", async || tab.record_status().frames >= 3).await;
    tab.record_pause().unwrap();
    let before = tab.record_status();
    assert!(before.recording && before.paused);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(tab.record_status().duration, before.duration, "time stands still");
    tab.record_resume().unwrap();
    crate::support::eventually("more pictures", async || {
        tab.record_status().frames > before.frames + 1
    })
    .await;
    let recording = tab.record_stop().await.unwrap();
    let file = std::fs::read(&path).unwrap();
    assert_eq!(file.len() as u64, recording.bytes);
    assert!(recording.frames >= 5 && recording.duration >= before.duration, "{recording:?}");
    assert!(recording.size.0 > 0 && recording.size.1 > 0);
    let tables: Vec<_> = [&b"ftyp"[..], b"mdat", b"moov", b"stsz", b"co64"]
        .iter()
        .map(|name| file.windows(4).position(|bytes| bytes == *name).expect("a table"))
        .collect();
    assert!(tables.is_sorted(), "{tables:?}");
    assert!(!tab.record_status().recording);
    assert_eq!(played(&path), ("mjpeg".to_owned(), recording.frames));
}

#[tokio::test]
async fn a_recording_is_a_film_that_every_player_shows() {
    let bench = Bench::new().await;
    let tab = bench.show(COUNTING).await;
    let path = bench.directory.path().join("film.mp4");
    let settings = RecordingSettings { path: path.clone(), fps: 30.0, quality: 60 };
    tab.record_start(&settings).await.unwrap();
    crate::support::eventually("five pictures", async || tab.record_status().frames >= 5).await;
    let recording = tab.record_stop().await.unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), recording.bytes);
    let (codec, frames) = played(&path);
    assert_eq!(codec, "h264");
    // The last is shown again at the end; one that would have had to wait is left out.
    assert!((1..=recording.frames + 1).contains(&frames), "{frames} of {recording:?}");
    assert!(!path.with_extension("film.mp4").exists(), "nothing is left behind");
}

const COUNTING: &str = "<p>0</p><script>let n = 0; setInterval(() => document.querySelector('p').textContent = ++n, 20)</script>";

/// How a film is encoded, and how many pictures of it could be decoded.
fn played(path: &Path) -> (String, u64) {
    let probe = Command::new("ffprobe")
        .args(["-v", "error", "-count_frames", "-select_streams", "v:0", "-of", "csv=p=0"])
        .args(["-show_entries", "stream=codec_name,nb_read_frames"])
        .arg(path)
        .output()
        .expect("ffprobe runs");
    let said = String::from_utf8_lossy(&probe.stderr).into_owned();
    assert!(probe.status.success() && said.is_empty(), "{said}");
    let answer = String::from_utf8_lossy(&probe.stdout).trim().to_owned();
    let (codec, frames) = answer.split_once(',').expect("two fields");
    (codec.to_owned(), frames.parse().expect("a number"))
}

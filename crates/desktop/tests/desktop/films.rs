//! Recording.

use std::path::{Path, PathBuf};
use std::time::Duration;

use atoll_desktop::{Error, RecordingSettings};

use crate::support::{Bench, eventually};

fn settings(path: PathBuf) -> RecordingSettings {
    RecordingSettings {
        path,
        fps: 10,
        crf: 28,
        max_duration: Duration::from_mins(10),
        max_bytes: 1 << 30,
        width: None,
        height: None,
    }
}

/// Codec, size and number of pictures of a film, as a player finds them.
fn probe(path: &Path) -> (String, u64) {
    let output = std::process::Command::new("ffprobe")
        .args(["-v", "error", "-count_frames", "-select_streams", "v:0", "-of", "csv=p=0"])
        .args(["-show_entries", "stream=codec_name,width,height,nb_read_frames"])
        .arg(path)
        .output()
        .expect("ffprobe comes with ffmpeg");
    let told = String::from_utf8(output.stdout).unwrap();
    let fields: Vec<_> = told.trim().split(',').collect();
    let (frames, kind) = fields.split_last().unwrap();
    (kind.join(" "), frames.parse().unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_film_can_be_played_after_it_was_stopped() {
    let bench = Bench::new();
    let session = bench.session().await;
    let recorder = bench.desktop.recorder();
    let path = bench.directory.path().join("film.mp4");
    assert_eq!(recorder.status().await, None);
    assert!(matches!(recorder.stop().await, Err(Error::NotRecording)));
    let scaled = RecordingSettings { width: Some(321), ..settings(path.clone()) };
    assert!(recorder.start(&session, &scaled).await.unwrap().under_way);
    let second = recorder.start(&session, &settings(path.with_extension("x"))).await;
    assert!(matches!(second, Err(Error::AlreadyRecording { .. })), "{second:?}");
    let done = recorder.stop().await.unwrap();
    assert!(!done.under_way && done.fault.is_none(), "{done:?}");
    let (kind, frames) = probe(&path);
    assert_eq!(kind, "h264 320 240");
    assert!(frames >= 1);
    assert_eq!(recorder.status().await, Some(done));
    bench.desktop.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_film_ends_by_itself_and_survives_the_death_of_its_maker() {
    let bench = Bench::new();
    let session = bench.session().await;
    let recorder = bench.desktop.recorder();
    let path = bench.directory.path().join("short.mp4");
    let short =
        RecordingSettings { max_duration: Duration::from_secs(1), ..settings(path.clone()) };
    recorder.start(&session, &short).await.unwrap();
    eventually("the film to end", async || !recorder.status().await.unwrap().under_way).await;
    // Ten pictures are a second; where the machine was too busy to take one, the one before stands in longer.
    let (kind, frames) = probe(&path);
    assert!(kind == "h264 800 600" && frames >= 8, "{kind}: {frames}");
    let told = recorder.status().await.unwrap().duration;
    assert!(told > Duration::from_millis(700), "{told:?}");
    // Whoever started it may stop it all the same, once.
    assert!(!recorder.stop().await.unwrap().under_way);
    assert!(matches!(recorder.stop().await, Err(Error::NotRecording)));
    // The X server dies in the middle of the next one.
    let path = bench.directory.path().join("broken.mp4");
    recorder.start(&session, &settings(path.clone())).await.unwrap();
    eventually("a piece of the film", async || probe(&path).1 > 20).await;
    let server = rustix::process::Pid::from_raw(session.pid()).unwrap();
    rustix::process::kill_process(server, rustix::process::Signal::KILL).unwrap();
    eventually("the film to end", async || !recorder.status().await.unwrap().under_way).await;
    assert!(probe(&path).1 > 20);
    bench.desktop.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_film_that_cannot_be_written_is_no_film() {
    let bench = Bench::new();
    let session = bench.session().await;
    let nowhere = settings(bench.directory.path().join("no/such/directory/film.mp4"));
    let refused = bench.desktop.recorder().start(&session, &nowhere).await;
    assert!(matches!(refused, Err(Error::Recording { .. })), "{refused:?}");
    assert_eq!(bench.desktop.recorder().status().await, None);
    bench.desktop.stop().await;
}

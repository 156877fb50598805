//! Starting, dying, ending.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use atoll_desktop::{Error, Format};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::support::{Bench, eventually};

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn desktops_side_by_side_have_displays_of_their_own_and_leave_nothing_behind() {
    let (one, other) = (Bench::new(), Bench::new());
    let (first, second) = tokio::join!(one.session(), other.session());
    assert_ne!(first.display(), second.display());
    assert!(std::sync::Arc::ptr_eq(&first, &one.session().await), "it is started once");
    let (pid, display) = (first.pid(), first.display().trim_start_matches(':').to_owned());
    one.desktop.stop().await;
    assert!(one.desktop.running().is_none());
    assert!(test_kill_process(Pid::from_raw(pid).unwrap()).is_err(), "the X server is gone");
    assert!(!std::path::Path::new(&format!("/tmp/.X{display}-lock")).exists());
    second.screenshot(Format::Png).await.unwrap();
    other.desktop.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_desktop_whose_server_died_says_so_and_is_started_again_at_its_last_size() {
    let bench = Bench::new();
    let session = bench.session().await;
    session.resize(atoll_desktop::MODES[10]).await.unwrap();
    kill(session.pid());
    eventually("the death to be noticed", async || bench.desktop.running().is_none()).await;
    let gone = session.screenshot(Format::Png).await;
    assert!(matches!(gone, Err(Error::Gone { .. })), "{gone:?}");
    let again = bench.session().await;
    assert_eq!(again.size().await.unwrap(), atoll_desktop::MODES[10]);
    assert!(matches!(session.clipboard().await, Err(Error::Gone { .. })));
    bench.desktop.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_x_server_the_missing_program_is_named() {
    let bench = Bench::with_path("/nonexistent");
    assert!(!bench.desktop.is_installed());
    let missing = bench.desktop.session().await;
    assert!(matches!(missing, Err(Error::NotInstalled { program: "Xvnc" })), "{missing:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn viewers_connect_by_a_private_socket_and_programs_need_the_key() {
    let bench = Bench::new();
    let session = bench.session().await;
    let mode = std::fs::metadata(session.rfb_socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mode = std::fs::metadata(session.authority()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut viewer = UnixStream::connect(session.rfb_socket()).unwrap();
    let mut greeting = [0; 12];
    viewer.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"RFB 003.008\n");
    let socket = format!("/tmp/.X11-unix/X{}", session.display().trim_start_matches(':'));
    let stream = UnixStream::connect(socket).unwrap();
    let (stream, _) = x11rb::rust_connection::DefaultStream::from_unix_stream(stream).unwrap();
    let stranger = x11rb::rust_connection::RustConnection::connect_to_stream(stream, 0);
    assert!(stranger.is_err(), "a program without the key is let in");
    bench.desktop.stop().await;
}

//! A desktop per test, and a program on it that notes what mouse and keyboard do to it.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use atoll_desktop::{Desktop, Options, Session, Size};
use atoll_process::Spawner;
use tokio_util::task::TaskTracker;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    ConnectionExt as _, CreateWindowAux, EventMask, GrabMode, GrabStatus, PropMode,
    SELECTION_NOTIFY_EVENT, SelectionNotifyEvent, Window, WindowClass,
};
use x11rb::rust_connection::{DefaultStream, RustConnection};
use x11rb::wrapper::ConnectionExt as _;

/// Long enough for anything that works at all.
pub(crate) const LONG: Duration = Duration::from_mins(1);

pub(crate) struct Bench {
    pub(crate) desktop: Arc<Desktop>,
    pub(crate) directory: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with_path(&std::env::var("PATH").unwrap_or_default())
    }

    pub(crate) fn with_path(path: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_atoll-desktop-spawner"));
        let spawner = Spawner::launch_program(program).unwrap();
        let options = Options {
            size: Size { width: 800, height: 600 },
            directory: directory.path().to_owned(),
            home: directory.path().to_owned(),
            environment: BTreeMap::from([
                ("PATH".to_owned(), path.to_owned()),
                ("HOME".to_owned(), directory.path().display().to_string()),
            ]),
        };
        Self { desktop: Desktop::new(spawner, TaskTracker::new(), options), directory }
    }

    pub(crate) async fn session(&self) -> Arc<Session> {
        self.desktop.session().await.unwrap()
    }
}

/// A window that fills the screen, with the colour of its background.
pub(crate) struct Notepad {
    connection: RustConnection,
    pub(crate) window: Window,
}

impl Notepad {
    pub(crate) fn open(session: &Session, title: &str, colour: u32) -> Self {
        let authority = std::fs::read(session.authority()).unwrap();
        let key = authority.last_chunk::<16>().unwrap().to_vec();
        let socket = format!("/tmp/.X11-unix/X{}", session.display().trim_start_matches(':'));
        let (stream, _) =
            DefaultStream::from_unix_stream(UnixStream::connect(socket).unwrap()).unwrap();
        let name = b"MIT-MAGIC-COOKIE-1".to_vec();
        let connection =
            RustConnection::connect_to_stream_with_auth_info(stream, 0, name, key).unwrap();
        let root = connection.setup().roots[0].root;
        let window = connection.generate_id().unwrap();
        let looks =
            CreateWindowAux::new().background_pixel(colour).override_redirect(1).event_mask(
                EventMask::KEY_PRESS
                    | EventMask::KEY_RELEASE
                    | EventMask::BUTTON_PRESS
                    | EventMask::BUTTON_RELEASE
                    | EventMask::POINTER_MOTION
                    | EventMask::EXPOSURE,
            );
        let kind = WindowClass::INPUT_OUTPUT;
        connection.create_window(24, window, root, 0, 0, 800, 600, 0, kind, 0, &looks).unwrap();
        let (name, text) = (
            connection.intern_atom(false, b"_NET_WM_NAME").unwrap().reply().unwrap().atom,
            connection.intern_atom(false, b"UTF8_STRING").unwrap().reply().unwrap().atom,
        );
        let replace = PropMode::REPLACE;
        connection.change_property8(replace, window, name, text, title.as_bytes()).unwrap();
        connection.map_window(window).unwrap();
        connection.flush().unwrap();
        let notepad = Self { connection, window };
        notepad.wait_for("its window to be shown", |event| {
            matches!(event, Event::Expose(_)).then_some(())
        });
        notepad.take_keyboard();
        notepad
    }

    /// Keeps the keyboard, whatever the window manager does with the focus.
    fn take_keyboard(&self) {
        let deadline = Instant::now() + LONG;
        let (mode, time) = (GrabMode::ASYNC, x11rb::CURRENT_TIME);
        loop {
            let grab = self.connection.grab_keyboard(false, self.window, time, mode, mode);
            if grab.unwrap().reply().unwrap().status == GrabStatus::SUCCESS {
                return;
            }
            assert!(Instant::now() < deadline, "somebody keeps the keyboard");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn wait_for<T>(&self, what: &str, mut found: impl FnMut(&Event) -> Option<T>) -> T {
        let deadline = Instant::now() + LONG;
        loop {
            if let Some(event) = self.connection.poll_for_event().unwrap() {
                if let Some(found) = found(&event) {
                    return found;
                }
                continue;
            }
            assert!(Instant::now() < deadline, "waited in vain for: {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// What was done to it so far, in words.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.connection.sync().unwrap();
        let mut notes = Vec::new();
        while let Some(event) = self.connection.poll_for_event().unwrap() {
            match event {
                Event::ButtonPress(press) => {
                    notes.push(format!(
                        "down {} at {},{}",
                        press.detail, press.root_x, press.root_y
                    ));
                }
                Event::ButtonRelease(release) => notes.push(format!("up {}", release.detail)),
                Event::KeyPress(press) => {
                    notes.push(format!("key {}", self.symbol(press.detail, press.state.into())));
                }
                Event::KeyRelease(release) => {
                    notes.push(format!("let go {}", self.symbol(release.detail, 0)));
                }
                Event::MotionNotify(motion) => {
                    notes.push(format!("move {},{}", motion.root_x, motion.root_y));
                }
                _ => {}
            }
        }
        notes
    }

    fn symbol(&self, code: u8, state: u16) -> String {
        let mapping = self.connection.get_keyboard_mapping(code, 1).unwrap().reply().unwrap();
        let (lower, upper) = (mapping.keysyms[0], mapping.keysyms[1]);
        let raw = if state & 1 == 1 && upper != 0 { upper } else { lower };
        let symbol = xkeysym::Keysym::new(raw);
        match symbol.key_char().filter(|character| !character.is_control()) {
            Some(character) => character.to_string(),
            None => symbol.name().unwrap_or("?").trim_start_matches("XK_").to_owned(),
        }
    }

    /// The text its keys wrote.
    pub(crate) fn text(&self) -> String {
        let notes = self.notes();
        let keys = notes.iter().filter_map(|note| note.strip_prefix("key "));
        keys.filter(|key| !key.starts_with("Shift"))
            .map(|key| if key == "Return" { "\n" } else { key })
            .collect()
    }

    /// Copies a text, as a program does for which a person pressed Ctrl-C, and hands it over to all who ask until `done`.
    pub(crate) fn copy_and_serve(&self, text: &str, done: &AtomicBool) {
        let atom = |name: &str| {
            self.connection.intern_atom(false, name.as_bytes()).unwrap().reply().unwrap().atom
        };
        let (clipboard, utf8) = (atom("CLIPBOARD"), atom("UTF8_STRING"));
        let time = x11rb::CURRENT_TIME;
        self.connection.set_selection_owner(self.window, clipboard, time).unwrap();
        self.connection.sync().unwrap();
        let deadline = Instant::now() + LONG;
        while !done.load(Ordering::Acquire) {
            assert!(Instant::now() < deadline, "nobody took the text");
            let Some(event) = self.connection.poll_for_event().unwrap() else {
                std::thread::sleep(Duration::from_millis(2));
                continue;
            };
            let Event::SelectionRequest(request) = event else { continue };
            let given = request.target == utf8;
            let notice = SelectionNotifyEvent {
                response_type: SELECTION_NOTIFY_EVENT,
                sequence: 0,
                time: request.time,
                requestor: request.requestor,
                selection: request.selection,
                target: request.target,
                property: if given { request.property } else { x11rb::NONE },
            };
            let requestor = request.requestor;
            if given {
                let (replace, property) = (PropMode::REPLACE, request.property);
                self.connection
                    .change_property8(replace, requestor, property, utf8, text.as_bytes())
                    .unwrap();
            }
            self.connection.send_event(false, requestor, EventMask::NO_EVENT, notice).unwrap();
            self.connection.sync().unwrap();
        }
    }
}

pub(crate) async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !condition().await {
        assert!(Instant::now() < deadline, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

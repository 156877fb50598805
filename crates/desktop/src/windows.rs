//! The windows programs have opened, as the window manager knows them.

use std::time::{Duration, Instant};

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    ClientMessageEvent, ConnectionExt as _, EventMask, MapState, Window,
};

use crate::error::Error;
use crate::link::Link;

/// How long a window may take to come to the front.
const FOCUS: Duration = Duration::from_secs(5);
/// Windows told of at most.
const WINDOWS: usize = 500;

/// A window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowInfo {
    /// The X server's name for it.
    pub id: u32,
    /// Its title.
    pub title: String,
    /// The program's name for its kind.
    pub class: String,
    /// The program's process, where it tells.
    pub pid: Option<u32>,
    /// Left edge.
    pub x: i32,
    /// Upper edge.
    pub y: i32,
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
    /// Whether it has the keyboard.
    pub active: bool,
    /// Whether it is to be seen, as far as others do not cover it.
    pub visible: bool,
}

/// Whether a window manager is there.
pub(crate) fn is_managed(link: &Link) -> Result<bool, Error> {
    let check = link.atom("_NET_SUPPORTING_WM_CHECK")?;
    Ok(!link.numbers(link.root, check)?.is_empty())
}

/// The windows, the lowest first.
pub(crate) fn list(link: &Link) -> Result<Vec<WindowInfo>, Error> {
    let names = Names::of(link)?;
    let active = link.numbers(link.root, names.active)?.first().copied();
    let mut windows = Vec::new();
    for id in link.numbers(link.root, names.stacking)?.into_iter().take(WINDOWS) {
        match describe(link, &names, id, active) {
            Ok(window) => windows.push(window),
            // It was closed meanwhile.
            Err(Error::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(windows)
}

/// Brings a window to the front.
pub(crate) fn focus(link: &Link, id: u32) -> Result<WindowInfo, Error> {
    let names = Names::of(link)?;
    if !link.numbers(link.root, names.stacking)?.contains(&id) {
        return Err(Error::NoSuchWindow { id });
    }
    // As if a person had chosen it in a list of windows.
    let message = ClientMessageEvent::new(32, id, names.active, [2, 0, 0, 0, 0]);
    let mask = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
    link.connection.send_event(false, link.root, mask, message)?;
    link.connection.flush()?;
    let deadline = Instant::now() + FOCUS;
    while link.numbers(link.root, names.active)?.first() != Some(&id) {
        if Instant::now() > deadline {
            return Err(Error::NotFocused { id });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    match describe(link, &names, id, Some(id)) {
        Err(Error::Refused { .. }) => Err(Error::NoSuchWindow { id }),
        other => other,
    }
}

struct Names {
    active: u32,
    stacking: u32,
    title: u32,
    old_title: u32,
    class: u32,
    pid: u32,
}

impl Names {
    fn of(link: &Link) -> Result<Self, Error> {
        Ok(Self {
            active: link.atom("_NET_ACTIVE_WINDOW")?,
            stacking: link.atom("_NET_CLIENT_LIST_STACKING")?,
            title: link.atom("_NET_WM_NAME")?,
            old_title: link.atom("WM_NAME")?,
            class: link.atom("WM_CLASS")?,
            pid: link.atom("_NET_WM_PID")?,
        })
    }
}

fn describe(
    link: &Link,
    names: &Names,
    id: Window,
    active: Option<Window>,
) -> Result<WindowInfo, Error> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let geometry = link.connection.get_geometry(id)?.reply()?;
    let place = link.connection.translate_coordinates(id, link.root, 0, 0)?.reply()?;
    let attributes = link.connection.get_window_attributes(id)?.reply()?;
    let mut title = text(link.property(id, names.title)?);
    if title.is_empty() {
        title = text(link.property(id, names.old_title)?);
    }
    // Two texts, the second of which names the kind.
    let class = link.property(id, names.class)?;
    let class = class.split(|byte| *byte == 0).nth(1).unwrap_or_default().to_vec();
    Ok(WindowInfo {
        id,
        title,
        class: text(class),
        pid: link.numbers(id, names.pid)?.first().copied(),
        x: place.dst_x.into(),
        y: place.dst_y.into(),
        width: geometry.width.into(),
        height: geometry.height.into(),
        active: active == Some(id),
        visible: attributes.map_state == MapState::VIEWABLE,
    })
}

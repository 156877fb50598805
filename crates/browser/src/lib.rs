//! A Chromium and what can be done with its pages.
//!
//! [`Browser`] starts the program on first need and again when it has died. A [`Context`] is one agent's share of it,
//! with cookies and tabs of its own; a [`Tab`] is a page with all its frames, those of other sites included, and what
//! can be done with it. Waiting is done where things happen, in the page or on the browser's events: nothing here
//! polls. This crate knows nothing of the API.

mod browser;
mod chromium;
mod context;
mod error;
mod events;
mod frame;
mod frames;
mod handle;
mod instance;
mod options;
mod page;
mod pattern;
mod tab;
mod target;

pub mod captcha;
pub mod element;
pub mod input;
pub mod js;
pub mod network;
pub mod snapshot;
pub mod state;

pub use atoll_cdp::{CdpError, Event, Reply, Session, Subscription};
pub use browser::{Browser, Restart, RestartMode, Version};
pub use chromium::{Endpoint, PolicyChange, is_installed};
pub use context::{Context, HiddenTab};
pub use error::Error;
pub use frame::{Frame, World};
pub use handle::{Argument, Handle};
pub use options::{Limits, Options, Policies, Scene, Stage};
pub use page::{
    ConsoleEntry, Download, DownloadState, Format, Image, Navigation, Pdf, Recording,
    RecordingSettings, RecordingState, Shot, Traffic, Until,
};
pub use pattern::UrlPattern;
pub use tab::Tab;
pub use target::{Kind, Target};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A place on the page, in CSS pixels from the top left of the viewport.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Down.
    pub y: f64,
}

/// A size in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Size {
    /// Across.
    pub width: f64,
    /// Down.
    pub height: f64,
}

/// A part of the page, in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Rect {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Across.
    pub width: f64,
    /// Down.
    pub height: f64,
}

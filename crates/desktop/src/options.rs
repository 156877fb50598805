//! How the desktop shall be.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// How the desktop shall be.
#[derive(Debug, Clone)]
pub struct Options {
    /// Size of the screen when it starts.
    pub size: Size,
    /// Private directory for its socket, its key and what it prints.
    pub directory: PathBuf,
    /// Where its programs start.
    pub home: PathBuf,
    /// Everything its programs see; nothing is inherited. Programs are looked for in its `PATH`.
    pub environment: BTreeMap<String, String>,
}

/// A size in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Width.
    pub width: u16,
    /// Height.
    pub height: u16,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// A place on the screen, in pixels from the upper left corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
}

impl Options {
    /// A program by its name.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        let path = self.environment.get("PATH").map_or("", String::as_str);
        let places = path.split(':').filter(|place| place.starts_with('/'));
        places.map(|place| PathBuf::from(place).join(name)).find(|program| program.is_file())
    }
}

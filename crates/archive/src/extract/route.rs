//! Where an entry goes: its name, taken apart and found harmless.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::DEPTH;

/// Longest name of an entry, and longest target of a link.
pub(super) const NAME: usize = 4096;
/// Longest component of a name.
const COMPONENT: usize = 255;

/// A path below the destination: components that are neither `.` nor `..`, joined by `/`. Empty for the destination.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Route(Vec<u8>);

impl Route {
    /// Reads an entry's name; refuses what could mean another place, here or on another system.
    pub(super) fn of(name: &[u8]) -> Result<Self, &'static str> {
        if name.is_empty() {
            return Err("it has no name");
        }
        if name.len() > NAME {
            return Err("its name is longer than 4096 bytes");
        }
        if name.contains(&0) {
            return Err("its name contains a NUL byte");
        }
        if name.starts_with(b"/") || name.starts_with(b"\\") {
            return Err("its name is absolute");
        }
        if name[0].is_ascii_alphabetic() && matches!(name, [_, b':', b'/' | b'\\', ..]) {
            return Err("its name begins with a drive letter");
        }
        let mut route = Vec::with_capacity(name.len());
        let mut depth = 0;
        for component in name.split(|byte| *byte == b'/') {
            if matches!(component, b"" | b".") {
                continue;
            }
            if component.split(|byte| *byte == b'\\').any(|part| part == b"..") {
                return Err("its name contains `..`");
            }
            if component.len() > COMPONENT {
                return Err("its name has a component longer than 255 bytes");
            }
            depth += 1;
            if depth > DEPTH + 1 {
                return Err("its name lies too many directories deep");
            }
            if !route.is_empty() {
                route.push(b'/');
            }
            route.extend_from_slice(component);
        }
        Ok(Self(route))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn to_path(&self) -> PathBuf {
        OsStr::from_bytes(&self.0).into()
    }

    /// The directory it lies in, and its name there; `None` for the destination itself.
    pub(super) fn split(&self) -> Option<(&[u8], &OsStr)> {
        let (parent, name) = match self.0.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&self.0[..slash], &self.0[slash + 1..]),
            None => (&self.0[..0], &self.0[..]),
        };
        (!name.is_empty()).then(|| (parent, OsStr::from_bytes(name)))
    }
}

/// The components of a path that has none that are empty.
pub(super) fn components(path: &[u8]) -> impl Iterator<Item = &OsStr> {
    path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).map(OsStr::from_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_routes() {
        for (name, route) in [
            ("a", "a"),
            ("./a//b/./c/", "a/b/c"),
            (".", ""),
            ("./", ""),
            ("...", "..."),
            ("a..b/..c", "a..b/..c"),
            ("back\\slash", "back\\slash"),
            ("c:note", "c:note"),
            ("ä/ö\n", "ä/ö\n"),
        ] {
            assert_eq!(Route::of(name.as_bytes()).unwrap().as_bytes(), route.as_bytes(), "{name}");
        }
        let route = Route::of(b"a/b/c").unwrap();
        assert_eq!(route.split(), Some((&b"a/b"[..], OsStr::new("c"))));
        assert_eq!(Route::of(b"a").unwrap().split(), Some((&b""[..], OsStr::new("a"))));
        assert_eq!(Route::of(b".").unwrap().split(), None);
    }

    #[test]
    fn names_that_could_mean_another_place_are_refused() {
        let long = "x".repeat(256);
        let longer = "x/".repeat(2049);
        let deep = "x/".repeat(DEPTH + 2);
        for name in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../x",
            "a/../b",
            "a/..",
            "a\0b",
            "C:\\x",
            "c:/x",
            "\\x",
            "\\\\host\\x",
            "..\\x",
            "a\\..\\..\\x",
            "a/b\\..",
            &long,
            &longer,
            &deep,
        ] {
            assert!(Route::of(name.as_bytes()).is_err(), "{name:?}");
        }
    }
}

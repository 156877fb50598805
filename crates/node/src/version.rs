//! Versions of Node.js, and the names by which callers ask for them.

use std::fmt;

/// A version of Node.js.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// What people mean by "Node 22".
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number.
    pub patch: u32,
}

impl Version {
    /// The oldest that runs the code of this crate.
    pub const OLDEST: Version = Version { major: 18, minor: 0, patch: 0 };

    /// Reads `20.20.2` or `v20.20.2`; what follows the three numbers (`-nightly…`) is left out.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers = text.trim().trim_start_matches('v');
        let numbers = numbers.split(['-', '+']).next().unwrap_or_default();
        let mut parts = numbers.split('.').map(|part| part.parse().ok());
        let version = Self { major: parts.next()??, minor: parts.next()??, patch: parts.next()?? };
        parts.next().is_none().then_some(version)
    }

    /// The short name of its major version, `node20`.
    pub fn name(self) -> String {
        format!("node{}", self.major)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { major, minor, patch } = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// A version as a caller asks for it: `node20`, `20`, `v20`, `20.20`, `20.20.2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionWish(Vec<u32>);

impl VersionWish {
    /// Reads a name; `None` when it cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let text =
            text.strip_prefix("nodejs").or_else(|| text.strip_prefix("node")).unwrap_or(&text);
        let text = text.trim_start_matches(['-', '@', '_', ' ']);
        let text = text.strip_prefix('v').unwrap_or(text);
        let numbers: Option<Vec<u32>> = text
            .trim_end_matches(".x")
            .split('.')
            .map(|part| {
                part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?
            })
            .collect();
        numbers.filter(|numbers| numbers.len() <= 3).map(Self)
    }

    /// Whether a version is what was asked for.
    pub fn fits(&self, version: Version) -> bool {
        let Version { major, minor, patch } = version;
        self.0.iter().zip([major, minor, patch]).all(|(wanted, is)| *wanted == is)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_node_prints_them() {
        let version = Version { major: 20, minor: 20, patch: 2 };
        assert_eq!(Version::parse("v20.20.2\n"), Some(version));
        assert_eq!(Version::parse("20.20.2"), Some(version));
        assert_eq!(Version::parse("v20.20.2-nightly2026"), Some(version));
        assert_eq!(version.to_string(), "20.20.2");
        assert_eq!(version.name(), "node20");
        for text in ["", "20", "20.1", "a.b.c", "1.2.3.4", "-1.2.3"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }

    #[test]
    fn wishes_fit_every_version_they_leave_open() {
        let version = Version { major: 20, minor: 20, patch: 2 };
        for wish in [
            "node20", "20", "v20", "NODE20", "node-20", "node@20", "20.x", "20.20", "20.20.2",
            "nodejs20",
        ] {
            assert!(VersionWish::parse(wish).is_some_and(|wish| wish.fits(version)), "{wish}");
        }
        for wish in ["2", "node21", "20.1", "20.20.1", "v202"] {
            assert!(VersionWish::parse(wish).is_some_and(|wish| !wish.fits(version)), "{wish}");
        }
        for wish in ["", "node", "latest", "20.20.2.1", "20..2", "2 0", "+20", "99999999999"] {
            assert_eq!(VersionWish::parse(wish), None, "{wish}");
        }
    }
}

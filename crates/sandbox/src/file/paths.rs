//! What a path in a request means: absolute, from `~`, or from the workspace.

use std::path::{Component, Path, PathBuf};

use atoll_operation::Error;

use super::fault::Attempt;

/// Where paths that are not absolute begin.
#[derive(Debug, Clone)]
pub(super) struct Places {
    pub(super) home: PathBuf,
    pub(super) workspace: PathBuf,
}

impl Places {
    /// The absolute path a caller means. `.` is taken out; `..` stays, since it means what the links on the way say.
    pub(super) fn resolve(&self, operation: &'static str, path: &str) -> Result<PathBuf, Error> {
        if path.is_empty() {
            let message = "the path is empty; give an absolute path, or one from the workspace";
            return Err(Attempt::new(operation, Path::new("")).invalid_path(message));
        }
        let path = match path.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => self.home.join(rest.trim_start_matches('/')),
            _ => self.workspace.join(path),
        };
        Ok(path.components().filter(|part| *part != Component::CurDir).collect())
    }
}

/// A path as answers show it: bytes that are no UTF-8 become U+FFFD.
pub(super) fn show(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_begin_at_the_root_at_home_or_in_the_workspace() {
        let places = Places { home: "/home/me".into(), workspace: "/place".into() };
        for (given, meant) in [
            ("/a/b", "/a/b"),
            ("a", "/place/a"),
            (".", "/place"),
            ("./a/./b/", "/place/a/b"),
            ("../x", "/place/../x"),
            ("~", "/home/me"),
            ("~/a", "/home/me/a"),
            ("~other", "/place/~other"),
        ] {
            assert_eq!(places.resolve("read", given).unwrap(), Path::new(meant), "{given}");
        }
        let error = places.resolve("read", "").unwrap_err();
        assert_eq!(error.code(), "file.invalid_path");
    }
}

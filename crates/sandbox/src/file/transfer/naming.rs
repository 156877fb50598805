//! What an upload is called, and where it goes.

use std::fs;
use std::path::{Path, PathBuf};

use atoll_operation::Error;

use crate::file::paths::Places;

/// What a file without a usable name is called.
const UNNAMED: &str = "upload";

/// The path of an upload: what the caller names, or the file's own name in a directory or the workspace.
pub(super) fn path_for(
    places: &Places,
    path: Option<&str>,
    filename: Option<&str>,
) -> Result<PathBuf, Error> {
    let name = file_name(filename);
    // A form cannot say that it leaves a field out otherwise than by leaving it empty.
    let Some(given) = path.filter(|path| !path.is_empty()) else {
        return Ok(places.workspace.join(name));
    };
    let path = places.resolve("upload", given)?;
    let is_directory = given.ends_with('/') || fs::metadata(&path).is_ok_and(|it| it.is_dir());
    Ok(if is_directory { path.join(name) } else { path })
}

/// The last part of the name a sender gives a file, if that can be a name.
fn file_name(filename: Option<&str>) -> String {
    let name = filename.and_then(|name| Path::new(name).file_name()).and_then(|name| name.to_str());
    let name = name.unwrap_or_default().replace('\0', "");
    if name.is_empty() { UNNAMED.to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_senders_name_is_only_ever_a_name() {
        for (given, name) in [
            (Some("a.txt"), "a.txt"),
            (Some("dir/a.txt"), "a.txt"),
            (Some("/etc/passwd"), "passwd"),
            (Some("../../a"), "a"),
            (Some("a/"), "a"),
            (Some(".."), UNNAMED),
            (Some("a/.."), UNNAMED),
            (Some("/"), UNNAMED),
            (Some("."), UNNAMED),
            (Some(""), UNNAMED),
            (Some("\0"), UNNAMED),
            (Some("a\0b"), "ab"),
            (Some(".hidden"), ".hidden"),
            (Some("C:\\a b"), "C:\\a b"),
            (None, UNNAMED),
        ] {
            assert_eq!(file_name(given), name, "{given:?}");
        }
    }

    #[test]
    fn a_directory_gets_the_file_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().join("work");
        fs::create_dir_all(workspace.join("there")).unwrap();
        let places = Places { home: "/home/me".into(), workspace: workspace.clone() };
        for (path, expected) in [
            (None, "a.txt"),
            (Some(""), "a.txt"),
            (Some("b.txt"), "b.txt"),
            (Some("there"), "there/a.txt"),
            (Some("there/"), "there/a.txt"),
            (Some("new"), "new"),
            (Some("new/"), "new/a.txt"),
            (Some("."), "a.txt"),
        ] {
            let found = path_for(&places, path, Some("x/a.txt")).unwrap();
            assert_eq!(found, workspace.join(expected), "{path:?}");
        }
        let home = path_for(&places, Some("~/x"), None).unwrap();
        assert_eq!(home, Path::new("/home/me/x"));
    }
}

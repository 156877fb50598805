//! Where links of an archive lead: never out of the destination, not even through one another.
//!
//! A target that first climbs and then only descends is judged by its text: it starts in a real directory of known
//! depth, and every link it may meet on its way down is such a one too. A target that climbs after it has descended
//! (`a/b/..`) depends on what `a/b` is. It is followed through the unpacked tree, and refused where that cannot tell.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;

use super::route::{NAME, components};
use crate::directory::{Directory, Kind};

/// Steps taken for one target, links on the way included.
const STEPS: usize = 128;

const OUTSIDE: &str = "it links to a place outside the destination";

/// Judges a target by its text, for a link in the directory `parent`.
pub(super) fn check(parent: &[u8], target: &[u8]) -> Result<(), &'static str> {
    if target.is_empty() {
        return Err("it links to nothing");
    }
    if target.len() >= NAME {
        return Err("its target is longer than 4095 bytes");
    }
    if target.contains(&0) {
        return Err("its target contains a NUL byte");
    }
    if target.starts_with(b"/") {
        return Err("it links to an absolute path, outside the destination");
    }
    let climbed = steps(target).take_while(|step| *step == "..").count();
    if climbed > components(parent).count() {
        return Err(OUTSIDE);
    }
    Ok(())
}

/// Follows a target through the unpacked tree, for a link in the directory `parent`. The text was judged before.
pub(super) fn follow(
    root: &Directory,
    parent: &[u8],
    target: &[u8],
) -> io::Result<Result<(), &'static str>> {
    if !steps(target).skip_while(|step| *step == "..").any(|step| step == "..") {
        return Ok(Ok(()));
    }
    let mut here: Vec<Directory> = Vec::new();
    for name in components(parent) {
        here.push(here.last().unwrap_or(root).child(name)?);
    }
    let mut ahead: VecDeque<OsString> = steps(target).map(OsStr::to_owned).collect();
    let mut taken = 0;
    while let Some(step) = ahead.pop_front() {
        taken += 1;
        if taken > STEPS || ahead.len() > STEPS {
            return Ok(Err("it links in circles, or by too many steps"));
        }
        if step == ".." {
            if here.pop().is_none() {
                return Ok(Err(OUTSIDE));
            }
            continue;
        }
        let directory = here.last().unwrap_or(root);
        match directory.kind(&step)? {
            Some(Kind::Directory) => here.push(directory.child(&step)?),
            Some(Kind::Link) => {
                let target = directory.read_link(&step)?;
                steps(target.to_bytes()).rev().for_each(|step| ahead.push_front(step.to_owned()));
            }
            _ if ahead.iter().any(|step| step == "..") => {
                return Ok(Err("it links through something that is not in the archive"));
            }
            _ => return Ok(Ok(())),
        }
    }
    Ok(Ok(()))
}

fn steps(target: &[u8]) -> impl DoubleEndedIterator<Item = &OsStr> {
    let parts = target.split(|byte| *byte == b'/');
    parts.filter(|part| !matches!(*part, b"" | b".")).map(OsStr::from_bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn targets_are_judged_by_their_text() {
        for (parent, target) in
            [("", "a"), ("", "."), ("a", ".."), ("a/b", "../../c"), ("", "a/../b"), ("a", "./../b")]
        {
            assert_eq!(check(parent.as_bytes(), target.as_bytes()), Ok(()), "{parent} {target}");
        }
        for (parent, target) in
            [("", ""), ("", ".."), ("a", "../.."), ("a", "./.././../x"), ("", "/x"), ("", "a\0")]
        {
            assert!(check(parent.as_bytes(), target.as_bytes()).is_err(), "{parent} {target}");
        }
    }

    #[test]
    fn targets_that_climb_after_descending_are_followed() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(tree.path().join("a/b/c")).unwrap();
        symlink("../..", tree.path().join("a/b/up")).unwrap();
        symlink("a/b/up", tree.path().join("far")).unwrap();
        symlink("loop", tree.path().join("loop")).unwrap();
        std::fs::write(tree.path().join("file"), "").unwrap();
        let root = Directory::open(tree.path()).unwrap();
        let follow = |target: &str| follow(&root, b"", target.as_bytes()).unwrap();
        for inside in ["a/b/../x", "a/b/c/../../../a", "a/b/up/a/b/../..", "none/x", "far/a/.."] {
            assert_eq!(follow(inside), Ok(()), "{inside}");
        }
        for outside in ["a/b/up/..", "a/b/up/../x", "far/..", "loop/..", "none/..", "file/../a"] {
            assert!(follow(outside).is_err(), "{outside}");
        }
    }
}

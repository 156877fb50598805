//! What was unpacked here: a list beside the files, so that exactly these can be taken away again, now or after a restart.
//! Whatever somebody else put among them stays.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::discover::{SKIPPED, skill_file};

/// The list's name.
const FILE: &str = ".atoll-unpacked.json";
/// Written by an installation of what `package.json` asks for.
const LOCK: &str = "package-lock.json";
/// How many directories may lie within one another.
const DEPTH: usize = 128;
/// How far above a skill the directory it was unpacked with may be.
const LEVELS: usize = 5;

/// The files of one directory that were unpacked, as paths from there.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Manifest {
    /// The directory itself: a list that came with somebody's files, or was copied elsewhere, is not believed.
    inode: u64,
    files: BTreeSet<PathBuf>,
}

impl Manifest {
    fn read(directory: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(directory.join(FILE)).ok()?;
        let manifest: Self = serde_json::from_str(&text).ok()?;
        (manifest.inode == std::fs::metadata(directory).ok()?.ino()).then_some(manifest)
    }
}

/// Lists everything in a directory as unpacked: for each of the skills in it, and for what lies round them.
pub(super) fn write(root: &Path, skills: &[PathBuf]) -> io::Result<()> {
    let mut own: BTreeSet<PathBuf> = BTreeSet::new();
    own.extend(files(root)?);
    for skill in skills.iter().filter(|skill| *skill != root) {
        let Ok(prefix) = skill.strip_prefix(root) else { continue };
        let (inside, outside) = own.into_iter().partition(|file| file.starts_with(prefix));
        own = outside;
        let inside: BTreeSet<PathBuf> = inside;
        let files = inside.iter().filter_map(|file| file.strip_prefix(prefix).ok());
        put(skill, files.map(Path::to_owned).collect())?;
    }
    put(root, own)
}

fn put(directory: &Path, files: BTreeSet<PathBuf>) -> io::Result<()> {
    let inode = std::fs::metadata(directory)?.ino();
    let text = serde_json::to_vec(&Manifest { inode, files })?;
    std::fs::write(directory.join(FILE), text)
}

/// Whether this directory was unpacked here.
pub(super) fn is_unpacked(directory: &Path) -> bool {
    Manifest::read(directory).is_some()
}

/// Something in the directory that nobody unpacked here: its owner would miss it.
pub(super) fn foreign(root: &Path) -> io::Result<Option<PathBuf>> {
    let mut known = BTreeSet::new();
    let all = files(root)?;
    let manifests = all.iter().filter(|file| file.file_name().is_some_and(|name| name == FILE));
    for manifest in manifests {
        let below = manifest.parent().unwrap_or(Path::new(""));
        let listed = Manifest::read(&root.join(below)).unwrap_or_default();
        known.extend(listed.files.into_iter().map(|file| below.join(file)));
    }
    let ours = |file: &PathBuf| {
        let derived = file.file_name().is_some_and(|name| name == FILE || name == LOCK);
        derived || known.contains(file)
    };
    Ok(all.into_iter().find(|file| !ours(file)))
}

/// Takes away what was unpacked into a skill's directory; and, if it was the last of those it came with, what lies round
/// them. A directory that was not unpacked here is left alone.
pub(super) fn remove(skill: &Path) -> io::Result<()> {
    if !is_unpacked(skill) {
        return Ok(());
    }
    remove_listed(skill)?;
    let above = skill.ancestors().skip(1).take(LEVELS);
    if let Some(root) = above.filter(|above| is_unpacked(above)).last()
        && !holds_skills(root, LEVELS)
    {
        remove_listed(root)?;
    }
    Ok(())
}

fn remove_listed(directory: &Path) -> io::Result<()> {
    let Some(manifest) = Manifest::read(directory) else { return Ok(()) };
    for file in &manifest.files {
        if stays_inside(directory, file) {
            gone(std::fs::remove_file(directory.join(file)))?;
        }
    }
    for name in [LOCK, FILE] {
        gone(std::fs::remove_file(directory.join(name)))?;
    }
    remove_derived(directory, DEPTH)
}

/// Whether a listed file can only lie in the directory: a part of its path may have become a link since.
fn stays_inside(directory: &Path, file: &Path) -> bool {
    let named = file.components().all(|part| matches!(part, Component::Normal(_)));
    let parents = file.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
    named && parents.into_iter().all(|parent| !directory.join(parent).is_symlink())
}

/// Removes what installations left, and directories that hold nothing any more.
fn remove_derived(directory: &Path, depth: usize) -> io::Result<()> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() && depth > 0 {
            if SKIPPED.iter().any(|name| entry.file_name() == *name) {
                std::fs::remove_dir_all(entry.path())?;
            } else {
                remove_derived(&entry.path(), depth - 1)?;
            }
        }
    }
    match std::fs::remove_dir(directory) {
        // Somebody's files are in it.
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        outcome => gone(outcome),
    }
}

fn holds_skills(directory: &Path, levels: usize) -> bool {
    if skill_file(directory).is_some() {
        return true;
    }
    let below = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut below = below.map(|entry| entry.path()).filter(|path| path.is_dir());
    levels > 0 && below.any(|path| holds_skills(&path, levels - 1))
}

/// Files and links below, as paths from there; what installations leave is not looked through.
fn files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![(root.to_owned(), 0)];
    while let Some((directory, depth)) = waiting.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let (path, kind) = {
                let entry = entry?;
                (entry.path(), entry.file_type()?)
            };
            let derived =
                path.file_name().is_some_and(|name| SKIPPED.iter().any(|skip| name == *skip));
            if kind.is_dir() && depth < DEPTH {
                if !derived {
                    waiting.push((path, depth + 1));
                }
            } else if let Ok(relative) = path.strip_prefix(root) {
                found.push(relative.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put_file(root: &Path, file: &str) {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }

    #[test]
    fn only_what_was_unpacked_is_taken_away() {
        let place = tempfile::tempdir().unwrap();
        let skill = place.path().join("skill");
        put_file(&skill, "SKILL.md");
        put_file(&skill, "scripts/run.py");
        write(&skill, std::slice::from_ref(&skill)).unwrap();
        assert!(is_unpacked(&skill));
        assert_eq!(foreign(&skill).unwrap(), None);

        put_file(&skill, "node_modules/x/index.js");
        put_file(&skill, "scripts/__pycache__/run.pyc");
        put_file(&skill, "package-lock.json");
        assert_eq!(foreign(&skill).unwrap(), None);
        put_file(&skill, "notes/mine.txt");
        assert_eq!(foreign(&skill).unwrap(), Some(PathBuf::from("notes/mine.txt")));

        remove(&skill).unwrap();
        assert_eq!(files(&skill).unwrap(), [PathBuf::from("notes/mine.txt")]);
        assert!(!skill.join("scripts").exists() && !skill.join("node_modules").exists());
        // What is not listed any more is nobody's to remove.
        remove(&skill).unwrap();
        assert!(skill.join("notes/mine.txt").exists());
    }

    #[test]
    fn the_last_skill_takes_along_what_it_came_with() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("set");
        for file in ["a/SKILL.md", "b/SKILL.md", "shared/common.py", "README.md"] {
            put_file(&root, file);
        }
        let skills = [root.join("a"), root.join("b")];
        write(&root, &skills).unwrap();
        assert_eq!(foreign(&root).unwrap(), None);
        remove(&skills[0]).unwrap();
        assert!(!skills[0].exists() && root.join("shared/common.py").exists());
        remove(&skills[1]).unwrap();
        assert!(!root.exists() && place.path().exists());
    }

    #[test]
    fn a_list_that_names_files_elsewhere_reaches_none_of_them() {
        let place = tempfile::tempdir().unwrap();
        put_file(place.path(), "precious");
        let skill = place.path().join("skill");
        put_file(&skill, "SKILL.md");
        put_file(place.path(), "elsewhere/file");
        std::os::unix::fs::symlink("../elsewhere", skill.join("linked")).unwrap();
        let list = ["../precious", "/precious", "linked/file", "linked", "SKILL.md"];
        put(&skill, list.map(PathBuf::from).into()).unwrap();
        // One that was copied here tells nothing.
        let copy = place.path().join("copy");
        std::fs::create_dir(&copy).unwrap();
        std::fs::copy(skill.join(FILE), copy.join(FILE)).unwrap();
        put_file(&copy, "SKILL.md");
        remove(&copy).unwrap();
        assert!(copy.join("SKILL.md").exists());

        remove(&skill).unwrap();
        assert!(place.path().join("precious").exists() && !skill.exists());
        assert!(place.path().join("elsewhere/file").exists());
    }
}

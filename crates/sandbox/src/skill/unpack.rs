//! Skills out of an archive: unpacked beside their place, looked at, and moved there when all of it is sound.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use atoll_archive::{Existing, Limits};
use atoll_operation::Error;
use uuid::Uuid;

use super::discover::{Found, discover, skill_file};
use super::{error, manifest};

/// How hidden directories begin that archives are unpacked in.
const PREFIX: &str = ".atoll-skills-";
/// What macOS adds to archives.
const LITTER: [&str; 2] = ["__MACOSX", ".DS_Store"];

/// An archive, and what its sender wants of it.
#[derive(Debug)]
pub(super) struct Parcel {
    /// The archive.
    pub(super) archive: File,
    /// Its name.
    pub(super) filename: Option<String>,
    /// The directory to unpack beneath.
    pub(super) beneath: PathBuf,
    /// The directory it shall become there.
    pub(super) name: Option<String>,
}

/// An archive that was unpacked and is sound, but not in its place. What is not put there is removed when this is
/// dropped.
#[derive(Debug)]
pub(super) struct Staged {
    scaffold: Scaffold,
    root: PathBuf,
    target: PathBuf,
    skills: Vec<Found>,
}

/// The hidden directory, and the directories above it that were missing.
#[derive(Debug)]
struct Scaffold {
    directory: PathBuf,
    made: Vec<PathBuf>,
}

impl Drop for Scaffold {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.directory)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            let path = self.directory.display();
            tracing::warn!(%path, %error, "what an archive was unpacked to stays behind");
        }
        for directory in &self.made {
            // Those that hold something now stay.
            let _kept = std::fs::remove_dir(directory);
        }
    }
}

impl Scaffold {
    fn build(beneath: &Path) -> Result<Self, Error> {
        let missing = beneath.ancestors().take_while(|path| !path.exists());
        let made = missing.map(Path::to_owned).collect();
        let directory = beneath.join(format!("{PREFIX}{}", Uuid::new_v4().simple()));
        let scaffold = Self { directory, made };
        std::fs::create_dir_all(&scaffold.directory)
            .map_err(|error| error::files("skills cannot be unpacked beneath", beneath, &error))?;
        Ok(scaffold)
    }
}

/// Unpacks an archive and looks for skills in it.
pub(super) fn stage(
    mut parcel: Parcel,
    limits: Limits,
    most_bytes: u64,
    cancel: &AtomicBool,
) -> Result<Staged, Error> {
    if let Some(name) = &parcel.name
        && !is_directory_name(name)
    {
        return Err(error::directory_name(name));
    }
    let scaffold = Scaffold::build(&parcel.beneath)?;
    let new = scaffold.directory.join("new");
    atoll_archive::extract(&mut parcel.archive, &new, Existing::Keep, limits, cancel)
        .map_err(error::archive)?;
    let (root, wrapper) = unwrap(&new);
    let shown = |path: &Path| match path.strip_prefix(&new) {
        Ok(inside) if !inside.as_os_str().is_empty() => inside.to_string_lossy().into_owned(),
        _ => "the archive".to_owned(),
    };
    let found = discover(&root, most_bytes).map_err(|error| error::directory(&root, &error))?;
    if !found.mistakes.is_empty() {
        return Err(error::invalid(&found.mistakes, shown));
    }
    let Some(first) = found.skills.first() else {
        return Err(error::none_found("the archive"));
    };
    let own = (first.directory == root).then(|| first.text.name.clone());
    let stem = parcel.filename.as_deref().map(Path::new).and_then(Path::file_stem);
    let stem = stem.map(|stem| stem.to_string_lossy().into_owned());
    let name = [parcel.name, wrapper, own, stem]
        .into_iter()
        .flatten()
        .find(|name| is_directory_name(name))
        .unwrap_or_else(|| "skills".to_owned());
    let target = parcel.beneath.join(name);
    Ok(Staged { scaffold, root, target, skills: found.skills })
}

/// Where the skills begin: an archive of one directory is that directory.
fn unwrap(new: &Path) -> (PathBuf, Option<String>) {
    let entries: Vec<_> = std::fs::read_dir(new)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| !LITTER.iter().any(|name| entry.file_name() == *name))
        .take(2)
        .collect();
    match entries.as_slice() {
        [only]
            if only.path().is_dir() && !only.path().is_symlink() && skill_file(new).is_none() =>
        {
            (only.path(), only.file_name().into_string().ok())
        }
        _ => (new.to_owned(), None),
    }
}

fn is_directory_name(name: &str) -> bool {
    let sound = !name.is_empty() && name.len() <= 255 && !name.starts_with('.');
    sound && !name.contains(['/', '\0']) && name.trim() == name
}

impl Staged {
    /// The skills' names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.skills.iter().map(|skill| skill.text.name.as_str())
    }

    /// Moves everything to its place. What is there gives way only if it was unpacked here and nobody added to it; when
    /// the move fails it is where it was.
    pub(super) fn put_in_place(self) -> Result<Vec<Found>, Error> {
        let Self { scaffold, root, target, skills } = self;
        let refused =
            |error: std::io::Error| error::files("the skills cannot be put at", &target, &error);
        for name in LITTER {
            let litter = root.join(name);
            if litter.is_dir() {
                std::fs::remove_dir_all(&litter).map_err(refused)?;
            }
        }
        let directories: Vec<_> = skills.iter().map(|skill| skill.directory.clone()).collect();
        manifest::write(&root, &directories).map_err(refused)?;
        let old = scaffold.directory.join("old");
        let replaces = target.symlink_metadata().is_ok();
        if replaces {
            if target.is_symlink() || !manifest::is_unpacked(&target) {
                return Err(error::exists(&target, None));
            }
            if let Some(foreign) = manifest::foreign(&target).map_err(refused)? {
                return Err(error::exists(&target, Some(&foreign)));
            }
            std::fs::rename(&target, &old).map_err(refused)?;
        }
        if let Err(error) = std::fs::rename(&root, &target) {
            if replaces && let Err(error) = std::fs::rename(&old, &target) {
                let path = target.display();
                tracing::error!(%path, %error, "skills could neither be replaced nor put back");
            }
            return Err(refused(error));
        }
        // By its real path, as a directory that is registered or scanned is known.
        let target = std::fs::canonicalize(&target).unwrap_or(target);
        let moved = |mut skill: Found| {
            if let Ok(inside) = skill.directory.strip_prefix(&root) {
                skill.directory = if inside.as_os_str().is_empty() {
                    target.clone()
                } else {
                    target.join(inside)
                };
            }
            skill
        };
        Ok(skills.into_iter().map(moved).collect())
    }
}

//! Skills found in a directory: the directory itself, or directories below it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::front_matter::SkillText;

/// The file that makes a directory a skill, and how some write it.
const FILES: [&str; 2] = ["SKILL.md", "skill.md"];
/// Levels of directories that are looked through.
const LEVELS: usize = 4;
/// Directories that are looked into at most.
const DIRECTORIES: usize = 10_000;
/// Never looked into: other people's packages.
pub(super) const SKIPPED: [&str; 3] = ["node_modules", "__pycache__", "venv"];

/// A skill that was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Its directory.
    pub(super) directory: PathBuf,
    /// What its text says.
    pub(super) text: SkillText,
    /// When that was last changed.
    pub(super) changed: Option<SystemTime>,
}

/// A directory that would be a skill were it not for this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mistake {
    /// The file.
    pub(super) path: PathBuf,
    /// What is wrong with it.
    pub(super) problem: String,
}

/// What a directory holds.
#[derive(Debug, Default)]
pub(super) struct Discovery {
    /// Skills, by path.
    pub(super) skills: Vec<Found>,
    /// What cannot be one.
    pub(super) mistakes: Vec<Mistake>,
}

/// Looks for skills. A skill's own directory is not searched for others.
pub(super) fn discover(root: &Path, most_bytes: u64) -> io::Result<Discovery> {
    // Fails where a search would find nothing for another reason.
    std::fs::read_dir(root)?;
    let mut discovery = Discovery::default();
    let mut level = vec![root.to_owned()];
    let mut left = DIRECTORIES;
    for _ in 0..=LEVELS {
        let mut below = Vec::new();
        for directory in level {
            if left == 0 {
                let problem = format!("more than {DIRECTORIES} directories; name one below it");
                discovery.mistakes.push(Mistake { path: root.to_owned(), problem });
                return Ok(discovery);
            }
            left -= 1;
            match skill_file(&directory) {
                Some(file) => discovery.look(directory, file, most_bytes),
                None => below.extend(directories(&directory)),
            }
        }
        level = below;
    }
    discovery.refuse_twins();
    Ok(discovery)
}

impl Discovery {
    fn look(&mut self, directory: PathBuf, file: PathBuf, most_bytes: u64) {
        let read = read(&file, most_bytes).and_then(|text| SkillText::read(&text));
        match read {
            Ok(text) => {
                let changed = std::fs::metadata(&file).and_then(|data| data.modified()).ok();
                self.skills.push(Found { directory, text, changed });
            }
            Err(problem) => self.mistakes.push(Mistake { path: file, problem }),
        }
    }

    /// Names are unique: of two skills with one name neither can be meant.
    fn refuse_twins(&mut self) {
        let mut first: std::collections::BTreeMap<String, PathBuf> =
            std::collections::BTreeMap::new();
        for skill in &self.skills {
            let name = &skill.text.name;
            if let Some(other) = first.get(name) {
                let problem = format!("its name {name:?} is that of {} too", other.display());
                self.mistakes.push(Mistake { path: skill.directory.clone(), problem });
            } else {
                first.insert(name.clone(), skill.directory.clone());
            }
        }
        self.skills.retain(|skill| first.get(&skill.text.name) == Some(&skill.directory));
    }
}

/// The file that makes this directory a skill.
pub(super) fn skill_file(directory: &Path) -> Option<PathBuf> {
    FILES.iter().map(|name| directory.join(name)).find(|file| file.is_file())
}

/// The text of a `SKILL.md`.
pub(super) fn read(file: &Path, most_bytes: u64) -> Result<String, String> {
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|file| file.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes))
        .map_err(|error| format!("it cannot be read: {error}"))?;
    if bytes.len() as u64 > most_bytes {
        return Err(format!("it is longer than {most_bytes} bytes (limit skill_file_bytes)"));
    }
    String::from_utf8(bytes).map_err(|_| "it is no UTF-8 text".to_owned())
}

/// Directories directly below, by name. Links are followed: people link skills together from elsewhere.
fn directories(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let wanted = |entry: &std::fs::DirEntry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        !name.starts_with('.') && !SKIPPED.contains(&&*name)
    };
    let mut found: Vec<_> = entries
        .filter(wanted)
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .take(DIRECTORIES)
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, directory: &str, name: &str) {
        let directory = root.join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        let text = format!("---\nname: {name}\ndescription: does {name}\n---\nbody\n");
        std::fs::write(directory.join("SKILL.md"), text).unwrap();
    }

    fn names(discovery: &Discovery) -> Vec<&str> {
        discovery.skills.iter().map(|skill| skill.text.name.as_str()).collect()
    }

    #[test]
    fn a_directory_is_a_skill_or_holds_some() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), "b", "beta");
        put(root.path(), "a", "alpha");
        put(root.path(), "group/deeper/c", "gamma");
        put(root.path(), "a/inner", "hidden by its parent");
        put(root.path(), ".git/x", "hidden");
        put(root.path(), "node_modules/x", "foreign");
        put(root.path(), "1/2/3/4/5", "too deep");
        let found = discover(root.path(), 1 << 20).unwrap();
        assert_eq!(names(&found), ["alpha", "beta", "gamma"]);
        assert!(found.mistakes.is_empty(), "{:?}", found.mistakes);
        let one = discover(&root.path().join("a"), 1 << 20).unwrap();
        assert_eq!(names(&one), ["alpha"]);
    }

    #[test]
    fn what_cannot_be_a_skill_is_named_beside_what_can() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), "good", "good");
        put(root.path(), "twin", "good");
        std::fs::create_dir_all(root.path().join("bad")).unwrap();
        std::fs::write(root.path().join("bad/SKILL.md"), [0xff, 0xfe]).unwrap();
        std::fs::create_dir_all(root.path().join("long")).unwrap();
        std::fs::write(root.path().join("long/SKILL.md"), "x".repeat(2000)).unwrap();
        let found = discover(root.path(), 1000).unwrap();
        assert_eq!(names(&found), ["good"]);
        let problems: Vec<_> = found.mistakes.iter().map(|mistake| &mistake.problem).collect();
        assert!(problems.iter().any(|problem| problem.contains("UTF-8")), "{problems:?}");
        assert!(
            problems.iter().any(|problem| problem.contains("skill_file_bytes")),
            "{problems:?}"
        );
        assert!(problems.iter().any(|problem| problem.contains("too")), "{problems:?}");
        assert!(discover(&root.path().join("nowhere"), 1000).is_err());
    }

    #[test]
    fn a_link_in_a_circle_ends() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), "a", "alpha");
        std::os::unix::fs::symlink(root.path(), root.path().join("again")).unwrap();
        let found = discover(root.path(), 1000).unwrap();
        assert_eq!(names(&found), ["alpha"]);
    }
}

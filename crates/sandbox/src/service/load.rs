//! Reading every file that sets services up. A mistake is told with its file and line; it costs the service it stands
//! in, never another.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::definition::Definition;
use super::{supervisor_conf, toml_file};

/// Bytes of one file.
const LARGEST: u64 = 1 << 20;
/// Files read from a directory.
const MOST_FILES: usize = 256;

/// Where services are set up, and what such files may refer to.
#[derive(Debug, Clone, Default)]
pub(super) struct Sources {
    /// Directory with supervisord's files.
    pub(super) conf_dir: Option<PathBuf>,
    /// Our own file.
    pub(super) file: Option<PathBuf>,
    /// Whether it is a mistake when our own file is not there.
    pub(super) file_expected: bool,
    /// Where relative paths begin.
    pub(super) directory: PathBuf,
    /// Variables that files may refer to.
    pub(super) variables: BTreeMap<String, String>,
    /// Names that are not free.
    pub(super) taken: Vec<&'static str>,
    /// Services there may be.
    pub(super) most: usize,
}

/// What came out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Loaded {
    /// In the order in which they are started.
    pub(super) definitions: Vec<Definition>,
    /// Services that cannot be started because of a mistake.
    pub(super) broken: Vec<Broken>,
    /// Every mistake.
    pub(super) problems: Vec<Problem>,
}

/// A service that cannot be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) name: String,
    pub(super) problem: Problem,
}

/// A mistake in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) file: PathBuf,
    pub(super) line: Option<u64>,
    pub(super) message: String,
}

impl Loaded {
    /// Adds a mistake because of which a service cannot be started.
    pub(super) fn break_off(&mut self, name: &str, problem: Problem) {
        self.problems.push(problem.clone());
        if !self.broken.iter().any(|broken| broken.name == name) {
            self.broken.push(Broken { name: name.to_owned(), problem });
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Reads everything.
pub(super) fn load(sources: &Sources) -> Loaded {
    let mut all = Loaded::default();
    let mut places: BTreeMap<String, PathBuf> = BTreeMap::new();
    for (file, supervisord) in files(sources, &mut all.problems) {
        let text = match read(&file) {
            Ok(text) => text,
            Err(error) => {
                let absent = error.kind() == io::ErrorKind::NotFound && !sources.file_expected;
                if supervisord || !absent {
                    let message = format!("it cannot be read: {error}");
                    all.problems.push(Problem { file, line: None, message });
                }
                continue;
            }
        };
        let read = if supervisord {
            supervisor_conf::read(&text, &file, sources)
        } else {
            toml_file::read(&text, &file, sources)
        };
        all.problems.extend(read.problems);
        all.broken.extend(read.broken);
        for definition in read.definitions {
            if sources.taken.contains(&definition.name.as_str()) {
                let name = &definition.name;
                let message =
                    format!("{name} is a part of the sandbox; give the service another name");
                all.problems.push(Problem { file: file.clone(), line: None, message });
                continue;
            }
            match places.get(&definition.name) {
                Some(place) => {
                    let (name, place) = (&definition.name, place.display());
                    let message = format!("the service {name} is set up in {place} already");
                    all.problems.push(Problem { file: file.clone(), line: None, message });
                }
                None if all.definitions.len() >= sources.most => {
                    let message = format!(
                        "the service {} is left out: there may be {} (ATOLL_LIMIT_SERVICES)",
                        definition.name, sources.most
                    );
                    all.problems.push(Problem { file: file.clone(), line: None, message });
                }
                None => {
                    places.insert(definition.name.clone(), file.clone());
                    all.definitions.push(definition);
                }
            }
        }
    }
    let good: BTreeSet<_> = all.definitions.iter().map(|each| each.name.clone()).collect();
    all.broken.retain(|broken| !good.contains(&broken.name));
    all.definitions.sort_by(|a, b| (a.priority, &a.name).cmp(&(b.priority, &b.name)));
    all
}

/// The files in the order in which they are read, and whether each is one of supervisord's.
fn files(sources: &Sources, problems: &mut Vec<Problem>) -> Vec<(PathBuf, bool)> {
    let mut found: Vec<PathBuf> = Vec::new();
    if let Some(directory) = &sources.conf_dir {
        match std::fs::read_dir(directory) {
            Ok(entries) => found.extend(
                entries
                    .flatten()
                    .map(|entry| entry.path())
                    .filter(|path| path.extension().is_some_and(|extension| extension == "conf")),
            ),
            Err(error) => problems.push(Problem {
                file: directory.clone(),
                line: None,
                message: format!("the directory of services cannot be read: {error}"),
            }),
        }
        found.sort();
        if found.len() > MOST_FILES {
            found.truncate(MOST_FILES);
            let message = format!("only the first {MOST_FILES} files are read");
            problems.push(Problem { file: directory.clone(), line: None, message });
        }
    }
    let conf = found.into_iter().map(|path| (path, true));
    conf.chain(sources.file.clone().map(|path| (path, false))).collect()
}

fn read(path: &Path) -> io::Result<String> {
    // A pipe or a device in its place would keep the reader waiting.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it is larger than {LARGEST} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(directory: &Path) -> Sources {
        Sources {
            conf_dir: Some(directory.to_owned()),
            file: Some(directory.join("services.toml")),
            file_expected: false,
            directory: PathBuf::from("/data"),
            variables: BTreeMap::new(),
            taken: vec!["browser"],
            most: 3,
        }
    }

    #[test]
    fn a_bad_file_costs_itself_only_and_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &[u8]| {
            std::fs::write(directory.path().join(name), content).unwrap();
        };
        write("a.conf", b"[program:late]\ncommand=sleep 1\npriority=5\n");
        write("b.conf", b"[program:broken]\ncommand=sleep '1\n");
        write("c.conf", b"\xff\xfe");
        write(
            "d.conf",
            b"[program:early]\ncommand=sleep 1\npriority=1\n[program:late]\ncommand=x\n",
        );
        write("f.conf", b"[program:browser]\ncommand=x\n");
        write("ignored.txt", b"[program:x]\ncommand=x\n");
        write(
            "services.toml",
            b"[services.own]\ncommand = 'sleep 1'\n[services.more]\ncommand = 'x'\n",
        );
        std::fs::create_dir(directory.path().join("e.conf")).unwrap();

        let loaded = load(&sources(directory.path()));
        let names: Vec<_> = loaded.definitions.iter().map(|each| each.name.as_str()).collect();
        assert_eq!(names, ["early", "late", "more"]);
        assert_eq!(loaded.broken.len(), 1);
        assert_eq!(loaded.broken[0].name, "broken");
        let shown: Vec<_> = loaded.problems.iter().map(ToString::to_string).collect();
        let told = |parts: [&str; 2]| {
            shown.iter().any(|line| parts.iter().all(|part| line.contains(part)))
        };
        for parts in [
            ["b.conf:2", "quote"],
            ["c.conf", "UTF-8"],
            ["e.conf", "regular file"],
            ["d.conf", "late is set up in"],
            ["f.conf", "browser is a part"],
            ["services.toml", "own is left out"],
        ] {
            assert!(told(parts), "{parts:?} in {shown:#?}");
        }
        assert_eq!(shown.len(), 6, "{shown:#?}");
    }

    #[test]
    fn files_that_are_not_there_are_told_when_they_were_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let mut sources = sources(directory.path());
        assert_eq!(load(&sources), Loaded::default());
        sources.file_expected = true;
        sources.conf_dir = Some(directory.path().join("nowhere"));
        assert_eq!(load(&sources).problems.len(), 2);
    }
}

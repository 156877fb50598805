//! A tree of files for one test, and questions with everything at its default.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use atoll_search::{Cancel, GlobQuery, GrepOutcome, GrepQuery, Order};
use tempfile::TempDir;

/// Deleted when dropped.
pub(crate) struct Tree(TempDir);

impl Tree {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self(TempDir::new().unwrap());
        for (path, content) in files {
            tree.write(path, content.as_bytes());
        }
        tree
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file with its directories; makes a directory when the path ends in a slash.
    pub(crate) fn write(&self, path: &str, content: &[u8]) {
        self.write_bytes(path.as_bytes(), content);
    }

    pub(crate) fn write_bytes(&self, path: &[u8], content: &[u8]) {
        let whole = self.root().join(OsStr::from_bytes(path));
        if path.ends_with(b"/") {
            return fs::create_dir_all(whole).unwrap();
        }
        fs::create_dir_all(whole.parent().unwrap()).unwrap();
        fs::write(whole, content).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: &str) {
        symlink(target, self.path(path)).unwrap();
    }

    pub(crate) fn fifo(&self, path: &str) {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, self.path(path), mode).unwrap();
    }

    pub(crate) fn set_time(&self, path: &str, seconds: u64) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        fs::File::options().append(true).open(self.path(path)).unwrap().set_modified(time).unwrap();
    }

    /// A path without the part before the tree.
    pub(crate) fn short(&self, path: &Path) -> String {
        path.strip_prefix(self.root()).unwrap().to_string_lossy().into_owned()
    }

    /// A question about the whole tree.
    pub(crate) fn grep(&self, pattern: &str) -> GrepQuery {
        GrepQuery {
            root: self.root().to_owned(),
            pattern: pattern.to_owned(),
            fixed_strings: false,
            case_insensitive: false,
            multiline: false,
            include: Vec::new(),
            exclude: Vec::new(),
            file_type: None,
            recursive: true,
            hidden: false,
            gitignore: false,
            context_before: 0,
            context_after: 0,
            offset: 0,
            max_results: 500,
            max_bytes: 1 << 20,
            max_file_size: 1 << 20,
            max_line_length: 2000,
            order: Order::default(),
        }
    }

    /// A question about the whole tree.
    pub(crate) fn glob(&self, pattern: &str) -> GlobQuery {
        GlobQuery {
            root: self.root().to_owned(),
            pattern: pattern.to_owned(),
            exclude: Vec::new(),
            hidden: false,
            gitignore: false,
            files_only: true,
            metadata: false,
            order: Order::default(),
            max_results: 5000,
        }
    }

    /// Matches as `path:line:text`.
    pub(crate) fn lines(&self, outcome: &GrepOutcome) -> Vec<String> {
        let lines = outcome.files.iter().flat_map(|file| {
            let path = self.short(&file.path);
            file.matches.iter().map(move |found| format!("{path}:{}:{}", found.line, found.text))
        });
        lines.collect()
    }

    /// Paths of files with matches.
    pub(crate) fn files(&self, outcome: &GrepOutcome) -> Vec<String> {
        outcome.files.iter().map(|file| self.short(&file.path)).collect()
    }
}

/// Ends in a minute: long enough for a busy machine, short enough to tell a search that hangs.
pub(crate) fn patience() -> Cancel {
    Cancel::new().with_deadline(Instant::now() + Duration::from_mins(1))
}

pub(crate) fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

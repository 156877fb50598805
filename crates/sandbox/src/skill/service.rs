//! The skills that are registered.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use atoll_api::skill::{DependencyCommandResult, SkillMetadata};
use atoll_api::system::Limits;
use atoll_operation::{Error, Kind};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::discover::Found;
use super::error;
use crate::programs::Programs;

/// Where skills are.
#[derive(Debug, Clone, Default)]
pub struct SkillSettings {
    /// Directory whose skills are registered at the start and as they come and go.
    pub path: Option<PathBuf>,
}

/// The skills. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Skills {
    pub(super) programs: Programs,
    pub(super) limits: Arc<Limits>,
    /// The directory that is watched.
    pub(super) root: Option<PathBuf>,
    state: Arc<Mutex<State>>,
    /// Held while skills are registered or removed, so that what is on disk and what is known agree.
    pub(super) changing: Arc<tokio::sync::Mutex<()>>,
    /// Held while something is installed: two installers in one place break each other's work.
    pub(super) installing: Arc<tokio::sync::Mutex<()>>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    skills: BTreeMap<String, Entry>,
    /// Directories whose skill was deleted although its files stay, with when its text had last changed.
    dismissed: HashMap<PathBuf, Option<SystemTime>>,
}

/// A registered skill.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) directory: PathBuf,
    metadata: Map<String, Value>,
    changed: Option<SystemTime>,
    dependency_commands: Vec<DependencyCommandResult>,
    /// Found in the watched directory rather than named by somebody: it goes when its files do.
    scanned: bool,
}

impl Entry {
    pub(super) fn show(&self, name: &str) -> SkillMetadata {
        SkillMetadata {
            name: name.to_owned(),
            path: self.directory.to_string_lossy().into_owned(),
            metadata: self.metadata.clone(),
            dependency_commands: self.dependency_commands.clone(),
        }
    }
}

impl Skills {
    /// Starts without skills, and looks for those of the watched directory in the background.
    pub fn new(programs: &Programs, settings: SkillSettings) -> Arc<Self> {
        let skills = Arc::new(Self {
            programs: programs.clone(),
            limits: Arc::clone(&programs.foundation().limits),
            root: settings.path,
            state: Arc::default(),
            changing: Arc::default(),
            installing: Arc::default(),
            changes: watch::channel(0).0,
        });
        if let Some(root) = skills.root.clone() {
            let watched = Arc::clone(&skills);
            programs.tasks().spawn(async move { watched.watch(root).await });
        }
        skills
    }

    /// Counts changes of the list, for those who pass it on.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Every skill, by name.
    pub(super) fn all(&self) -> Vec<SkillMetadata> {
        self.state().skills.iter().map(|(name, entry)| entry.show(name)).collect()
    }

    /// A skill by its name.
    pub(super) fn find(&self, name: &str) -> Result<Entry, Error> {
        self.state().skills.get(name).cloned().ok_or_else(|| error::not_found(name))
    }

    /// Refuses names that would be too many together with those there are.
    pub(super) fn check_room<'a>(&self, names: impl Iterator<Item = &'a str>) -> Result<(), Error> {
        let state = self.state();
        let new = names.filter(|name| !state.skills.contains_key(*name)).count();
        let most = self.limits.skills;
        if (state.skills.len() + new) as u64 > most { Err(error::too_many(most)) } else { Ok(()) }
    }

    /// Registers skills that somebody named. Gives the directories of those they replace that lie elsewhere.
    pub(super) fn insert(&self, found: &[Found]) -> Vec<PathBuf> {
        let mut replaced = Vec::new();
        let mut state = self.state();
        for skill in found {
            state.dismissed.remove(&skill.directory);
            // One directory has one name: the one its text gives now.
            state.skills.retain(|_, entry| entry.directory != skill.directory);
            let entry = Entry {
                directory: skill.directory.clone(),
                metadata: skill.text.metadata.clone(),
                changed: skill.changed,
                dependency_commands: Vec::new(),
                scanned: false,
            };
            replaced.extend(state.skills.insert(skill.text.name.clone(), entry));
        }
        drop(state);
        self.changed();
        replaced.into_iter().map(|entry| entry.directory).collect()
    }

    /// Forgets a skill. One whose files stay in the watched directory must not come back by itself.
    pub(super) fn forget(&self, name: &str) -> Result<Entry, Error> {
        let mut state = self.state();
        let entry = state.skills.remove(name).ok_or_else(|| error::not_found(name))?;
        // Directories are known by their real paths.
        let root = self.root.as_ref().and_then(|root| std::fs::canonicalize(root).ok());
        if root.is_some_and(|root| entry.directory.starts_with(root)) {
            state.dismissed.insert(entry.directory.clone(), entry.changed);
        }
        drop(state);
        self.changed();
        Ok(entry)
    }

    /// Notes what was installed for a skill, unless another has taken its place.
    pub(super) fn note_installed(
        &self,
        name: &str,
        directory: &Path,
        results: Vec<DependencyCommandResult>,
    ) {
        let mut state = self.state();
        let entry = state.skills.get_mut(name).filter(|entry| entry.directory == directory);
        if let Some(entry) = entry {
            entry.dependency_commands = results;
        }
    }

    /// Takes over what the watched directory holds now. Says what could not be taken over.
    pub(super) fn take_over(&self, root: &Path, found: &[Found]) -> Vec<String> {
        let mut problems = Vec::new();
        let mut changed = false;
        let mut state = self.state();
        state.dismissed.retain(|directory, _| directory.exists());
        let gone: Vec<String> = state
            .skills
            .iter()
            .filter(|(name, entry)| {
                let is_there =
                    |skill: &Found| skill.directory == entry.directory && skill.text.name == **name;
                entry.scanned && entry.directory.starts_with(root) && !found.iter().any(is_there)
            })
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            state.skills.remove(&name);
            changed = true;
        }
        for skill in found {
            if state.dismissed.get(&skill.directory) == Some(&skill.changed) {
                continue;
            }
            let name = &skill.text.name;
            let path = skill.directory.display();
            let full = state.skills.len() as u64 >= self.limits.skills;
            match state.skills.get_mut(name) {
                Some(entry) if entry.directory != skill.directory => {
                    let other = entry.directory.display();
                    problems.push(format!("{path}: its name {name:?} is that of {other}"));
                }
                Some(entry) => {
                    changed |= entry.metadata != skill.text.metadata;
                    entry.metadata.clone_from(&skill.text.metadata);
                    entry.changed = skill.changed;
                }
                None if full => {
                    problems.push(format!("{path}: {}", error::too_many(self.limits.skills)));
                }
                None => {
                    state.dismissed.remove(&skill.directory);
                    state.skills.retain(|_, entry| entry.directory != skill.directory);
                    let entry = Entry {
                        directory: skill.directory.clone(),
                        metadata: skill.text.metadata.clone(),
                        changed: skill.changed,
                        dependency_commands: Vec::new(),
                        scanned: true,
                    };
                    state.skills.insert(name.clone(), entry);
                    changed = true;
                }
            }
        }
        drop(state);
        if changed {
            self.changed();
        }
        problems
    }
}

/// Runs work that waits for the disk, away from the threads that serve connections. It goes on when the caller leaves.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        Error::new(Kind::Internal, "internal", "the work on skills broke off").with_source(error)
    })
}

//! Skills registered: those of a directory, or of an archive that is sent.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_api::skill::{RegisterSkills, SkillRegistrationResult};
use atoll_archive::Limits;
use atoll_operation::{Context, Error, Incoming, Late, Receive};
use futures::StreamExt;
use tokio::io::AsyncWriteExt;

use super::discover::{Found, discover};
use super::error;
use super::service::{Skills, blocking};
use super::unpack::{Parcel, stage};

/// Where archives go when nothing else is said, below the home directory.
const USUAL: &str = "skills";

impl Receive<RegisterSkills> for Skills {
    async fn receive(
        &self,
        _: &Context,
        input: Late<RegisterSkills>,
        file: Option<Incoming>,
    ) -> Result<SkillRegistrationResult, Error> {
        let spooled = match file {
            Some(file) => {
                let filename = file.filename.clone();
                self.spool(file).await?.map(|archive| (archive, filename))
            }
            None => None,
        };
        let input = input.all().await?;
        let (path, name) = (given(input.path), given(input.name));
        let found = match (spooled, path) {
            (Some((archive, filename)), path) => {
                let beneath = match path {
                    Some(path) => self.resolve(&path),
                    None => self.usual_place(),
                };
                self.register_archive(Parcel { archive, filename, beneath, name }).await?
            }
            (None, Some(path)) => {
                let path = self.resolve(&path);
                self.register_directory(path, name).await?
            }
            (None, None) => return Err(error::nothing_given()),
        };
        let names: Vec<_> = found.into_iter().map(|skill| skill.text.name).collect();
        if input.install {
            self.install_all(names.clone()).await;
        }
        let mut registered = self.all();
        registered.retain(|skill| names.contains(&skill.name));
        Ok(SkillRegistrationResult { count: registered.len() as u64, registered })
    }
}

/// A form cannot say that it leaves a field out otherwise than by leaving it empty.
fn given(field: Option<String>) -> Option<String> {
    field.filter(|text| !text.trim().is_empty())
}

/// Tells blocking work that nobody waits for it any more.
#[derive(Debug, Default)]
struct Abandon(Arc<AtomicBool>);

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Skills {
    /// The absolute path a caller means: from `~`, or from the workspace.
    fn resolve(&self, path: &str) -> PathBuf {
        let foundation = self.programs.foundation();
        let path = match path.strip_prefix('~') {
            Some("") => foundation.home.clone(),
            Some(rest) if rest.starts_with('/') => {
                foundation.home.join(rest.trim_start_matches('/'))
            }
            _ => foundation.workspace.join(path),
        };
        path.components().collect()
    }

    fn usual_place(&self) -> PathBuf {
        let usual = || self.programs.foundation().home.join(USUAL);
        self.root.clone().unwrap_or_else(usual)
    }

    /// Takes the archive in; nothing when it is empty, as a form's part without a file is.
    async fn spool(&self, mut file: Incoming) -> Result<Option<File>, Error> {
        let directory = self.programs.foundation().runtime_dir.clone();
        let failed = |error: &io::Error| {
            error::files("the archive cannot be taken in at", &directory, error)
        };
        // Nobody sees it, and it is gone when it is let go of.
        let spool = tempfile::tempfile_in(&directory).map_err(|error| failed(&error))?;
        let mut spool = tokio::fs::File::from_std(spool);
        let most = self.limits.skill_archive_bytes;
        let mut length = 0;
        while let Some(piece) = file.bytes.next().await {
            let piece = piece.map_err(|error| failed(&error))?;
            length += piece.len() as u64;
            if length > most {
                return Err(error::too_large(&format!("it is longer than {most} bytes")));
            }
            spool.write_all(&piece).await.map_err(|error| failed(&error))?;
        }
        spool.flush().await.map_err(|error| failed(&error))?;
        let empty = length == 0 && file.filename.as_deref().is_none_or(str::is_empty);
        Ok((!empty).then_some(spool.into_std().await))
    }

    async fn register_archive(&self, parcel: Parcel) -> Result<Vec<Found>, Error> {
        let limits = Limits {
            entries: self.limits.skill_archive_entries,
            bytes: self.limits.skill_archive_bytes,
            ratio: self.limits.archive_ratio,
        };
        let most_bytes = self.limits.skill_file_bytes;
        let abandon = Abandon::default();
        let cancel = Arc::clone(&abandon.0);
        let staged = blocking(move || stage(parcel, limits, most_bytes, &cancel)).await??;
        // From here on it is quick, and goes on to its end.
        let skills = self.clone();
        let turn = Arc::clone(&self.changing).lock_owned().await;
        let found = blocking(move || {
            let _turn = turn;
            skills.check_room(staged.names())?;
            let found = staged.put_in_place()?;
            let replaced = skills.insert(&found);
            Ok::<_, Error>((found, replaced))
        });
        let (found, replaced) = found.await??;
        self.remove_replaced(replaced, &found).await;
        Ok(found)
    }

    async fn register_directory(
        &self,
        path: PathBuf,
        name: Option<String>,
    ) -> Result<Vec<Found>, Error> {
        let most_bytes = self.limits.skill_file_bytes;
        let found = blocking(move || look(&path, name.as_deref(), most_bytes)).await??;
        let _turn = self.changing.lock().await;
        self.check_room(found.iter().map(|skill| skill.text.name.as_str()))?;
        let replaced = self.insert(&found);
        self.remove_replaced(replaced, &found).await;
        Ok(found)
    }

    /// What was unpacked for a skill that another has replaced is nobody's any more.
    async fn remove_replaced(&self, mut replaced: Vec<PathBuf>, by: &[Found]) {
        replaced.retain(|old| {
            !by.iter().any(|new| new.directory.starts_with(old) || old.starts_with(&new.directory))
        });
        if !replaced.is_empty()
            && let Err(error) = self.remove_files(replaced).await
        {
            tracing::warn!(%error, "files of a skill that was replaced stay behind");
        }
    }
}

/// The skills of a directory; of all of them the named one.
fn look(path: &Path, name: Option<&str>, most_bytes: u64) -> Result<Vec<Found>, Error> {
    let path = std::fs::canonicalize(path).map_err(|error| error::directory(path, &error))?;
    let search = |path: &Path| {
        let found = discover(path, most_bytes).map_err(|error| error::directory(path, &error))?;
        if !found.mistakes.is_empty() {
            let shown = |path: &Path| path.to_string_lossy().into_owned();
            return Err(error::invalid(&found.mistakes, shown));
        }
        if found.skills.is_empty() {
            return Err(error::none_found(&path.to_string_lossy()));
        }
        Ok(found.skills)
    };
    let Some(name) = name else { return search(&path) };
    let below = path.join(name);
    if !name.contains('/') && name != ".." && below.is_dir() {
        return search(&below);
    }
    let all = search(&path)?;
    let folder = |skill: &Found| skill.directory.file_name().is_some_and(|folder| folder == name);
    let chosen = |skill: &&Found| skill.text.name == name || folder(skill);
    if let Some(skill) = all.iter().find(chosen) {
        return Ok(vec![skill.clone()]);
    }
    let names: Vec<_> = all.iter().map(|skill| skill.text.name.as_str()).collect();
    Err(error::no_such(&path, name, &names))
}

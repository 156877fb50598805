//! Skills listed, read and forgotten.

use std::path::PathBuf;

use atoll_api::skill::{
    ClearSkills, ClearedSkills, DeleteSkill, GetSkillContent, ListSkills, SkillContentResult,
    SkillMetadata, SkillMetadataCollection,
};
use atoll_operation::{Context, Error, Handle};

use super::discover::{read, skill_file};
use super::service::{Skills, blocking};
use super::{error, front_matter, manifest};

impl Handle<ListSkills> for Skills {
    async fn handle(
        &self,
        _: &Context,
        input: ListSkills,
    ) -> Result<SkillMetadataCollection, Error> {
        let mut skills = self.all();
        if let Some(names) = input.names.as_deref().filter(|names| !names.trim().is_empty()) {
            let names: Vec<_> = names.split(',').map(str::trim).collect();
            skills.retain(|skill| names.contains(&skill.name.as_str()));
        }
        Ok(SkillMetadataCollection { skills })
    }
}

impl Handle<GetSkillContent> for Skills {
    async fn handle(
        &self,
        _: &Context,
        input: GetSkillContent,
    ) -> Result<SkillContentResult, Error> {
        let entry = self.find(&input.name)?;
        let most_bytes = self.limits.skill_file_bytes;
        let directory = entry.directory.clone();
        let text = blocking(move || {
            let file = skill_file(&directory)
                .ok_or_else(|| error::unreadable(&directory, "its SKILL.md is gone"))?;
            read(&file, most_bytes).map_err(|problem| error::unreadable(&directory, &problem))
        });
        Ok(SkillContentResult {
            content: front_matter::body(&text.await??).to_owned(),
            path: entry.directory.to_string_lossy().into_owned(),
            name: input.name,
        })
    }
}

impl Handle<DeleteSkill> for Skills {
    async fn handle(&self, _: &Context, input: DeleteSkill) -> Result<SkillMetadata, Error> {
        let _turn = self.changing.lock().await;
        let entry = self.forget(&input.name)?;
        self.remove_files(vec![entry.directory.clone()]).await?;
        Ok(entry.show(&input.name))
    }
}

impl Handle<ClearSkills> for Skills {
    async fn handle(&self, _: &Context, _: ClearSkills) -> Result<ClearedSkills, Error> {
        let _turn = self.changing.lock().await;
        let (mut names, mut directories) = (Vec::new(), Vec::new());
        for skill in self.all() {
            if let Ok(entry) = self.forget(&skill.name) {
                names.push(skill.name);
                directories.push(entry.directory);
            }
        }
        self.remove_files(directories).await?;
        Ok(ClearedSkills { count: names.len() as u64, names })
    }
}

impl Skills {
    /// Removes files that were unpacked here, and no others.
    pub(super) async fn remove_files(&self, directories: Vec<PathBuf>) -> Result<(), Error> {
        blocking(move || {
            let mut outcome = Ok(());
            for directory in directories {
                // All of them are tried; the first failure is told.
                let removed = manifest::remove(&directory)
                    .map_err(|error| error::files("files of a skill stay in", &directory, &error));
                outcome = outcome.and(removed);
            }
            outcome
        })
        .await?
    }
}

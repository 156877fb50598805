//! Listing a directory.

use std::cmp::Ordering;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use atoll_api::file::{FileInfo, FileListResult, ListPath, ListSort};
use atoll_operation::{Context, Error, Handle};

use super::look::modified;
use super::names::octal;
use super::walk::{Entry, Found, Walk};
use crate::file::desk::{Desk, length};
use crate::file::fault::Attempt;
use crate::file::paths::show;
use crate::file::service::Files;

impl Handle<ListPath> for Files {
    async fn handle(&self, cx: &Context, input: ListPath) -> Result<FileListResult, Error> {
        let path = self.path("list", &input.path)?;
        self.at_desk(cx, move |desk| list(desk, &path, &input)).await
    }
}

fn list(desk: &Desk, path: &Path, input: &ListPath) -> Result<FileListResult, Error> {
    let walk = Walk {
        depth: if input.recursive { input.max_depth.unwrap_or(u64::MAX) } else { 1 },
        hidden: input.show_hidden,
        room: length(desk.limits.file_list_entries),
    };
    let endings = input.file_types.as_deref().filter(|types| !types.is_empty()).map(endings);
    let wanted = |entry: &Entry| match &endings {
        None => true,
        Some(endings) => !entry.metadata.is_dir() && ends_in(&entry.name, endings),
    };
    let mut found = walk.run(Attempt::new("list", path), path, &desk.interest, wanted)?;
    sort(&mut found.entries, input.sort_by, input.sort_desc);
    if let Some(hint) = hint(&found) {
        desk.cx.hint(hint);
    }
    let directories = found.entries.iter().filter(|entry| entry.metadata.is_dir()).count() as u64;
    let total = found.entries.len() as u64;
    Ok(FileListResult {
        path: show(path),
        files: found.entries.iter().map(|entry| info(entry, input)).collect(),
        total_count: total,
        directory_count: directories,
        file_count: total - directories,
        truncated: found.truncated,
    })
}

/// The ends of names that are wanted, with a dot and in lower case.
fn endings(types: &[String]) -> Vec<String> {
    types
        .iter()
        .map(|ending| format!(".{}", ending.trim_start_matches('.').to_lowercase()))
        .collect()
}

fn ends_in(name: &str, endings: &[String]) -> bool {
    let name = name.to_lowercase();
    endings.iter().any(|ending| name.len() > ending.len() && name.ends_with(ending))
}

fn info(entry: &Entry, input: &ListPath) -> FileInfo {
    let metadata = &entry.metadata;
    let is_directory = metadata.is_dir();
    FileInfo {
        name: entry.name.clone(),
        path: show(&entry.path),
        is_directory,
        size: Some(metadata.size()).filter(|_| input.include_size && !is_directory),
        modified_time: modified(metadata),
        permissions: input.include_permissions.then(|| octal(metadata.mode())),
        extension: extension(entry).map(|extension| format!(".{extension}")),
        is_symlink: entry.is_link,
    }
}

fn extension(entry: &Entry) -> Option<&str> {
    if entry.metadata.is_dir() {
        return None;
    }
    Path::new(&entry.name).extension()?.to_str()
}

/// What is equal stays in the order of paths, whichever way round the rest is.
fn sort(entries: &mut [Entry], by: ListSort, descending: bool) {
    let size = |entry: &Entry| if entry.metadata.is_dir() { 0 } else { entry.metadata.size() };
    let changed = |entry: &Entry| (entry.metadata.mtime(), entry.metadata.mtime_nsec());
    let class = |entry: &Entry| !entry.metadata.is_dir();
    let compare = |a: &Entry, b: &Entry| match by {
        ListSort::Name => a.name.cmp(&b.name),
        ListSort::Size => size(a).cmp(&size(b)),
        ListSort::Modified => changed(a).cmp(&changed(b)),
        ListSort::Type => class(a)
            .cmp(&class(b))
            .then_with(|| extension(a).cmp(&extension(b)))
            .then_with(|| a.name.cmp(&b.name)),
    };
    let turn = if descending { Ordering::reverse } else { |order| order };
    entries.sort_by(|a, b| turn(compare(a, b)).then_with(|| a.path.cmp(&b.path)));
}

/// What the caller should know beside the list.
fn hint(found: &Found) -> Option<String> {
    let mut hints = Vec::new();
    if found.truncated {
        hints.push(format!(
            "there is more than these {} entries; list a directory below, use file_types or max_depth, or search with /v1/file/glob",
            found.entries.len()
        ));
    }
    if let Some(first) = &found.first_unreadable {
        let count = found.unreadable;
        hints.push(format!("{count} directories could not be read, {} among them", show(first)));
    }
    if found.lossy {
        hints.push(
            "names that are not UTF-8 are shown with U+FFFD in them; reach those files from the shell"
                .to_owned(),
        );
    }
    (!hints.is_empty()).then(|| hints.join("; "))
}

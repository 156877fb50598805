//! How full the disks are that a sandbox writes to.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One disk, by a directory on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskReading {
    /// The directory.
    pub path: String,
    /// Bytes in use.
    pub used_bytes: u64,
    /// Bytes there are.
    pub total_bytes: u64,
    /// Bytes that can still be written.
    pub free_bytes: u64,
    /// Per cent of what can be written that is in use.
    pub usage_pct: f64,
    /// Files there are, where the file system bounds their number.
    pub inode_used: Option<u64>,
    /// Files there may be.
    pub inode_total: Option<u64>,
    /// Per cent of them.
    pub inode_usage_pct: Option<f64>,
}

/// The disks these directories are on, each once.
pub(crate) fn disks(directories: &[PathBuf]) -> Vec<DiskReading> {
    let mut devices = HashSet::new();
    let device = |path: &&PathBuf| std::fs::metadata(path).map(|data| data.dev()).ok();
    let fresh = directories.iter().filter(|path| device(path).is_some_and(|at| devices.insert(at)));
    fresh.collect::<Vec<_>>().into_iter().filter_map(|path| disk(path)).collect()
}

fn disk(path: &Path) -> Option<DiskReading> {
    let found = rustix::fs::statvfs(path).ok()?;
    let size = if found.f_frsize > 0 { found.f_frsize } else { found.f_bsize };
    let (total, free) = (found.f_blocks * size, found.f_bavail * size);
    let used = found.f_blocks.saturating_sub(found.f_bfree) * size;
    let inodes = Some(found.f_files).filter(|files| *files > 0);
    let inode_used = inodes.map(|files| files.saturating_sub(found.f_ffree));
    Some(DiskReading {
        path: path.display().to_string(),
        used_bytes: used,
        total_bytes: total,
        free_bytes: free,
        // As `df` has it: what only root may write counts neither way.
        usage_pct: percent(used, used + free),
        inode_used,
        inode_total: inodes,
        inode_usage_pct: inode_used.zip(inodes).map(|(used, all)| percent(used, all)),
    })
}

#[expect(clippy::cast_precision_loss, reason = "a share needs no more than a float holds")]
pub(crate) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    (part as f64 / whole as f64 * 1000.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_on_one_disk_are_told_once_and_those_that_are_gone_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let all = [directory.path().to_owned(), inner, directory.path().join("nowhere")];
        let found = disks(&all);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, directory.path().display().to_string());
        assert!(found[0].total_bytes >= found[0].free_bytes);
        assert!((0.0..=100.0).contains(&found[0].usage_pct), "{found:?}");
        assert!(percent(1, 0).abs() < 1e-9);
        assert!((percent(1, 3) - 33.3).abs() < 1e-9);
    }
}

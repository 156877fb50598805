//! Where a session keeps its samples: a ring in memory, or a file that grows up to a bound.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;

use atoll_observe::Sample;

/// The samples of a session.
#[derive(Debug)]
pub(super) enum Store {
    /// The latest ones.
    Ring { samples: VecDeque<Sample>, most: usize },
    /// All of them, a line each.
    File { path: PathBuf, bytes: u64, most_bytes: u64, count: u64 },
}

impl Store {
    pub(super) fn ring(most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
        Self::Ring { samples: VecDeque::new(), most }
    }

    /// An empty file, which must not be there.
    pub(super) fn file(path: PathBuf, most_bytes: u64) -> io::Result<Self> {
        File::create_new(&path)?;
        Ok(Self::File { path, bytes: 0, most_bytes, count: 0 })
    }

    /// Keeps a sample; whether there is room for more.
    pub(super) fn push(&mut self, sample: Sample) -> io::Result<bool> {
        match self {
            Self::Ring { samples, most } => {
                if samples.len() >= *most {
                    samples.pop_front();
                }
                samples.push_back(sample);
                Ok(true)
            }
            Self::File { path, bytes, most_bytes, count } => {
                let mut line = serde_json::to_vec(&sample)?;
                line.push(b'\n');
                if *bytes + line.len() as u64 > *most_bytes {
                    return Ok(false);
                }
                File::options().append(true).open(&*path)?.write_all(&line)?;
                *bytes += line.len() as u64;
                *count += 1;
                Ok(true)
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Ring { samples, .. } => samples.is_empty(),
            Self::File { count, .. } => *count == 0,
        }
    }

    /// How to read everything kept so far, without holding the store meanwhile.
    pub(super) fn reader(&self) -> Reader {
        match self {
            Self::Ring { samples, .. } => Reader::Samples(samples.iter().cloned().collect()),
            Self::File { path, count, .. } => Reader::File(path.clone(), *count),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Self::File { path, .. } = self {
            let _already_gone = std::fs::remove_file(path);
        }
    }
}

/// Samples to be read.
pub(super) enum Reader {
    Samples(Vec<Sample>),
    File(PathBuf, u64),
}

impl Reader {
    /// The samples. Reads files.
    pub(super) fn read(self) -> io::Result<Vec<Sample>> {
        let (path, count) = match self {
            Self::Samples(samples) => return Ok(samples),
            Self::File(path, count) => (path, usize::try_from(count).unwrap_or(usize::MAX)),
        };
        // A line that is being written while this reads is not counted yet.
        let lines = BufReader::new(File::open(path)?).lines().take(count);
        lines.map(|line| serde_json::from_str(&line?).map_err(io::Error::from)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use atoll_observe::{Journal, Sampler, Scope, Watch};

    use super::*;

    fn sample() -> Sample {
        let watch = Watch::new(&Arc::new(Journal::new(1)));
        Sampler::new(Vec::new(), &watch).look(Scope { disks: false, processes: 0 }, 0)
    }

    #[test]
    fn a_ring_keeps_the_latest() {
        let mut store = Store::ring(2);
        assert!(store.is_empty());
        for at_ms in 0..5 {
            assert!(store.push(Sample { at_ms, ..sample() }).unwrap());
        }
        let kept: Vec<_> = store.reader().read().unwrap().iter().map(|each| each.at_ms).collect();
        assert_eq!(kept, [3, 4]);
    }

    #[test]
    fn a_file_is_full_at_its_bound_and_goes_with_its_session() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("samples");
        let mut store = Store::file(path.clone(), 1000).unwrap();
        let mut kept = 0;
        while store.push(sample()).unwrap() {
            kept += 1;
        }
        assert!(kept > 0 && std::fs::metadata(&path).unwrap().len() <= 1000);
        assert_eq!(store.reader().read().unwrap().len(), kept);
        drop(store);
        assert!(!path.exists());
    }
}

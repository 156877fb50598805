//! A few workers that convert one document at a time each, kept for the next for a while.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use atoll_convert::worker::{Failure, Job};
use atoll_convert::{Bounds, ConvertError, Markdown, Selection, Source};
use atoll_operation::Error;
use atoll_process::Spawner;
use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::plugin;
use super::refusal;
use super::worker::{self, Work, Worker};
use crate::programs::Programs;

/// How long a worker waits for another document.
const IDLE: Duration = Duration::from_mins(1);
/// Members of an archive that are converted.
const MEMBERS: u64 = 1000;
/// How many times the largest document an archive may unpack to.
const UNPACKED: u64 = 4;

/// A document to convert.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) content: Content,
    pub(crate) source: Source,
    pub(crate) selection: Selection,
}

/// Where a document's bytes are.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    File(PathBuf),
    Bytes(Bytes),
}

/// Converts documents. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Converter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    programs: Programs,
    spawner: Spawner,
    /// Places for workers.
    places: Semaphore,
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    workers: Vec<(Worker, Instant)>,
    /// Whether somebody looks after them.
    tended: bool,
}

impl Converter {
    /// Starts nothing yet.
    pub fn new(programs: &Programs) -> Self {
        let places = programs.foundation().limits.convert_workers.clamp(1, 1000);
        Self(Arc::new(Inner {
            programs: programs.clone(),
            spawner: worker::spawner(programs),
            places: Semaphore::new(usize::try_from(places).unwrap_or(1)),
            idle: Mutex::default(),
        }))
    }

    /// Converts a document.
    pub(crate) async fn convert(&self, document: Document) -> Result<Markdown, Error> {
        let limits = &self.0.programs.foundation().limits;
        let time = Duration::from_secs(limits.convert_timeout_seconds);
        let place = timeout(time, self.0.places.acquire()).await;
        let _place = place.ok().and_then(Result::ok).ok_or_else(|| refusal::busy(limits))?;
        let (file, body) = match &document.content {
            Content::File(path) => (Some(path.clone()), Bytes::new()),
            Content::Bytes(bytes) => (None, bytes.clone()),
        };
        let job = Job {
            file,
            input_bytes: limits.convert_input_bytes,
            source: document.source.clone(),
            selection: document.selection.clone(),
            bounds: Bounds {
                output_bytes: limits.convert_output_bytes,
                unpacked_bytes: limits.convert_input_bytes.saturating_mul(UNPACKED),
                members: MEMBERS,
            },
        };
        match timeout(time, self.work(&job, &body)).await {
            Err(_) => Err(refusal::timeout(limits)),
            Ok(Ok(Err(Failure::Document(ConvertError::Unsupported { what })))) => {
                let programs = &self.0.programs;
                match timeout(time, plugin::convert(programs, &document, &what)).await {
                    Ok(converted) => converted,
                    Err(_) => Err(refusal::timeout(limits)),
                }
            }
            Ok(outcome) => outcome?.map_err(|failure| refusal::of(&failure, &document)),
        }
    }

    /// Has a worker carry out a job. One that waited may have died meanwhile, so another gets a second chance.
    async fn work(&self, job: &Job, body: &[u8]) -> Result<Result<Markdown, Failure>, Error> {
        if let Some(worker) = self.take()
            && let Ok(outcome) = self.ask(worker, job, body).await
        {
            return Ok(outcome);
        }
        let worker = Worker::start(&self.0.programs, &self.0.spawner).await;
        let worker = worker.map_err(refusal::unavailable)?;
        self.ask(worker, job, body).await.map_err(|exit| refusal::died(exit, job))
    }

    async fn ask(
        &self,
        mut worker: Worker,
        job: &Job,
        body: &[u8],
    ) -> Result<Result<Markdown, Failure>, atoll_process::Exit> {
        match worker.work(job, body).await {
            Work::Died(exit) => Err(exit),
            Work::Answered(answer, text) => {
                if !answer.worn {
                    self.keep(worker);
                }
                Ok(answer.outcome.map(|markdown| Markdown { text, ..markdown }))
            }
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Worker> {
        let mut idle = self.idle();
        while let Some((worker, _)) = idle.workers.pop() {
            if worker.is_alive() {
                return Some(worker);
            }
        }
        None
    }

    fn keep(&self, worker: Worker) {
        let stop = self.0.programs.foundation().stop.clone();
        if stop.is_cancelled() {
            return;
        }
        let mut idle = self.idle();
        idle.workers.push((worker, Instant::now()));
        if std::mem::replace(&mut idle.tended, true) {
            return;
        }
        drop(idle);
        let converter = self.clone();
        self.0.programs.tasks().spawn(async move {
            loop {
                let stopped = tokio::select! {
                    () = tokio::time::sleep(IDLE) => false,
                    () = stop.cancelled() => true,
                };
                let mut idle = converter.idle();
                idle.workers.retain(|(_, since)| !stopped && since.elapsed() < IDLE);
                if idle.workers.is_empty() {
                    idle.tended = false;
                    return;
                }
            }
        });
    }
}

//! Recording a page: the browser sends a picture whenever it draws one, and the next only when this one was taken.
//! The pictures are kept as they come, in a file that is whole whatever happens; where a film can be made of them, it
//! takes the place of that file once it is finished.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use atoll_process::Spawner;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::encode::{Encoder, Film};
use super::movie::Movie;
use super::screenshot::decoded;
use crate::error::Error;
use crate::options::Options;
use crate::tab::Tab;
use crate::target::Target;

/// Pictures that may wait to be written; the browser sends few before they are taken.
const WAITING: usize = 16;

/// How to record.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordingSettings {
    /// The MP4 file to write.
    pub path: PathBuf,
    /// Pictures per second at most.
    pub fps: f64,
    /// How well, from 0 to 100.
    pub quality: u8,
}

/// A recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The file.
    pub path: PathBuf,
    /// Pictures in it.
    pub frames: u64,
    /// How long it is.
    pub duration: Duration,
    /// Its size.
    pub bytes: u64,
    /// Width and height of its pictures.
    pub size: (u16, u16),
}

/// Whether the page is being recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordingState {
    /// Whether there is a recording.
    pub recording: bool,
    /// Whether it pauses.
    pub paused: bool,
    /// The file.
    pub path: Option<PathBuf>,
    /// Pictures so far.
    pub frames: u64,
    /// How long it is so far.
    pub duration: Duration,
}

/// The recording of a tab, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Option<Active>>);

#[derive(Debug)]
struct Active {
    pictures: mpsc::Sender<Picture>,
    finished: oneshot::Receiver<Result<Recording, Error>>,
    clock: Clock,
    frames: Arc<AtomicU64>,
    settings: RecordingSettings,
}

#[derive(Debug)]
struct Picture {
    at: Duration,
    data: Option<Value>,
    target: Option<(Target, Value)>,
}

/// Time that stands still while recording pauses.
#[derive(Debug, Clone, Copy)]
struct Clock {
    /// Time before it last went on.
    before: Duration,
    /// Since when it goes; `None` while it stands.
    since: Option<Instant>,
}

impl Clock {
    fn now(self) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

impl Recorder {
    fn lock(&self) -> MutexGuard<'_, Option<Active>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a picture the browser sent.
    pub(crate) fn frame(&self, target: &Target, params: &Value) {
        let active = self.lock();
        let mut taken = false;
        if let Some(active) = &*active {
            let data = active.clock.since.map(|_| params["data"].clone());
            let receipt = Some((target.clone(), params["sessionId"].clone()));
            let picture = Picture { at: active.clock.now(), data, target: receipt };
            taken = active.pictures.try_send(picture).is_ok();
        }
        drop(active);
        if !taken {
            acknowledge(target, &params["sessionId"]);
        }
    }
}

fn acknowledge(target: &Target, number: &Value) {
    // Nobody waits for it: a page that is gone sends no more.
    drop(target.session.start("Page.screencastFrameAck", json!({ "sessionId": number })));
}

impl Tab {
    /// Begins to record.
    pub async fn record_start(self: &Arc<Self>, settings: &RecordingSettings) -> Result<(), Error> {
        self.check()?;
        let busy = || Error::Recording {
            reason: "the page is being recorded already; stop that first".to_owned(),
        };
        if self.recorder.lock().is_some() {
            return Err(busy());
        }
        let movie = Movie::create(&settings.path).await?;
        let (pictures, queue) = mpsc::channel(WAITING);
        let (finish, finished) = oneshot::channel();
        let frames = Arc::new(AtomicU64::new(0));
        let writer = Writer {
            movie,
            path: settings.path.clone(),
            gap: Duration::from_secs_f64(1.0 / settings.fps.clamp(0.1, 60.0)),
            max: self.context()?.options().limits.recording_bytes,
            frames: frames.clone(),
            studio: Some(Studio {
                spawner: self.instance()?.chromium.spawner.clone(),
                options: self.instance()?.options().clone(),
                quality: settings.quality,
            }),
            encoder: None,
        };
        {
            let mut recorder = self.recorder.lock();
            if recorder.is_some() {
                return Err(busy());
            }
            let clock = Clock { before: Duration::ZERO, since: Some(Instant::now()) };
            let settings = settings.clone();
            *recorder = Some(Active { pictures, finished, clock, frames, settings });
        }
        self.tasks().spawn(async move {
            // Whoever stopped it may be gone.
            let _gone = finish.send(writer.write(queue).await);
        });
        let params = json!({ "format": "jpeg", "quality": settings.quality.min(100) });
        let started = self.command("Page.startScreencast", params).await;
        if started.is_err() {
            self.recorder.lock().take();
        }
        started.map(|_| ())
    }

    /// Pauses the recording: time stands still in it.
    pub fn record_pause(&self) -> Result<(), Error> {
        let mut recorder = self.recorder.lock();
        let active = recorder.as_mut().ok_or_else(not_recording)?;
        active.clock = Clock { before: active.clock.now(), since: None };
        Ok(())
    }

    /// Goes on with it.
    pub fn record_resume(&self) -> Result<(), Error> {
        let mut recorder = self.recorder.lock();
        let active = recorder.as_mut().ok_or_else(not_recording)?;
        let before = active.clock.now();
        active.clock = Clock { before, since: Some(Instant::now()) };
        Ok(())
    }

    /// How it is.
    pub fn record_status(&self) -> RecordingState {
        let recorder = self.recorder.lock();
        let active = recorder.as_ref();
        RecordingState {
            recording: active.is_some(),
            paused: active.is_some_and(|active| active.clock.since.is_none()),
            path: active.map(|active| active.settings.path.clone()),
            frames: active.map_or(0, |active| active.frames.load(Ordering::Relaxed)),
            duration: active.map(|active| active.clock.now()).unwrap_or_default(),
        }
    }

    /// Ends it.
    pub async fn record_stop(&self) -> Result<Recording, Error> {
        let active = self.recorder.lock().take().ok_or_else(not_recording)?;
        // A page that is gone is recorded up to there.
        let _gone = self.command("Page.stopScreencast", json!({})).await;
        let Active { pictures, finished, clock, .. } = active;
        let end = Picture { at: clock.now(), data: None, target: None };
        // The writer ends when the sender is dropped, at the latest.
        let _full = pictures.send(end).await;
        drop(pictures);
        finished.await.unwrap_or_else(|_| Err(not_recording()))
    }

    /// Records for this long.
    pub async fn record(
        self: &Arc<Self>,
        settings: &RecordingSettings,
        duration: Duration,
    ) -> Result<Recording, Error> {
        self.record_start(settings).await?;
        tokio::time::sleep(duration).await;
        self.record_stop().await
    }
}

fn not_recording() -> Error {
    Error::Recording { reason: "the page is not being recorded; start that first".to_owned() }
}

/// Writes the pictures.
struct Writer {
    movie: Movie,
    path: PathBuf,
    gap: Duration,
    max: u64,
    frames: Arc<AtomicU64>,
    /// Until the first picture has come.
    studio: Option<Studio>,
    encoder: Option<Encoder>,
}

/// What a film is made with.
struct Studio {
    spawner: Spawner,
    options: Arc<Options>,
    quality: u8,
}

impl Writer {
    async fn write(mut self, mut queue: mpsc::Receiver<Picture>) -> Result<Recording, Error> {
        let mut length = Duration::ZERO;
        let mut failed = Ok(());
        while let Some(picture) = queue.recv().await {
            length = length.max(picture.at);
            let due = self.movie.latest().is_none_or(|latest| picture.at >= latest + self.gap);
            let room = self.movie.bytes() < self.max;
            if let (Some(data), true, true, Ok(())) = (&picture.data, due, room, &failed) {
                failed = self.add(data, picture.at).await;
            }
            if let Some((target, number)) = picture.target {
                acknowledge(&target, &number);
            }
        }
        failed?;
        let frames = self.frames.load(Ordering::Relaxed);
        let (mut bytes, size) = self.movie.finish(length).await?;
        if let Some(encoder) = self.encoder {
            match encoder.finish(length).await {
                Ok(film) => bytes = replace(&self.path, &film).await?,
                Err(reason) => {
                    tracing::warn!(reason, "the recording stays as it was taken");
                    // There may be none, or a part of one.
                    let _none = tokio::fs::remove_file(film_of(&self.path)).await;
                }
            }
        }
        Ok(Recording { path: self.path, frames, duration: length, bytes, size })
    }

    async fn add(&mut self, data: &Value, at: Duration) -> Result<(), Error> {
        let jpeg = decoded(data)?;
        self.movie.add(&jpeg, at).await?;
        self.frames.store(self.movie.count() as u64, Ordering::Relaxed);
        if let Some(Studio { spawner, options, quality }) = self.studio.take() {
            let film = Film { path: film_of(&self.path), size: self.movie.size(), quality };
            self.encoder = Encoder::start(&spawner, &options, film).await;
        }
        if let Some(encoder) = &mut self.encoder {
            encoder.add(&jpeg, at);
        }
        Ok(())
    }
}

/// Where the film of a recording is made.
fn film_of(recording: &Path) -> PathBuf {
    recording.with_extension("film.mp4")
}

/// Puts a film in the place of the pictures it was made of; its size.
async fn replace(recording: &Path, film: &Path) -> Result<u64, Error> {
    let failed = |source| Error::Write { path: recording.to_owned(), source };
    tokio::fs::rename(film, recording).await.map_err(failed)?;
    Ok(tokio::fs::metadata(recording).await.map_err(failed)?.len())
}

//! Recording a page. It is recorded into a private file, which is moved where it is wanted once it is whole.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use atoll_api::browser::{RecordAction, RecordPage, Recording, RecordingState};
use atoll_api::file::{MakeDirectory, MovePath};
use atoll_browser::{RecordingSettings, Tab};
use atoll_operation::{Context, Error, Handle};

use super::service::{Browsers, Page, patience};

impl Handle<RecordPage> for Browsers {
    async fn handle(&self, cx: &Context, input: RecordPage) -> Result<Recording, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let wanted = input.save_path.clone().filter(|path| !path.is_empty());
        match input.action {
            RecordAction::Once => {
                let settings = self.settings(&input);
                let duration = patience(Some(input.duration), 10.0);
                // It ends even if the caller does not wait for it.
                let recorded = record(Arc::clone(&page.tab), settings, duration);
                let recorded = self.programs.tasks().spawn(recorded).await;
                let recorded =
                    recorded.map_err(|error| Error::internal("the recording broke off", error))?;
                self.keep(cx, page.outcome(recorded)?, wanted).await
            }
            RecordAction::Start => {
                let settings = self.settings(&input);
                page.outcome(page.tab.record_start(&settings).await)?;
                self.note_place(page.tab.id(), wanted);
                Ok(status(&page))
            }
            RecordAction::Pause => {
                page.outcome(page.tab.record_pause())?;
                Ok(status(&page))
            }
            RecordAction::Resume => {
                page.outcome(page.tab.record_resume())?;
                Ok(status(&page))
            }
            RecordAction::Stop => {
                let recorded = page.outcome(page.tab.record_stop().await)?;
                let known = self.take_place(page.tab.id());
                self.keep(cx, recorded, wanted.or(known)).await
            }
            RecordAction::Status => Ok(status(&page)),
        }
    }
}

/// Places of recordings under way that are remembered.
const RECORDINGS: usize = 1000;

impl Browsers {
    fn settings(&self, input: &RecordPage) -> RecordingSettings {
        let name = format!("recording-{}.mp4", uuid::Uuid::new_v4());
        let fps = u32::try_from(input.fps).unwrap_or(1);
        RecordingSettings {
            path: self.programs.foundation().runtime_dir.join(name),
            fps: f64::from(fps),
            quality: u8::try_from(input.quality).unwrap_or(80),
        }
    }

    fn note_place(&self, tab: &str, wanted: Option<String>) {
        let mut recordings = self.recordings.lock().unwrap_or_else(PoisonError::into_inner);
        recordings.retain(|(known, _)| known != tab);
        recordings.push_back((tab.to_owned(), wanted));
        if recordings.len() > RECORDINGS {
            recordings.pop_front();
        }
    }

    fn take_place(&self, tab: &str) -> Option<String> {
        let mut recordings = self.recordings.lock().unwrap_or_else(PoisonError::into_inner);
        let known = recordings.iter().position(|(known, _)| known == tab)?;
        recordings.remove(known)?.1
    }

    /// Moves a recording where it is wanted; to the downloads when nobody said where.
    async fn keep(
        &self,
        cx: &Context,
        recorded: atoll_browser::Recording,
        wanted: Option<String>,
    ) -> Result<Recording, Error> {
        let destination = wanted.unwrap_or_else(|| {
            let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S%.3f").to_string();
            format!("~/Downloads/recording-{now}.mp4")
        });
        let moved = self.put(cx, &recorded.path, destination).await;
        if moved.is_err() {
            // Nobody could find it in a private directory.
            let _gone = tokio::fs::remove_file(&recorded.path).await;
        }
        Ok(Recording {
            status: RecordingState::Finished,
            path: Some(moved?),
            media_type: Some("video/mp4".to_owned()),
            frames: recorded.frames,
            duration: recorded.duration.as_secs_f64(),
            size_bytes: recorded.bytes,
        })
    }

    async fn put(&self, cx: &Context, source: &Path, destination: String) -> Result<String, Error> {
        let parent = Path::new(&destination).parent().map(Path::to_owned).unwrap_or_default();
        if parent != PathBuf::new() {
            let order = MakeDirectory { path: parent.to_string_lossy().into_owned(), mode: None };
            Handle::<MakeDirectory>::handle(&*self.files, cx, order).await?;
        }
        let source = source.to_string_lossy().into_owned();
        let order = MovePath { source, destination, overwrite: true };
        Ok(Handle::<MovePath>::handle(&*self.files, cx, order).await?.destination)
    }
}

async fn record(
    tab: Arc<Tab>,
    settings: RecordingSettings,
    duration: Duration,
) -> atoll_browser::Result<atoll_browser::Recording> {
    tab.record(&settings, duration).await
}

/// How the recording of a page stands.
fn status(page: &Page<'_>) -> Recording {
    let state = page.tab.record_status();
    Recording {
        status: match (state.recording, state.paused) {
            (false, _) => RecordingState::Idle,
            (true, false) => RecordingState::Recording,
            (true, true) => RecordingState::Paused,
        },
        path: None,
        media_type: state.recording.then(|| "video/mp4".to_owned()),
        frames: state.frames,
        duration: state.duration.as_secs_f64(),
        size_bytes: 0,
    }
}

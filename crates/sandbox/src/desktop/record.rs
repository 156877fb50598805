//! Recordings of the screen.

use std::path::{Path, PathBuf};
use std::time::Duration;

use atoll_api::desktop::{RecordScreen, ScreenRecordAction, ScreenRecording, ScreenRecordingState};
use atoll_api::file::{MakeDirectory, ResolvePath};
use atoll_desktop::{Recording, RecordingSettings};
use atoll_operation::{Context, Error, Handle, Kind};

use super::error::failure;
use super::service::Desktops;

/// The longest a recording may be set to: a week.
const LONGEST: f64 = 604_800.0;

impl Handle<RecordScreen> for Desktops {
    async fn handle(&self, cx: &Context, input: RecordScreen) -> Result<ScreenRecording, Error> {
        let recorder = self.desktop.recorder();
        match input.action {
            ScreenRecordAction::Start => {
                let session = self.session(cx).await?;
                if let Some(recording) = recorder.status().await.filter(|last| last.under_way) {
                    let path = recording.path;
                    return Err(failure(atoll_desktop::Error::AlreadyRecording { path }));
                }
                let duration = input.max_duration.min(LONGEST);
                let settings = RecordingSettings {
                    path: self.place(cx, input.save_path).await?,
                    fps: input.fps,
                    crf: input.crf,
                    max_duration: Duration::try_from_secs_f64(duration).unwrap_or_default(),
                    max_bytes: self.programs.foundation().limits.browser_recording_bytes,
                    width: input.width,
                    height: input.height,
                };
                let started = recorder.start(&session, &settings).await.map_err(failure)?;
                Ok(described(cx, Some(started)))
            }
            ScreenRecordAction::Stop => {
                Ok(described(cx, Some(recorder.stop().await.map_err(failure)?)))
            }
            ScreenRecordAction::Status => Ok(described(cx, recorder.status().await)),
        }
    }
}

impl Desktops {
    /// The absolute path of the film, in a directory that is there, and where it may be written.
    async fn place(&self, cx: &Context, wanted: Option<String>) -> Result<PathBuf, Error> {
        let wanted = wanted.filter(|path| !path.is_empty()).unwrap_or_else(|| {
            let now = jiff::Zoned::now().strftime("%Y%m%d_%H%M%S").to_string();
            format!("/tmp/recordings/recording_{now}.mp4")
        });
        let wanted = Path::new(&wanted);
        let (Some(parent), Some(name)) = (wanted.parent(), wanted.file_name()) else {
            let message = "must name a file, such as /tmp/recordings/film.mp4";
            return Err(Error::field("save_path", "path", message));
        };
        let parent =
            if parent == Path::new("") { ".".to_owned() } else { parent.display().to_string() };
        let order = MakeDirectory { path: parent.clone(), mode: None };
        Handle::<MakeDirectory>::handle(&*self.files, cx, order).await?;
        let order = ResolvePath { path: parent };
        let directory = Handle::<ResolvePath>::handle(&*self.files, cx, order).await?;
        let path = Path::new(&directory.resolved_path).join(name);
        let probe = path.clone();
        let opened = tokio::task::spawn_blocking(move || {
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create(true).truncate(false).open(probe)
        });
        let opened = opened.await.map_err(|error| Error::internal("no thread", error))?;
        opened.map_err(|error| {
            let message = format!("{} cannot be written: {error}", path.display());
            Error::new(Kind::PermissionDenied, "desktop.unwritable", message)
        })?;
        Ok(path)
    }
}

fn described(cx: &Context, recording: Option<Recording>) -> ScreenRecording {
    let Some(recording) = recording else {
        return ScreenRecording {
            status: ScreenRecordingState::Idle,
            save_path: None,
            duration: 0.0,
            file_size_bytes: None,
        };
    };
    if let Some(fault) = recording.fault {
        cx.hint(format!("the recording ended before its time: {fault}"));
    }
    ScreenRecording {
        status: if recording.under_way {
            ScreenRecordingState::Recording
        } else {
            ScreenRecordingState::Stopped
        },
        file_size_bytes: std::fs::metadata(&recording.path).ok().map(|file| file.len()),
        save_path: Some(recording.path.display().to_string()),
        duration: recording.duration.as_secs_f64(),
    }
}

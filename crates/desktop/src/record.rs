//! Films of the screen, made by ffmpeg.
//!
//! A film is written in pieces each of which can be played by itself, so that it is good up to the last second whatever
//! ends it. There is one at a time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use atoll_process::{Command, LogSettings, Piped, PipedSettings, Spawner, SpillBudget};
use tokio::sync::Mutex;

use crate::error::Error;
use crate::options::{Options, Size};
use crate::server::last_words;
use crate::session::Session;

/// How long ffmpeg may take to its first picture.
const START: Duration = Duration::from_mins(1);
/// How long it may take to end by itself.
const END: Duration = Duration::from_secs(20);
/// What it prints is only of interest when it fails, but for its progress.
const PRINTED_BYTES: u64 = 1 << 20;

/// How a film shall be.
#[derive(Debug, Clone)]
pub struct RecordingSettings {
    /// The file; one that is there is overwritten. Its directory must exist.
    pub path: PathBuf,
    /// Pictures per second.
    pub fps: u32,
    /// How much may be lost: 0 nothing, 51 most.
    pub crf: u32,
    /// When it ends by itself.
    pub max_duration: Duration,
    /// Bytes at which it ends by itself.
    pub max_bytes: u64,
    /// Its size; that of the screen when `None`, and in proportion where one side is.
    pub width: Option<u32>,
    /// See `width`.
    pub height: Option<u32>,
}

/// A film, under way or done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The file.
    pub path: PathBuf,
    /// Whether it is under way.
    pub under_way: bool,
    /// How long the film is so far.
    pub duration: Duration,
    /// Why it ended, when it did not end as it should.
    pub fault: Option<String>,
}

/// Makes films.
#[derive(Debug)]
pub struct Recorder {
    spawner: Spawner,
    options: Arc<Options>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: Option<Running>,
    last: Option<Recording>,
    /// The last one ended by itself and nobody has stopped it since.
    unclaimed: bool,
}

#[derive(Debug)]
struct Running {
    ffmpeg: Piped,
    path: PathBuf,
}

impl Recorder {
    pub(crate) fn new(spawner: Spawner, options: Arc<Options>) -> Self {
        Self { spawner, options, state: Mutex::default() }
    }

    /// Begins a film. It is under way when this returns.
    pub async fn start(
        &self,
        session: &Session,
        settings: &RecordingSettings,
    ) -> Result<Recording, Error> {
        const NAME: &str = "ffmpeg";
        let mut state = self.state.lock().await;
        state.settle();
        if let Some(running) = &state.running {
            return Err(Error::AlreadyRecording { path: running.path.clone() });
        }
        let program = self.options.find(NAME).ok_or(Error::NotInstalled { program: NAME })?;
        let size = session.size().await?;
        let mut environment = self.options.environment.clone();
        environment.extend(session.environment());
        let command = Command {
            program,
            arguments: arguments(settings, size, session.display()),
            environment,
            directory: self.options.home.clone(),
        };
        let log = LogSettings {
            directory: self.options.directory.clone(),
            kept_bytes: PRINTED_BYTES,
            budget: SpillBudget::new(2 * PRINTED_BYTES),
        };
        let piped = PipedSettings { log, input_queue_bytes: 16 };
        let ffmpeg = Piped::start(&self.spawner, &command, &piped).await?;
        let reason = match tokio::time::timeout(START, first_picture(&ffmpeg)).await {
            Ok(true) => {
                let running = Running { ffmpeg, path: settings.path.clone() };
                let recording = running.recording();
                state.running = Some(running);
                state.unclaimed = false;
                return Ok(recording);
            }
            Ok(false) => last_words(&ffmpeg),
            Err(_) => format!("ffmpeg took no picture within {} seconds", START.as_secs()),
        };
        ffmpeg.child().kill_all().await;
        Err(Error::Recording { reason })
    }

    /// Ends the film under way. One that ended by itself can be stopped, too, once.
    pub async fn stop(&self) -> Result<Recording, Error> {
        let mut state = self.state.lock().await;
        state.settle();
        if let Some(running) = state.running.take() {
            let recording = running.finish().await;
            state.last = Some(recording.clone());
            return Ok(recording);
        }
        let unclaimed = std::mem::take(&mut state.unclaimed);
        state.last.clone().filter(|_| unclaimed).ok_or(Error::NotRecording)
    }

    /// How things stand: the film under way, or else the last one.
    pub async fn status(&self) -> Option<Recording> {
        let mut state = self.state.lock().await;
        state.settle();
        let running = state.running.as_ref().map(Running::recording);
        running.or_else(|| state.last.clone())
    }

    pub(crate) async fn end(&self) {
        if let Some(running) = self.state.lock().await.running.take() {
            running.finish().await;
        }
    }
}

impl State {
    /// Takes note of a film that ended by itself.
    fn settle(&mut self) {
        if let Some(running) = self.running.take_if(|running| running.ffmpeg.ended().is_some()) {
            self.last = Some(running.ended());
            self.unclaimed = true;
        }
    }
}

impl Running {
    fn recording(&self) -> Recording {
        Recording {
            path: self.path.clone(),
            under_way: self.ffmpeg.ended().is_none(),
            duration: self.filmed(),
            fault: None,
        }
    }

    fn ended(&self) -> Recording {
        let failed = self.ffmpeg.ended().is_some_and(|exit| exit.shell_code() != 0);
        let fault = failed.then(|| last_words(&self.ffmpeg));
        Recording { under_way: false, fault, ..self.recording() }
    }

    async fn finish(self) -> Recording {
        // A program that ended meanwhile does not read it.
        let _asked = self.ffmpeg.stdin().write(b"q");
        if tokio::time::timeout(END, self.ffmpeg.wait()).await.is_err() {
            self.ffmpeg.child().kill_all().await;
            self.ffmpeg.wait().await;
        }
        self.ended()
    }

    /// How long the film is, as far as ffmpeg has told.
    fn filmed(&self) -> Duration {
        let log = self.ffmpeg.stdout();
        let from = log.progress().end.saturating_sub(4096);
        let told = log.read_text(from, 4096).text;
        let micros = told.lines().rev().find_map(|line| line.strip_prefix("out_time_us="));
        micros.and_then(|micros| micros.parse().ok()).map_or(Duration::ZERO, Duration::from_micros)
    }
}

/// Waits until it has taken a picture; `false` when it ended without.
async fn first_picture(ffmpeg: &Piped) -> bool {
    let told = ffmpeg.stdout();
    let mut next = 0;
    let mut text = String::new();
    loop {
        let chunk = told.read_text(next, 4096);
        next = chunk.next;
        text.push_str(&chunk.text);
        let frames = text.lines().filter_map(|line| line.strip_prefix("frame="));
        if frames.filter_map(|count| count.trim().parse::<u64>().ok()).any(|count| count > 0) {
            return true;
        }
        if chunk.text.is_empty() {
            if ffmpeg.ended().is_some() {
                return false;
            }
            tokio::select! {
                () = told.wait_past(next) => {}
                _ = ffmpeg.wait() => {}
            }
        }
    }
}

fn arguments(settings: &RecordingSettings, screen: Size, display: &str) -> Vec<String> {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let fps = settings.fps.to_string();
    let mut arguments = owned(&["-hide_banner", "-loglevel", "warning", "-y"]);
    arguments.extend(owned(&["-progress", "pipe:1", "-stats_period", "0.2"]));
    arguments.extend(owned(&["-f", "x11grab", "-framerate", &fps, "-draw_mouse", "1"]));
    arguments.extend(owned(&["-video_size", &screen.to_string(), "-i", display]));
    // What plays everywhere has an even number of pixels each way.
    let side = |side: Option<u32>, other: Option<u32>| match (side, other) {
        (Some(side), _) => (side.max(2) & !1).to_string(),
        (None, Some(_)) => "-2".to_owned(),
        (None, None) => "trunc(in/2)*2".to_owned(),
    };
    let width = side(settings.width, settings.height).replace("in", "iw");
    let height = side(settings.height, settings.width).replace("in", "ih");
    let filter = format!("scale={width}:{height}:flags=fast_bilinear,format=yuv420p");
    arguments.extend(owned(&["-vf", &filter, "-c:v", "libx264", "-preset", "ultrafast"]));
    // Two threads at most: the desktop is for those who work on it.
    arguments.extend(owned(&["-crf", &settings.crf.to_string(), "-threads", "2"]));
    let pieces = (settings.fps * 2).max(2).to_string();
    arguments.extend(owned(&["-g", &pieces, "-flush_packets", "1"]));
    arguments.extend(owned(&["-movflags", "+frag_keyframe+empty_moov+default_base_moof"]));
    let seconds = settings.max_duration.as_secs_f64().to_string();
    arguments.extend(owned(&["-t", &seconds, "-fs", &settings.max_bytes.to_string()]));
    arguments.extend(owned(&["-f", "mp4"]));
    arguments.push(settings.path.display().to_string());
    arguments
}

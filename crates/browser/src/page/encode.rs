//! Recordings that every player shows: pictures are passed on as they come to an ffmpeg, which makes H.264 of them.
//!
//! It reads them as a Matroska stream, the simplest form that says when each is to be seen. It may be missing, slow or
//! fail: then it gets fewer pictures or none, and whoever records keeps the pictures themselves.

use std::path::PathBuf;
use std::time::Duration;

use atoll_process::{Command, Exit, LogSettings, Piped, PipedSettings, Spawner, SpillBudget};

use crate::chromium::program_on_path;
use crate::options::Options;

const PROGRAM: &str = "ffmpeg";
/// Pictures that may wait for it, in bytes: a few seconds' worth.
const WAITING_BYTES: usize = 16 << 20;
/// What it says is only of interest when it fails.
const PRINTED_BYTES: u64 = 64 << 10;
/// How long it may take for what still waits at the end.
const FINISH: Duration = Duration::from_mins(1);

/// A film that is being made.
#[derive(Debug)]
pub(super) struct Encoder {
    piped: Piped,
    path: PathBuf,
    latest: Vec<u8>,
}

/// How the film shall be.
#[derive(Debug, Clone)]
pub(super) struct Film {
    /// The file.
    pub(super) path: PathBuf,
    /// Width and height of the first picture.
    pub(super) size: (u16, u16),
    /// How well, from 0 to 100.
    pub(super) quality: u8,
}

impl Encoder {
    /// Starts to make a film; `None` where that cannot be done.
    pub(super) async fn start(spawner: &Spawner, options: &Options, film: Film) -> Option<Self> {
        let program = program_on_path(&options.environment, PROGRAM)?;
        let command = Command {
            program,
            arguments: arguments(&film),
            environment: options.environment.clone(),
            directory: PathBuf::from("/"),
        };
        let log = LogSettings {
            directory: options.directory.clone(),
            kept_bytes: PRINTED_BYTES,
            budget: SpillBudget::new(2 * PRINTED_BYTES),
        };
        let settings = PipedSettings { log, input_queue_bytes: WAITING_BYTES };
        match Piped::start(spawner, &command, &settings).await {
            Ok(piped) => {
                // If it ended already, that is told when the film is finished.
                let _ended = piped.stdin().write(&head(film.size));
                Some(Self { piped, path: film.path, latest: Vec::new() })
            }
            Err(error) => {
                tracing::warn!(%error, "recordings stay as they are taken");
                None
            }
        }
    }

    /// Adds a picture that is to be seen from `at` on; leaves it out when too many wait.
    pub(super) fn add(&mut self, jpeg: &[u8], at: Duration) {
        if self.piped.stdin().write(&cluster(jpeg, at)).is_ok() {
            jpeg.clone_into(&mut self.latest);
        }
    }

    /// Ends the film after this time; its file, or why there is none.
    pub(super) async fn finish(self, length: Duration) -> Result<PathBuf, String> {
        // A picture lasts until the next one: the last is shown once more at the end.
        if !self.latest.is_empty() {
            let _full = self.piped.stdin().write(&cluster(&self.latest, length));
        }
        let _ended = self.piped.stdin().close();
        let exit = tokio::time::timeout(FINISH, self.piped.wait()).await;
        let said = || self.piped.stderr().read_text(0, 1000).text.trim().to_owned();
        match exit {
            Ok(Exit::Code(0)) => Ok(self.path),
            Ok(exit) => Err(format!("it ended with code {}: {}", exit.shell_code(), said())),
            Err(_) => Err(format!("it was not done within {} s", FINISH.as_secs())),
        }
    }
}

fn arguments(film: &Film) -> Vec<String> {
    // H.264 halves its colours' resolution: sides must be even. The window may change its size on the way.
    let (width, height) = (film.size.0 & !1, film.size.1 & !1);
    let fit = format!(
        "scale={width}:{height}:force_original_aspect_ratio=decrease,pad={width}:{height}:-1:-1,setsar=1"
    );
    // From what shows every flaw to what nobody can tell from the original.
    let loss = 40 - u32::from(film.quality.min(100)) * 22 / 100;
    let words = "-hide_banner -loglevel error -y -f matroska -i pipe:0 -an -fps_mode vfr -vf";
    // Pictures that wait for later ones would blur how long each is to be seen: there are none (`-bf 0`).
    let output = "-c:v libx264 -preset veryfast -bf 0 -threads 2 -pix_fmt yuv420p -movflags +faststart -f mp4 -crf";
    let own = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut arguments = own(words);
    arguments.push(fit);
    arguments.extend(own(output));
    arguments.push(loss.to_string());
    arguments.push(film.path.display().to_string());
    arguments
}

/// What stands before the first picture: times are in milliseconds, and there is one track of JPEGs.
fn head((width, height): (u16, u16)) -> Vec<u8> {
    let name = element(&[0x42, 0x82], &[b"matroska"]);
    let scale = element(&[0x2a, 0xd7, 0xb1], &[&1_000_000_u32.to_be_bytes()]);
    let muxer = element(&[0x4d, 0x80], &[b"atoll"]);
    let writer = element(&[0x57, 0x41], &[b"atoll"]);
    let size =
        [element(&[0xb0], &[&width.to_be_bytes()]), element(&[0xba], &[&height.to_be_bytes()])]
            .concat();
    let track = [
        element(&[0xd7], &[&[1]]),
        element(&[0x73, 0xc5], &[&[1]]),
        element(&[0x83], &[&[1]]),
        element(&[0x86], &[b"V_MJPEG"]),
        element(&[0xe0], &[&size]),
    ]
    .concat();
    [
        element(&[0x1a, 0x45, 0xdf, 0xa3], &[&name]),
        // Of unknown length.
        vec![0x18, 0x53, 0x80, 0x67, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        element(&[0x15, 0x49, 0xa9, 0x66], &[&scale, &muxer, &writer]),
        element(&[0x16, 0x54, 0xae, 0x6b], &[&element(&[0xae], &[&track])]),
    ]
    .concat()
}

/// One picture.
fn cluster(jpeg: &[u8], at: Duration) -> Vec<u8> {
    let time = u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
    let time = element(&[0xe7], &[&time.to_be_bytes()]);
    let block = element(&[0xa3], &[&[0x81, 0, 0, 0x80], jpeg]);
    element(&[0x1f, 0x43, 0xb6, 0x75], &[&time, &block])
}

fn element(id: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut bytes = Vec::with_capacity(id.len() + 8 + length);
    bytes.extend_from_slice(id);
    // The first bit set says that the length takes eight bytes.
    bytes.extend(((length as u64) | 1 << 56).to_be_bytes());
    for part in parts {
        bytes.extend_from_slice(part);
    }
    bytes
}

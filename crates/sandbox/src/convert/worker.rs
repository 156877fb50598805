//! One worker process: started, asked, judged when it dies.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use atoll_convert::worker::{Answer, HEADER, Job, PREFIX, encode, lengths};
use atoll_process::{Command, Confinement, Exit, Piped, Spawner};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use uuid::Uuid;

use crate::programs::Programs;

/// Name of the hidden command that makes our program a worker.
const SUBCOMMAND: &str = "convert-document";
/// How long a worker may take to come up on a machine that is busy.
const START: Duration = Duration::from_mins(1);
/// How long a worker that hung up may take to end.
const END: Duration = Duration::from_secs(10);
/// Processes and threads of a worker.
const THREADS: u64 = 128;
/// Files a worker may have open.
const FILES: u64 = 64;

/// A worker that waits for a document.
#[derive(Debug)]
pub(super) struct Worker {
    piped: Piped,
    stream: UnixStream,
}

/// What became of a document in a worker.
#[derive(Debug)]
pub(super) enum Work {
    /// It was answered, with this text.
    Answered(Answer, String),
    /// The worker died of it.
    Died(Exit),
}

/// The spawner of workers.
pub(super) fn spawner(programs: &Programs) -> Spawner {
    let memory = programs.foundation().limits.convert_memory_bytes;
    programs.spawner().confined(Confinement {
        memory_bytes: Some(memory),
        processes: Some(THREADS),
        open_files: Some(FILES),
    })
}

impl Worker {
    pub(super) async fn start(programs: &Programs, spawner: &Spawner) -> Result<Self, String> {
        let name = format!("convert-{}", Uuid::new_v4().simple());
        let socket = Socket(programs.foundation().runtime_dir.join(name));
        let listener = UnixListener::bind(&socket.0)
            .map_err(|error| format!("no socket for the converter: {error}"))?;
        // A program that was replaced by a newer one while it runs is still there under this name.
        let running = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
        let program = std::env::current_exe().ok().filter(|path| path.exists()).unwrap_or(running);
        let command = Command {
            program,
            arguments: vec![SUBCOMMAND.to_owned(), socket.0.to_string_lossy().into_owned()],
            environment: programs.environment(None),
            directory: programs.foundation().runtime_dir.clone(),
        };
        let piped = Piped::start(spawner, &command, &programs.piped_settings())
            .await
            .map_err(|error| format!("the converter could not be started: {error}"))?;
        // It reads nothing there.
        let _ended = piped.stdin().close();
        let connected = tokio::time::timeout(START, async {
            tokio::select! {
                accepted = listener.accept() => {
                    accepted.map(|(stream, _)| stream).map_err(|error| error.to_string())
                }
                exit = piped.wait() => Err(format!("it {exit}")),
            }
        });
        let connected =
            connected.await.unwrap_or_else(|_| Err("it gave no sign of life".to_owned()));
        let stream = connected.map_err(|reason| {
            let said = piped.stderr().read_text(0, 1000).text;
            format!("the converter did not come up: {reason}: {}", said.trim())
        })?;
        Ok(Self { piped, stream })
    }

    /// Gives it a document and waits for what becomes of it.
    pub(super) async fn work(&mut self, job: &Job, body: &[u8]) -> Work {
        match self.exchange(job, body).await {
            Ok((answer, text)) => Work::Answered(answer, text),
            // It hung up or talks nonsense, so it ends or is ended.
            Err(error) => {
                tracing::debug!(%error, "a converter broke off");
                let exit = tokio::time::timeout(END, self.piped.wait()).await;
                Work::Died(exit.unwrap_or(Exit::Lost))
            }
        }
    }

    async fn exchange(&mut self, job: &Job, body: &[u8]) -> io::Result<(Answer, String)> {
        self.stream.write_all(&encode(job, body.len())?).await?;
        self.stream.write_all(body).await?;
        let mut prefix = [0; PREFIX];
        self.stream.read_exact(&mut prefix).await?;
        let (header, length) = lengths(prefix)?;
        let mut bytes = vec![0; header.min(HEADER)];
        self.stream.read_exact(&mut bytes).await?;
        let answer = serde_json::from_slice(&bytes)?;
        if length > job.bounds.output_bytes {
            return Err(io::Error::other("its answer is larger than asked for"));
        }
        let mut text = String::new();
        (&mut self.stream).take(length).read_to_string(&mut text).await?;
        if (text.len() as u64) < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok((answer, text))
    }

    /// Whether it is still there.
    pub(super) fn is_alive(&self) -> bool {
        self.piped.ended().is_none()
    }
}

/// The path of a socket, which nobody needs once it is connected.
struct Socket(PathBuf);

impl Drop for Socket {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.0.display(), %error, "a socket could not be removed");
        }
    }
}

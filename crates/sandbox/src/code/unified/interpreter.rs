//! Languages whose interpreter is simply given a file: found on the children's search path, each run in a process and a
//! directory of its own that go with it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atoll_node::{Channel, Output};
use atoll_operation::Error;
use atoll_process::{Command, Exit, Log, LogSettings, Piped, PipedSettings};
use tokio_util::sync::CancellationToken;

use crate::programs::{Programs, spawn_failure};
use crate::session::excerpt;

/// A language and how it is run.
#[derive(Debug)]
pub(super) struct Interpreter {
    pub(super) language: &'static str,
    /// Its name for people.
    pub(super) name: &'static str,
    program: &'static str,
    /// The file's extension.
    extension: &'static str,
    /// What makes it say its version.
    version: &'static str,
}

const fn interpreter(
    language: &'static str,
    name: &'static str,
    program: &'static str,
    extension: &'static str,
) -> Interpreter {
    Interpreter { language, name, program, extension, version: "--version" }
}

const KNOWN: &[Interpreter] = &[
    interpreter("bash", "Bash", "bash", "sh"),
    interpreter("ruby", "Ruby", "ruby", "rb"),
    interpreter("perl", "Perl", "perl", "pl"),
    interpreter("php", "PHP", "php", "php"),
    Interpreter { version: "-v", ..interpreter("lua", "Lua", "lua", "lua") },
    interpreter("r", "R", "Rscript", "R"),
    interpreter("julia", "Julia", "julia", "jl"),
];

/// How long an interpreter may take to say its version.
const VERSION_SECONDS: u64 = 10;

/// Code for an interpreter.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) code: String,
    pub(super) directory: Option<PathBuf>,
    pub(super) timeout: Duration,
}

/// What it did.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) outputs: Vec<Output>,
    pub(super) exit: Exit,
    /// Whether it was killed before it ended.
    pub(super) stopped: bool,
    /// Bytes of memory it could have, if some process of it was killed for want of more.
    pub(super) starved: Option<u64>,
}

/// Those that are installed, with where they are.
pub(super) fn installed(programs: &Programs) -> Vec<(&'static Interpreter, PathBuf)> {
    let found = |known: &'static Interpreter| Some((known, find(programs, known.program)?));
    KNOWN.iter().filter_map(found).collect()
}

fn find(programs: &Programs, name: &str) -> Option<PathBuf> {
    let path = programs.foundation().environment.get("PATH").unwrap_or_default();
    path.split(':').map(|directory| Path::new(directory).join(name)).find(|candidate| {
        candidate
            .metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    })
}

impl Interpreter {
    /// Runs code until it has ended, its time is up or nobody wants it any more; then nothing is left of it.
    pub(super) async fn run(
        &self,
        programs: &Programs,
        executable: &Path,
        program: Program,
        unwanted: CancellationToken,
    ) -> Result<Ran, Error> {
        let failed = |error| Error::internal("the code could not be put into a file", error);
        let place = tempfile::tempdir_in(&programs.foundation().runtime_dir).map_err(failed)?;
        let file = place.path().join(format!("main.{}", self.extension));
        std::fs::write(&file, &program.code).map_err(failed)?;
        let directory = if let Some(directory) = program.directory {
            directory
        } else {
            let own = place.path().join("files");
            std::fs::create_dir(&own).map_err(failed)?;
            own
        };
        let arguments = vec![file.display().to_string()];
        let piped = start(programs, executable, arguments, directory).await?;
        let ended = tokio::select! {
            exit = piped.wait() => Some(exit),
            () = tokio::time::sleep(program.timeout) => None,
            () = unwanted.cancelled() => None,
        };
        let starved = piped.child().starved();
        piped.child().kill_all().await;
        let exit = piped.wait().await;
        let max = output_bytes(programs);
        let outputs = [(Channel::Stdout, piped.stdout()), (Channel::Stderr, piped.stderr())]
            .map(|(channel, log)| (channel, whole(log, max)))
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(channel, text)| Output::Text { channel, text })
            .collect();
        let removed = tokio::task::spawn_blocking(move || drop(place)).await;
        let _never_panics = removed;
        Ok(Ran { outputs, exit, stopped: ended.is_none(), starved })
    }

    /// The first line in which it says its version.
    pub(super) async fn version(&self, programs: &Programs, executable: &Path) -> Option<String> {
        let arguments = vec![self.version.to_owned()];
        let piped = start(programs, executable, arguments, PathBuf::from("/")).await.ok()?;
        let limit = Duration::from_secs(VERSION_SECONDS);
        tokio::time::timeout(limit, piped.wait()).await.ok()?;
        let said = [piped.stdout(), piped.stderr()].map(|log| log.read_text(0, 1000).text);
        let line = said
            .iter()
            .flat_map(|text| text.lines())
            .map(str::trim)
            .find(|line| !line.is_empty())?;
        let number = line.split([' ', ',', '(', ')']).find(|word| {
            let word = word.trim_start_matches('v');
            word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.')
        });
        Some(number.unwrap_or(line).trim_start_matches('v').to_owned())
    }
}

async fn start(
    programs: &Programs,
    executable: &Path,
    arguments: Vec<String>,
    directory: PathBuf,
) -> Result<Piped, Error> {
    let command = Command {
        program: executable.to_owned(),
        arguments,
        environment: programs.environment(None),
        directory,
    };
    let kept_bytes = output_bytes(programs) as u64;
    let log = LogSettings { kept_bytes, ..programs.log_settings() };
    let settings = PipedSettings { log, input_queue_bytes: 1 };
    let piped = Piped::start(programs.confined_spawner(), &command, &settings)
        .await
        .map_err(|error| spawn_failure(error, "code.directory"))?;
    // It has nothing to read.
    let _ended = piped.stdin().close();
    Ok(piped)
}

fn output_bytes(programs: &Programs) -> usize {
    usize::try_from(programs.foundation().limits.code_output_bytes).unwrap_or(usize::MAX)
}

/// All that is kept of a stream, and how much is not.
fn whole(log: &Log, max: usize) -> String {
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let excerpt = excerpt(log, 0..log.progress().end, None, max, lossy);
    match excerpt.lost {
        0 => excerpt.text,
        lost => format!("... [{lost} bytes left out] ...\n\n{}", excerpt.text),
    }
}

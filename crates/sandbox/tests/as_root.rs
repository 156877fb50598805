//! Working on files as root, through the real helper processes and a `sudo` we control.
//!
//! This program is its own spawner and its own helper, which the usual test harness cannot be. It must not be root, so
//! it gives that up first.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atoll_api::file::{ReadFile, ReplaceInFile, SearchInFile, WriteFile};
use atoll_api::system::Limits;
use atoll_operation::{Context, Error, Handle};
use atoll_process::Spawner;
use atoll_sandbox::convert::Converter;
use atoll_sandbox::file::{Files, as_root_main};
use atoll_sandbox::{Environment, Foundation, Programs};
use tokio_util::sync::CancellationToken;

const NOBODY: u32 = 65534;
const LONG: Duration = Duration::from_mins(1);
/// Does as it is told, with no more rights than before.
const OBEDIENT: &str = "#!/bin/sh\n[ \"$1 $2\" = '-n --' ] || exit 9\nshift 2\nexec \"$@\"\n";
const RELUCTANT: &str = "#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n";

fn main() {
    atoll_process::spawner::run_if_asked();
    let mut arguments = std::env::args().skip(1);
    let scratch = match arguments.next().as_deref() {
        Some("as-root-file") => {
            // Nothing is inherited but what is built, and what a shell adds of its own.
            let usual = ["PATH", "LC_ALL", "PWD", "OLDPWD", "SHLVL", "_"];
            let foreign = std::env::vars().find(|(name, _)| !usual.contains(&name.as_str()));
            assert_eq!(foreign, None);
            let input = std::io::BufReader::new(std::io::stdin());
            return as_root_main(input, std::io::stdout()).unwrap();
        }
        Some("--in") => PathBuf::from(arguments.next().unwrap()),
        _ => return prepare(),
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        a_file_is_worked_on_by_the_helper(&scratch).await;
        a_refusal_is_told_with_its_cure(&scratch).await;
        the_helper_ends_when_the_caller_leaves(&scratch).await;
    });
}

/// Runs the tests in a process that is not root, with a program it may execute.
fn prepare() {
    let scratch = tempfile::tempdir().unwrap();
    let program = scratch.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = Command::new(&program);
    command.arg("--in").arg(scratch.path());
    if rustix::process::geteuid().is_root() {
        fs::set_permissions(scratch.path(), Permissions::from_mode(0o755)).unwrap();
        chown(scratch.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    assert!(command.status().unwrap().success());
}

/// A service whose `sudo` is this script.
fn files(scratch: &Path, sudo: &str) -> Arc<Files> {
    let program = scratch.join("bin/sudo");
    fs::create_dir_all(scratch.join("bin")).unwrap();
    fs::write(&program, sudo).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    // `~/bin` is searched first.
    let none = std::iter::empty();
    let environment = Environment::build(none, scratch, scratch, "someone", &[]);
    let foundation = Foundation {
        home: scratch.to_owned(),
        workspace: scratch.to_owned(),
        runtime_dir: scratch.to_owned(),
        environment: Arc::new(environment),
        limits: Arc::new(Limits { file_search_matches: 1, ..Limits::default() }),
        version: "test",
        stop: CancellationToken::new(),
    };
    let programs = Programs::new(foundation, Spawner::launch().unwrap());
    Files::new(&programs, &Converter::new(&programs))
}

fn read(file: &str) -> ReadFile {
    ReadFile { file: file.to_owned(), sudo: true, ..ReadFile::default() }
}

async fn a_file_is_worked_on_by_the_helper(scratch: &Path) {
    let files = files(scratch, OBEDIENT);
    let cx = Context::new("test");
    // Larger than pipes and logs hold at once.
    let content = "é\0 line\n".repeat(300_000);
    let write = WriteFile {
        file: "f".to_owned(),
        content: content.clone(),
        sudo: true,
        ..WriteFile::default()
    };
    let written = files.handle(&cx, write).await.unwrap();
    assert_eq!(written.bytes_written, Some(content.len() as u64));
    let all = files.handle(&cx, read("f")).await.unwrap();
    assert_eq!((all.content, all.line_count), (content, Some(300_000)));
    let replace = ReplaceInFile {
        file: "f".to_owned(),
        old_str: "é".to_owned(),
        new_str: "e".to_owned(),
        sudo: true,
    };
    assert_eq!(files.handle(&cx, replace).await.unwrap().replaced_count, 300_000);
    let search = SearchInFile { file: "f".to_owned(), regex: "e".to_owned(), sudo: true };
    let found = files.handle(&cx, search).await.unwrap();
    assert_eq!((found.matches.len(), found.truncated), (1, true));
    assert!(cx.take_hint().is_some(), "advice crosses too");

    let error = files.handle(&cx, read("missing")).await.unwrap_err();
    assert_eq!(error.code(), "file.not_found");
    assert!(error.message().contains("[Errno 2]"), "{error}");
    let reversed = ReadFile { start_line: Some(2), end_line: Some(1), ..read("f") };
    let error = files.handle(&cx, reversed).await.unwrap_err();
    assert_eq!(error.fields().len(), 1);
    // A name that is two lines long, and one that sudo could take for an option.
    for name in ["two\nlines", "--help"] {
        fs::write(scratch.join(name), "found").unwrap();
        assert_eq!(files.handle(&cx, read(name)).await.unwrap().content, "found");
    }
}

async fn a_refusal_is_told_with_its_cure(scratch: &Path) {
    let files = files(scratch, RELUCTANT);
    let error: Error = files.handle(&Context::new("test"), read("f")).await.unwrap_err();
    assert_eq!(error.code(), "file.permission_denied");
    for part in ["a password is required", "NOPASSWD"] {
        assert!(error.message().contains(part), "{error}");
    }
}

async fn the_helper_ends_when_the_caller_leaves(scratch: &Path) {
    let began = scratch.join("began");
    let patient =
        format!("#!/bin/sh\necho $$ > {0}.new\nmv {0}.new {0}\nexec sleep 1000\n", began.display());
    let files = files(scratch, &patient);
    let call = tokio::spawn(async move { files.handle(&Context::new("test"), read("f")).await });
    until(|| began.exists()).await;
    let pid = fs::read_to_string(&began).unwrap().trim().to_owned();
    call.abort();
    let stat = PathBuf::from(format!("/proc/{pid}/stat"));
    until(|| fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))).await;
}

async fn until(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < LONG, "it never came to that");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

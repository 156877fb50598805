//! The Jupyter operations with real kernels. This program is its own spawner, which the usual test harness cannot be.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use atoll_api::jupyter::{
    CreateJupyterSession, CreatedJupyterSession, DeleteJupyterSession, DeleteJupyterSessions,
    ExecuteJupyter, GetJupyterInfo, JupyterExecution, JupyterOutputType, JupyterStatus,
    ListJupyterSessions,
};
use atoll_api::system::Limits;
use atoll_operation::{Context, Error, Handle, Kind, Operation, Streaming};
use atoll_process::Spawner;
use atoll_sandbox::code::jupyter::{JupyterSettings, Jupyters};
use atoll_sandbox::{Environment, Foundation, Programs};
use futures::StreamExt;
use futures::future::LocalBoxFuture;
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_mins(2);

type Test = fn() -> LocalBoxFuture<'static, ()>;

fn main() {
    atoll_process::spawner::run_if_asked();
    let tests: &[(&str, Test)] = &[
        ("code_runs_and_state_is_kept", || Box::pin(code_runs_and_state_is_kept())),
        ("sessions_are_managed", || Box::pin(sessions_are_managed())),
        ("kernels_are_named", || Box::pin(kernels_are_named())),
        ("bad_input_changes_nothing", || Box::pin(bad_input_changes_nothing())),
        ("sessions_are_bounded", || Box::pin(sessions_are_bounded())),
        ("unused_sessions_expire", || Box::pin(unused_sessions_expire())),
        ("lost_state_is_told", || Box::pin(lost_state_is_told())),
        ("a_busy_session_is_told", || Box::pin(a_busy_session_is_told())),
        ("who_leaves_interrupts_the_code", || Box::pin(who_leaves_interrupts_the_code())),
        ("outputs_are_streamed", || Box::pin(outputs_are_streamed())),
        ("a_warm_kernel_is_taken", || Box::pin(a_warm_kernel_is_taken())),
        ("calls_at_once_share_a_session", || Box::pin(calls_at_once_share_a_session())),
        ("the_environment_is_the_sandboxes", || Box::pin(the_environment_is_the_sandboxes())),
        ("without_ipykernel_the_cure_is_told", || Box::pin(without_ipykernel_the_cure_is_told())),
        ("nothing_is_left_behind", || Box::pin(nothing_is_left_behind())),
    ];
    let wanted: Vec<_> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for (name, test) in tests {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word)) {
            println!("test {name} ...");
            runtime.block_on(async { tokio::time::timeout(LONG * 2, test()).await.unwrap() });
        }
    }
    println!("all passed");
}

struct Bench {
    jupyters: Arc<Jupyters>,
    programs: Programs,
    stop: CancellationToken,
    home: tempfile::TempDir,
    workspace: tempfile::TempDir,
    /// Short enough for sockets.
    runtime: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self::with(Limits::default(), JupyterSettings::default(), &sandbox_python().join("bin"))
    }

    fn with(limits: Limits, settings: JupyterSettings, path: &Path) -> Self {
        let [home, workspace] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
        let runtime = tempfile::tempdir_in("/tmp").unwrap();
        let secret = [("ATOLL_TOKEN", "s3cret"), ("AUTH_TOKEN", "s3cret"), ("OTHER", "s3cret")];
        let variables = [("PATH", path.to_str().unwrap())].into_iter().chain(secret);
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let environment = Environment::build(variables, home.path(), workspace.path(), "me", &[]);
        let stop = CancellationToken::new();
        let foundation = Foundation {
            home: home.path().to_owned(),
            workspace: workspace.path().canonicalize().unwrap(),
            runtime_dir: runtime.path().to_owned(),
            environment: Arc::new(environment),
            limits: Arc::new(limits),
            version: "0",
            stop: stop.clone(),
        };
        let programs = Programs::new(foundation, Spawner::launch().unwrap());
        let jupyters = Jupyters::new(&programs, settings);
        Self { jupyters, programs, stop, home, workspace, runtime }
    }

    async fn call<O: Operation>(&self, input: O) -> Result<O::Output, Error>
    where
        Jupyters: Handle<O>,
    {
        self.jupyters.handle(&Context::new("test"), input).await
    }

    async fn run(&self, session: &str, code: &str) -> JupyterExecution {
        self.call(execute(session, code)).await.unwrap()
    }

    /// The answer and the hint that goes with it.
    async fn hinted(&self, input: ExecuteJupyter) -> (JupyterExecution, String) {
        let cx = Context::new("test");
        let answer = self.jupyters.handle(&cx, input).await.unwrap();
        (answer, cx.take_hint().unwrap_or_default())
    }

    async fn refused<O: Operation>(&self, input: O) -> Error
    where
        Jupyters: Handle<O>,
    {
        match self.call(input).await {
            Ok(_) => panic!("{} was not refused", O::SPEC.id),
            Err(error) => error,
        }
    }
}

/// The environment made by `scripts/setup-sandbox-python.sh`.
fn sandbox_python() -> PathBuf {
    let path = std::env::var_os("ATOLL_SANDBOX_PYTHON").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/sandbox-python"),
        PathBuf::from,
    );
    let found = path.join("bin/python3").exists();
    assert!(found, "{} is missing: run scripts/setup-sandbox-python.sh test", path.display());
    path.canonicalize().unwrap()
}

fn execute(session: &str, code: &str) -> ExecuteJupyter {
    ExecuteJupyter {
        code: code.to_owned(),
        timeout: Some(120),
        session_id: Some(session.to_owned()),
        ..ExecuteJupyter::default()
    }
}

/// What was printed to standard output, read as clients do.
fn printed(execution: &JupyterExecution) -> &str {
    execution.outputs.first().and_then(|first| first.text.as_deref()).unwrap_or_default()
}

async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(LONG, waiting).await.is_ok(), "waited in vain for: {what}");
}

async fn code_runs_and_state_is_kept() {
    let bench = Bench::new();
    let first = bench.run("analysis", "x = 41\nprint('hi')\nx + 1").await;
    assert_eq!((first.status, first.execution_count), (JupyterStatus::Ok, Some(1)));
    assert_eq!(
        (first.kernel_name.as_str(), first.session_id.as_deref()),
        ("python3", Some("analysis"))
    );
    assert_eq!(printed(&first), "hi\n");
    let value = &first.outputs[1];
    assert_eq!(value.output_type, JupyterOutputType::ExecuteResult);
    assert_eq!(value.data.as_ref().unwrap()["text/plain"], "42");
    assert!(first.msg_id.is_some_and(|id| !id.is_empty()));
    assert_eq!(printed(&bench.run("analysis", "print(x)").await), "41\n");
    // Without an id a fresh session is made up, and can be returned to.
    let input =
        ExecuteJupyter { session_id: None, ..execute("", "y = 1; print('x' in globals())") };
    let fresh = bench.call(input).await.unwrap();
    assert_eq!(printed(&fresh), "False\n");
    let again = bench.run(&fresh.session_id.unwrap(), "print(y)").await;
    assert_eq!(printed(&again), "1\n");
    let failed =
        bench.run("analysis", "import sys; print('w', file=sys.stderr); print('o'); 1/0").await;
    assert_eq!((failed.status, printed(&failed)), (JupyterStatus::Error, "o\n"));
    let error = failed.outputs.last().unwrap();
    assert_eq!(error.ename.as_deref(), Some("ZeroDivisionError"));
    assert!(error.traceback.as_ref().is_some_and(|lines| !lines.is_empty()));
    // Packages of the sandbox's Python are there.
    let code =
        "import numpy, pandas, markdownify, requests; print(pandas.DataFrame({'a': [1]}).a.sum())";
    assert_eq!(printed(&bench.run("analysis", code).await), "1\n");
}

async fn sessions_are_managed() {
    let bench = Bench::new();
    assert!(bench.call(ListJupyterSessions {}).await.unwrap().sessions.is_empty());
    let input = CreateJupyterSession {
        session_id: Some("mine".to_owned()),
        ..CreateJupyterSession::default()
    };
    let created: CreatedJupyterSession = bench.call(input.clone()).await.unwrap();
    assert_eq!((created.session_id.as_str(), created.kernel_name.as_str()), ("mine", "python3"));
    bench.run("mine", "x = 5").await;
    let again = bench.call(input).await.unwrap();
    assert!(again.message.contains("existed already"), "{}", again.message);
    assert_eq!(printed(&bench.run("mine", "print(x)").await), "5\n");
    let made_up = bench.call(CreateJupyterSession::default()).await.unwrap();
    let listed = bench.call(ListJupyterSessions {}).await.unwrap().sessions;
    assert_eq!(listed.len(), 2);
    let mine = &listed["mine"];
    assert_eq!(mine.kernel_name, "python3");
    assert!(mine.last_used > 1.7e9 && mine.last_used < 1e11, "{}", mine.last_used);
    let input = DeleteJupyterSession { session_id: made_up.session_id.clone() };
    bench.call(input.clone()).await.unwrap();
    let error = bench.refused(input).await;
    assert_eq!((error.kind(), error.code()), (Kind::NotFound, "jupyter.session_not_found"));
    bench.call(DeleteJupyterSessions {}).await.unwrap();
    assert!(bench.call(ListJupyterSessions {}).await.unwrap().sessions.is_empty());
    assert_eq!(printed(&bench.run("mine", "print('x' in globals())").await), "False\n");
    // A session in a directory of its own.
    let there = bench.home.path().canonicalize().unwrap();
    let cwd = Some(there.display().to_string());
    let input = CreateJupyterSession {
        session_id: Some("there".to_owned()),
        cwd,
        ..CreateJupyterSession::default()
    };
    bench.call(input).await.unwrap();
    let code = "import os; print(os.getcwd())";
    assert_eq!(printed(&bench.run("there", code).await).trim_end(), there.to_str().unwrap());
    let workspace = bench.workspace.path().canonicalize().unwrap();
    assert_eq!(printed(&bench.run("mine", code).await).trim_end(), workspace.to_str().unwrap());
    let moved = ExecuteJupyter { cwd: Some(there.display().to_string()), ..execute("mine", code) };
    assert_eq!(printed(&bench.call(moved).await.unwrap()).trim_end(), there.to_str().unwrap());
}

async fn kernels_are_named() {
    let settings =
        JupyterSettings { python_version: Some("2.7".to_owned()), ..JupyterSettings::default() };
    let bench = Bench::with(Limits::default(), settings, &sandbox_python().join("bin"));
    let info = bench.call(GetJupyterInfo {}).await.unwrap();
    assert_eq!(info.default_kernel, "python3");
    assert_eq!(
        (info.active_sessions, info.session_timeout_seconds, info.max_sessions),
        (0, 1800, 16)
    );
    let exact = info.available_kernels.iter().find(|name| name.starts_with("python3.")).unwrap();
    assert!(info.available_kernels.contains(&"python3".to_owned()));
    assert!(info.kernel_detection.contains("bin/python3"), "{}", info.kernel_detection);
    let named = ExecuteJupyter { kernel_name: Some(exact.clone()), ..execute("exact", "print(1)") };
    assert_eq!(bench.call(named.clone()).await.unwrap().kernel_name, *exact);
    bench.run("exact", "x = 1").await;
    let unknown = ExecuteJupyter { kernel_name: Some("cobol".to_owned()), ..execute("new", "1") };
    let error = bench.refused(unknown).await;
    assert_eq!((error.kind(), error.code()), (Kind::InvalidArgument, "jupyter.unknown_kernel"));
    assert!(error.message().contains("cobol") && error.message().contains("python3"));
    let data = bench.home.path().join(".local/share/jupyter/kernels/sh");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(
        data.join("kernel.json"),
        r#"{"argv": ["/bin/sh", "-c", "exit 3"], "language": "sh"}"#,
    )
    .unwrap();
    let other = ExecuteJupyter { kernel_name: Some("sh".to_owned()), ..execute("exact", "1") };
    let error = bench.refused(other).await;
    assert_eq!((error.kind(), error.code()), (Kind::Conflict, "jupyter.other_kernel"));
    assert!(error.message().contains(exact.as_str()) && error.message().contains("sh"));
    let broken = ExecuteJupyter { kernel_name: Some("sh".to_owned()), ..execute("broken", "1") };
    let error = bench.refused(broken).await;
    assert_eq!((error.kind(), error.code()), (Kind::Unavailable, "jupyter.start_failed"));
    assert_eq!(bench.jupyters.count(), 1, "a session without a kernel is not kept");
    let version = exact.strip_prefix("python").unwrap().to_owned();
    let settings = JupyterSettings { python_version: Some(version), ..JupyterSettings::default() };
    let bench = Bench::with(Limits::default(), settings, &sandbox_python().join("bin"));
    assert_eq!(bench.call(GetJupyterInfo {}).await.unwrap().default_kernel, *exact);
}

async fn bad_input_changes_nothing() {
    let bench = Bench::new();
    for (cwd, kind) in [
        ("relative", Kind::InvalidInput),
        ("/nonexistent/there", Kind::InvalidArgument),
        ("/dev/null", Kind::InvalidArgument),
    ] {
        let input = ExecuteJupyter { cwd: Some(cwd.to_owned()), ..execute("new", "1") };
        assert_eq!(bench.refused(input).await.kind(), kind, "{cwd}");
        let input =
            CreateJupyterSession { cwd: Some(cwd.to_owned()), ..CreateJupyterSession::default() };
        assert_eq!(bench.refused(input).await.kind(), kind, "{cwd}");
    }
    let error = bench.refused(execute("a/b", "1")).await;
    assert_eq!(error.kind(), Kind::InvalidInput);
    assert_eq!(bench.jupyters.count(), 0);
}

async fn sessions_are_bounded() {
    let limits = Limits { jupyter_sessions: 2, ..Limits::default() };
    let bench = Bench::with(limits, JupyterSettings::default(), &sandbox_python().join("bin"));
    let unnamed = || ExecuteJupyter { session_id: None, ..execute("", "1") };
    let first = bench.call(unnamed()).await.unwrap().session_id.unwrap();
    bench.run("named", "1").await;
    // The one nobody named makes room; those with names do not.
    bench.run("second", "1").await;
    let sessions = bench.call(ListJupyterSessions {}).await.unwrap().sessions;
    assert!(!sessions.contains_key(&first) && sessions.len() == 2, "{sessions:?}");
    let error = bench.refused(unnamed()).await;
    assert_eq!(
        (error.kind(), error.code()),
        (Kind::ResourceExhausted, "jupyter.sessions_exhausted")
    );
}

async fn unused_sessions_expire() {
    let limits = Limits { jupyter_idle_seconds: 1, ..Limits::default() };
    let bench = Bench::with(limits, JupyterSettings::default(), &sandbox_python().join("bin"));
    bench.run("idle", "1").await;
    eventually("its end", || bench.jupyters.count() == 0).await;
    let runtime = bench.runtime.path();
    eventually("no file", || std::fs::read_dir(runtime).unwrap().count() == 0).await;
}

async fn lost_state_is_told() {
    let bench = Bench::new();
    bench.run("s", "x = 1").await;
    let (died, hint) = bench.hinted(execute("s", "import os; os._exit(9)")).await;
    assert_eq!(died.status, JupyterStatus::Error);
    assert_eq!(died.outputs.last().unwrap().ename.as_deref(), Some("DeadKernelError"));
    assert!(died.outputs.last().unwrap().evalue.as_ref().unwrap().contains("exit code 9"));
    assert!(hint.contains("fresh kernel"), "{hint}");
    let (next, hint) = bench.hinted(execute("s", "print('x' in globals())")).await;
    assert_eq!((printed(&next), next.session_id.as_deref()), ("False\n", Some("s")));
    assert!(hint.contains("gone"), "{hint}");
    let endless = ExecuteJupyter { timeout: Some(1), ..execute("s", "y = 2\nwhile True: pass") };
    let (late, hint) = bench.hinted(endless).await;
    assert_eq!(late.status, JupyterStatus::Timeout);
    assert!(hint.contains("interrupted") && hint.contains("keeps"), "{hint}");
    assert_eq!(printed(&bench.run("s", "print(y)").await), "2\n");
    let (asked, hint) = bench.hinted(execute("s", "input('?')")).await;
    assert_eq!(asked.outputs.last().unwrap().ename.as_deref(), Some("StdinNotImplementedError"));
    assert!(hint.contains("input()"), "{hint}");
}

async fn a_busy_session_is_told() {
    let bench = Bench::new();
    bench.run("s", "import os, time").await;
    let code = "open('begun', 'w')\nwhile not os.path.exists('gate'): time.sleep(0.01)";
    let busy = bench.run("s", code);
    let waiting = async {
        eventually("it to begin", || bench.workspace.path().join("begun").exists()).await;
        let error = bench.refused(ExecuteJupyter { timeout: Some(1), ..execute("s", "1") }).await;
        std::fs::write(bench.workspace.path().join("gate"), "").unwrap();
        error
    };
    let (busy, error) = tokio::join!(busy, waiting);
    assert_eq!(busy.status, JupyterStatus::Ok);
    assert_eq!((error.kind(), error.code()), (Kind::DeadlineExceeded, "jupyter.busy"));
}

async fn who_leaves_interrupts_the_code() {
    let bench = Bench::new();
    bench.run("s", "x = 1").await;
    let endless = bench.call(execute("s", "open('begun', 'w')\nwhile True: pass"));
    tokio::select! {
        _ = endless => panic!("it ended"),
        () = eventually("it to begin", || bench.workspace.path().join("begun").exists()) => {}
    }
    assert_eq!(printed(&bench.run("s", "print(x)").await), "1\n");
}

async fn outputs_are_streamed() {
    let bench = Bench::new();
    let code = "import os, time, sys\nprint('one', flush=True)\n\
                while not os.path.exists('gate'): time.sleep(0.01)\nprint('two')\n3";
    let cx = Context::new("test");
    let mut events = bench.jupyters.stream(&cx, execute("s", code)).await.unwrap();
    let first = events.next().await.unwrap();
    assert_eq!((first.name, &first.data["text"]), ("output", &"one\n".into()));
    std::fs::write(bench.workspace.path().join("gate"), "").unwrap();
    let rest: Vec<_> = events.collect().await;
    let names: Vec<_> = rest.iter().map(|event| event.name).collect();
    assert_eq!(names, ["output", "output", "completed"]);
    assert_eq!(rest[1].data["output_type"], "execute_result");
    let whole = &rest[2].data;
    assert_eq!(
        (&whole["status"], &whole["outputs"][0]["text"]),
        (&"ok".into(), &"one\ntwo\n".into())
    );
    assert_eq!(whole["session_id"], "s");
    // A reader that leaves interrupts the code.
    bench.run("s", "x = 7").await;
    let endless = execute("s", "print('begun', flush=True)\nwhile True: pass");
    let mut events = bench.jupyters.stream(&cx, endless).await.unwrap();
    events.next().await.unwrap();
    drop(events);
    assert_eq!(printed(&bench.run("s", "print(x)").await), "7\n");
    let refused = bench
        .jupyters
        .stream(&cx, ExecuteJupyter { kernel_name: Some("cobol".to_owned()), ..execute("t", "1") })
        .await;
    assert_eq!(refused.err().unwrap().code(), "jupyter.unknown_kernel");
}

async fn a_warm_kernel_is_taken() {
    let settings = JupyterSettings { warm: true, ..JupyterSettings::default() };
    let bench = Bench::with(Limits::default(), settings, &sandbox_python().join("bin"));
    eventually("a warm kernel", || bench.jupyters.is_warm()).await;
    assert_eq!(bench.jupyters.count(), 0);
    let first = bench.run("s", "print('hi')").await;
    assert_eq!((printed(&first), first.execution_count), ("hi\n", Some(1)));
    eventually("another", || bench.jupyters.is_warm()).await;
    bench.jupyters.close_all().await;
    assert!(!bench.jupyters.is_warm());
    let runtime = bench.runtime.path();
    eventually("no file", || std::fs::read_dir(runtime).unwrap().count() == 0).await;
}

async fn calls_at_once_share_a_session() {
    let bench = Bench::new();
    let calls = (0..6).map(|turn| {
        bench.run("shared", if turn == 0 { "n = 0" } else { "n = globals().get('n', 0) + 1" })
    });
    futures::future::join_all(calls).await;
    assert_eq!(bench.jupyters.count(), 1);
    assert_eq!(bench.run("shared", "1").await.execution_count, Some(7));
}

async fn the_environment_is_the_sandboxes() {
    let bench = Bench::new();
    let said = bench.run("s", "import os; print(sorted(os.environ.items()))").await;
    let said = printed(&said);
    assert!(!said.contains("s3cret"), "{said}");
    let home = bench.home.path().to_str().unwrap();
    assert!(said.contains(home), "{said}");
    // What a shell's pip installs is importable at once.
    let code = "import subprocess, shutil; print(shutil.which('pip'))";
    let pip = bench.run("s", code).await;
    assert_eq!(printed(&pip).trim_end(), sandbox_python().join("bin/pip").to_str().unwrap());
}

async fn without_ipykernel_the_cure_is_told() {
    let empty = tempfile::tempdir().unwrap();
    let bare = empty.path().join("bare");
    let made = std::process::Command::new(sandbox_python().join("bin/python3"))
        .args(["-m", "venv", "--without-pip"])
        .arg(&bare)
        .status()
        .unwrap();
    assert!(made.success());
    let settings = JupyterSettings { warm: true, ..JupyterSettings::default() };
    let bench = Bench::with(Limits::default(), settings, &bare.join("bin"));
    let info = bench.call(GetJupyterInfo {}).await.unwrap();
    // The system's own Python, which is always on the path, may have a kernel; then there is nothing to see here.
    if info.available_kernels.is_empty() {
        assert!(info.description.contains("pip install ipykernel"));
        let error = bench.refused(execute("s", "1")).await;
        assert_eq!((error.kind(), error.code()), (Kind::Unavailable, "jupyter.unavailable"));
        assert!(error.message().contains("pip install ipykernel"), "{}", error.message());
        assert_eq!(bench.jupyters.count(), 0);
    }
}

async fn nothing_is_left_behind() {
    let bench = Bench::new();
    let pid = printed(&bench.run("a", "import os; print(os.getpid())").await).trim().to_owned();
    bench
        .run("b", "import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True)")
        .await;
    let running = bench.call(execute("c", "open('begun', 'w')\nwhile True: pass"));
    let stopping = async {
        eventually("it to begin", || bench.workspace.path().join("begun").exists()).await;
        bench.stop.cancel();
        bench.jupyters.close_all().await;
    };
    let (stopped, ()) = tokio::join!(running, stopping);
    assert!(stopped.is_err_and(|error| error.kind() == Kind::Cancelled));
    let process = PathBuf::from(format!("/proc/{pid}"));
    eventually("no process", || !process.exists()).await;
    assert_eq!(std::fs::read_dir(bench.runtime.path()).unwrap().count(), 0);
    assert_eq!(bench.jupyters.count(), 0);
    drop(bench.programs);
}

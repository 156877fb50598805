//! Code in any language, with the real runtimes. This program is its own spawner, which the usual test harness cannot be.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use atoll_api::code::{CodeExecution, ExecuteCode, GetCodeInfo};
use atoll_operation::{Context, Error, Handle, Kind, Streaming};
use atoll_process::Spawner;
use atoll_sandbox::code::jupyter::{JupyterSettings, Jupyters};
use atoll_sandbox::code::nodejs::Nodes;
use atoll_sandbox::code::unified::Codes;
use atoll_sandbox::{Environment, Foundation, Programs};
use futures::StreamExt;
use futures::future::LocalBoxFuture;
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_mins(2);

type Test = fn() -> LocalBoxFuture<'static, ()>;

fn main() {
    atoll_process::spawner::run_if_asked();
    let tests: &[(&str, Test)] = &[
        ("javascript_runs_with_and_without_a_session", || Box::pin(javascript())),
        ("python_runs_with_and_without_a_session", || Box::pin(python())),
        ("typescript_runs_where_node_can", || Box::pin(typescript())),
        ("bash_runs_as_a_file", || Box::pin(bash())),
        ("unknown_languages_are_refused_with_a_list", || Box::pin(unknown())),
        ("outputs_are_streamed", || Box::pin(streams())),
        ("who_leaves_stops_the_code", || Box::pin(leaving())),
        ("every_language_is_listed", || Box::pin(listed())),
    ];
    let wanted: Vec<_> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for (name, test) in tests {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word)) {
            println!("test {name} ...");
            runtime.block_on(async { tokio::time::timeout(LONG, test()).await.unwrap() });
        }
    }
    println!("all passed");
}

struct Bench {
    codes: Arc<Codes>,
    jupyters: Arc<Jupyters>,
    nodes: Arc<Nodes>,
    _home: tempfile::TempDir,
    workspace: tempfile::TempDir,
    runtime: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let [home, workspace, runtime] =
            std::array::from_fn(|_| tempfile::tempdir_in("/tmp").unwrap());
        // The Python that `make test` prepares comes first.
        let python =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.tools/sandbox-python/bin");
        let variables = std::env::vars().map(|(name, value)| match name.as_str() {
            "PATH" => (name, format!("{}:{value}", python.display())),
            _ => (name, value),
        });
        let environment = Environment::build(variables, home.path(), workspace.path(), "me", &[]);
        let foundation = Foundation {
            home: home.path().to_owned(),
            workspace: workspace.path().canonicalize().unwrap(),
            runtime_dir: runtime.path().to_owned(),
            environment: Arc::new(environment),
            limits: Arc::default(),
            version: "0.0.0",
            stop: CancellationToken::new(),
        };
        let programs = Programs::new(foundation, Spawner::launch().unwrap());
        let jupyters = Jupyters::new(&programs, JupyterSettings::default());
        let nodes = Nodes::new(&programs);
        let codes = Codes::new(&programs, &jupyters, &nodes);
        Self { codes, jupyters, nodes, _home: home, workspace, runtime }
    }

    async fn call(&self, input: ExecuteCode) -> Result<CodeExecution, Error> {
        self.codes.handle(&Context::new("test"), input).await
    }

    async fn run(&self, language: &str, code: &str) -> CodeExecution {
        self.call(asked(language, code)).await.unwrap()
    }
}

fn asked(language: &str, code: &str) -> ExecuteCode {
    let (language, code) = (language.to_owned(), code.to_owned());
    ExecuteCode { language, code, timeout: Some(60), ..ExecuteCode::default() }
}

fn in_session(language: &str, session: &str, code: &str) -> ExecuteCode {
    ExecuteCode { session_id: Some(session.to_owned()), ..asked(language, code) }
}

/// The value of the last expression.
fn result(done: &CodeExecution) -> &str {
    let found = done.outputs.iter().find(|output| output["output_type"] == "execute_result");
    let Some(output) = found else { panic!("no result: {done:?}") };
    output["data"]["text/plain"].as_str().unwrap()
}

async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + LONG;
    while !condition() {
        assert!(std::time::Instant::now() < deadline, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn javascript() {
    let bench = Bench::new();
    let done = bench.run("javascript", "console.log('out'); console.error('err'); 6 * 7").await;
    assert_eq!((done.language.as_str(), done.status.as_str()), ("javascript", "ok"));
    assert_eq!((done.stdout.as_deref(), done.stderr.as_deref()), (Some("out\n"), Some("err\n")));
    assert_eq!((result(&done), done.exit_code), ("42", Some(0)));
    assert_eq!((done.session_id.as_deref(), done.traceback.as_ref()), (None, None));
    let failed = bench.run("js", "throw new Error('bad')").await;
    assert_eq!((failed.language.as_str(), failed.status.as_str()), ("javascript", "error"));
    assert!(failed.traceback.unwrap().join("\n").contains("Error: bad"));
    let first =
        bench.call(ExecuteCode { stateful: true, ..asked("javascript", "let x = 1") }).await;
    let session = first.unwrap().session_id.unwrap();
    let next = bench.call(in_session("javascript", &session, "x + 1")).await.unwrap();
    assert_eq!((result(&next), next.session_id.as_deref()), ("2", Some(session.as_str())));
    assert_eq!(bench.nodes.count(), 1);
    let late =
        bench.call(ExecuteCode { timeout: Some(1), ..asked("javascript", "for (;;);") }).await;
    assert_eq!(late.unwrap().status, "timeout");
}

async fn python() {
    let bench = Bench::new();
    let done =
        bench.run("python", "import sys; print('out'); print('err', file=sys.stderr); 6 * 7").await;
    assert_eq!((done.status.as_str(), done.exit_code), ("ok", Some(0)), "{done:?}");
    assert_eq!((done.stdout.as_deref(), done.stderr.as_deref()), (Some("out\n"), Some("err\n")));
    assert_eq!((result(&done), done.session_id.as_deref()), ("42", None));
    let jupyters = Arc::clone(&bench.jupyters);
    eventually("no session is left", || jupyters.count() == 0).await;
    let failed = bench.run("python3", "1 / 0").await;
    assert_eq!((failed.status.as_str(), failed.exit_code), ("error", Some(1)));
    assert!(failed.traceback.unwrap().join("\n").contains("ZeroDivisionError"));
    bench.call(in_session("python", "mine", "x = 20")).await.unwrap();
    let next = bench.call(in_session("python", "mine", "x + 1")).await.unwrap();
    assert_eq!((result(&next), next.session_id.as_deref()), ("21", Some("mine")));
    let fresh = bench.run("python", "'x' in globals()").await;
    assert_eq!(result(&fresh), "False");
}

async fn typescript() {
    let bench = Bench::new();
    let code = "interface A { x: number }; const a: A = { x: 4 }; a.x as number";
    match bench.call(asked("ts", code)).await {
        Ok(done) => {
            assert_eq!((result(&done), done.language.as_str()), ("4", "typescript"));
            let kept = in_session("typescript", "t", "let y: number = 5");
            bench.call(kept).await.unwrap();
            let next = bench.call(in_session("typescript", "t", "y as number")).await.unwrap();
            assert_eq!(result(&next), "5");
        }
        Err(error) => assert!(error.message().contains("javascript"), "{error}"),
    }
}

async fn bash() {
    let bench = Bench::new();
    let done = bench.run("sh", "echo out; echo err >&2; pwd; exit 3").await;
    assert_eq!((done.language.as_str(), done.status.as_str()), ("bash", "error"));
    assert_eq!(done.exit_code, Some(3));
    assert!(done.stdout.as_ref().unwrap().starts_with("out\n"));
    assert_eq!((done.stderr.as_deref(), done.outputs.len()), (Some("err\n"), 2));
    let cwd = bench.workspace.path().canonicalize().unwrap().display().to_string();
    let input = ExecuteCode { cwd: Some(cwd.clone()), ..asked("bash", "pwd") };
    let there = bench.call(input).await.unwrap();
    assert_eq!(there.stdout.unwrap().trim(), cwd);
    let long =
        bench.run("bash", "yes | head -c 5000000; echo END; echo; sleep 1000 & exit 0").await;
    let text = long.stdout.unwrap();
    assert!(text.len() < 2_100_000 && text.ends_with("END\n\n"), "{}", text.len());
    assert!(text.contains("bytes left out"));
    let late = ExecuteCode { timeout: Some(1), ..asked("bash", "echo in; sleep 1000") };
    let late = bench.call(late).await.unwrap();
    assert_eq!((late.status.as_str(), late.exit_code), ("timeout", Some(137)));
    assert_eq!(late.stdout.as_deref(), Some("in\n"));
    let left = || std::fs::read_dir(bench.runtime.path()).unwrap().count();
    eventually("nothing is left", || left() == 0).await;
    match bench.call(in_session("bash", "s", "x=1")).await {
        Err(error) => assert_eq!(error.code(), "code.stateless_only"),
        Ok(done) => assert_eq!(done.status, "ok", "a machine with a kernel for bash"),
    }
}

async fn unknown() {
    let bench = Bench::new();
    for language in ["cobol", "", "python; rm -rf /"] {
        let error = bench.call(asked(language, "1")).await.unwrap_err();
        assert_eq!(error.kind(), Kind::InvalidInput);
        assert_eq!(error.fields()[0].path, ["language"]);
        for known in ["python", "javascript", "bash"] {
            assert!(error.message().contains(known), "{error}");
        }
    }
    let relative = ExecuteCode { cwd: Some("relative".into()), ..asked("bash", "1") };
    assert_eq!(bench.call(relative).await.unwrap_err().kind(), Kind::InvalidInput);
}

async fn streams() {
    let bench = Bench::new();
    for (language, code) in
        [("javascript", "console.log('a'); 1"), ("python", "print('a'); 1"), ("bash", "echo a")]
    {
        let stream = bench.codes.stream(&Context::new("test"), asked(language, code)).await;
        let events: Vec<_> = stream.unwrap().collect().await;
        let texts: String = events.iter().filter_map(|event| event.data["text"].as_str()).collect();
        assert_eq!(texts, "a\n", "{language}: {events:?}");
        let last = events.last().unwrap();
        assert_eq!((last.name, &last.data["stdout"]), ("completed", &"a\n".into()));
        assert_eq!(
            (&last.data["language"], &last.data["status"]),
            (&language.into(), &"ok".into())
        );
    }
}

async fn leaving() {
    let bench = Bench::new();
    let flag = bench.workspace.path().join("flag");
    let code = format!("touch '{}'; sleep 1000", flag.display());
    tokio::select! {
        _ = bench.call(asked("bash", &code)) => panic!("it cannot end"),
        () = eventually("it runs", || flag.exists()) => {}
    }
    let left = || std::fs::read_dir(bench.runtime.path()).unwrap().count();
    eventually("nothing is left", || left() == 0).await;
}

async fn listed() {
    let bench = Bench::new();
    let info = bench.codes.handle(&Context::new("test"), GetCodeInfo {}).await.unwrap();
    for (language, stateful) in [("python", true), ("javascript", true)] {
        let Some(found) = info.languages.iter().find(|each| each.language == language) else {
            panic!("{language} is not in {info:?}");
        };
        assert_eq!(found.details["stateful"], stateful, "{found:?}");
        assert!(found.runtime_version.as_ref().unwrap().contains('.'), "{found:?}");
        assert_eq!((found.default_timeout, found.max_timeout), (30, 300));
    }
    assert_eq!(info.languages.len(), 2);
    let bash = info.extensions.iter().find(|each| each["language"] == "bash").unwrap();
    let version = bash["runtime_version"].as_str().unwrap();
    assert!(version.starts_with(char::is_numeric), "{bash:?}");
    assert!(bash["details"]["program"].as_str().unwrap().ends_with("bash"));
}

//! The Node.js operations with the real Node.js. This program is its own spawner, which the usual test harness cannot be.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use atoll_api::nodejs::{
    CreateNodeSession, DeleteNodeSession, ExecuteNode, GetNodeInfo, GetNodeSession,
    ListNodeSessions, NodeExecution, NodeOutputType, NodeSessionState, NodeStatus,
    UpdateNodeSession,
};
use atoll_api::system::Limits;
use atoll_operation::{Context, Error, Handle, Kind, Operation, Streaming};
use atoll_process::Spawner;
use atoll_sandbox::code::nodejs::Nodes;
use atoll_sandbox::{Environment, Foundation, Programs};
use futures::StreamExt;
use futures::future::LocalBoxFuture;
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_mins(1);

type Test = fn() -> LocalBoxFuture<'static, ()>;

fn main() {
    atoll_process::spawner::run_if_asked();
    let tests: &[(&str, Test)] = &[
        ("programs_run_once", || Box::pin(programs_run_once())),
        ("sessions_keep_their_state", || Box::pin(sessions_keep_their_state())),
        ("sessions_are_managed", || Box::pin(sessions_are_managed())),
        ("lost_state_is_told", || Box::pin(lost_state_is_told())),
        ("closing_a_session_ends_what_it_runs", || Box::pin(closing_a_session_ends_what_it_runs())),
        ("time_spent_waiting_counts", || Box::pin(time_spent_waiting_counts())),
        ("sessions_are_bounded", || Box::pin(sessions_are_bounded())),
        ("bad_input_changes_nothing", || Box::pin(bad_input_changes_nothing())),
        ("who_leaves_stops_the_code", || Box::pin(who_leaves_stops_the_code())),
        ("outputs_are_streamed", || Box::pin(outputs_are_streamed())),
        ("calls_at_once_share_a_session", || Box::pin(calls_at_once_share_a_session())),
        ("packages_of_the_workspace_are_found", || Box::pin(packages_of_the_workspace_are_found())),
        ("nothing_is_left_behind", || Box::pin(nothing_is_left_behind())),
        ("without_node_the_cure_is_told", || Box::pin(without_node_the_cure_is_told())),
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
    nodes: Arc<Nodes>,
    programs: Programs,
    stop: CancellationToken,
    home: tempfile::TempDir,
    workspace: tempfile::TempDir,
    runtime: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self::with(Limits::default(), std::env::vars())
    }

    fn with(limits: Limits, variables: impl Iterator<Item = (String, String)>) -> Self {
        let [home, workspace, runtime] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
        let environment = Environment::build(variables, home.path(), workspace.path(), "me", &[]);
        let stop = CancellationToken::new();
        let foundation = Foundation {
            home: home.path().to_owned(),
            workspace: workspace.path().canonicalize().unwrap(),
            runtime_dir: runtime.path().to_owned(),
            environment: Arc::new(environment),
            limits: Arc::new(limits),
            version: "0.0.0",
            stop: stop.clone(),
        };
        let programs = Programs::new(foundation, Spawner::launch().unwrap());
        let nodes = Nodes::new(&programs);
        Self { nodes, programs, stop, home, workspace, runtime }
    }

    async fn call<O: Operation>(&self, input: O) -> Result<O::Output, Error>
    where
        Nodes: Handle<O>,
    {
        self.nodes.handle(&Context::new("test"), input).await
    }

    /// Runs code and returns the advice too.
    async fn execute(&self, input: ExecuteNode) -> (NodeExecution, Option<String>) {
        let cx = Context::new("test");
        let execution = self.nodes.handle(&cx, input).await.unwrap();
        (execution, cx.take_hint())
    }

    async fn say(&self, session: &str, code: &str) -> NodeExecution {
        self.execute(in_session(session, code)).await.0
    }
}

fn once(code: &str) -> ExecuteNode {
    ExecuteNode { code: code.to_owned(), timeout: Some(60), ..ExecuteNode::default() }
}

fn in_session(session: &str, code: &str) -> ExecuteNode {
    ExecuteNode { session_id: Some(session.to_owned()), ..once(code) }
}

fn result(execution: &NodeExecution) -> &str {
    let found = execution.outputs.iter().find_map(|output| output.data.as_ref());
    let Some(data) = found else { panic!("no result: {execution:?}") };
    data["text/plain"].as_str().unwrap()
}

async fn eventually(what: &str, condition: impl AsyncFn() -> bool) {
    let deadline = std::time::Instant::now() + LONG;
    while !condition().await {
        assert!(std::time::Instant::now() < deadline, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn programs_run_once() {
    let bench = Bench::new();
    let files = BTreeMap::from([("a/b.txt".to_owned(), "in a file".to_owned())]);
    let input = ExecuteNode {
        files: Some(files),
        stdin: Some("in".into()),
        ..once(
            "console.error('e'); console.log(fs.readFileSync('a/b.txt', 'utf8'), fs.readFileSync(0, 'utf8')); 6 * 7",
        )
    };
    let (execution, hint) = bench.execute(input).await;
    assert_eq!((execution.status, execution.exit_code), (NodeStatus::Ok, 0), "{execution:?}");
    assert_eq!(execution.outputs[0].text.as_deref(), Some("in a file in\n"));
    assert_eq!(execution.outputs[1].name.as_deref(), Some("stderr"));
    assert_eq!((result(&execution), hint), ("42", None));
    assert_eq!((execution.session_id, execution.execution_count), (None, None));
    let (execution, _) = bench.execute(once("throw new TypeError('bad')")).await;
    assert_eq!((execution.status, execution.exit_code), (NodeStatus::Error, 1));
    assert!(execution.stderr.contains("TypeError: bad"), "{execution:?}");
    let error = execution.outputs.last().unwrap();
    assert_eq!(
        (error.output_type, error.ename.as_deref()),
        (NodeOutputType::Error, Some("TypeError"))
    );
    let (execution, hint) =
        bench.execute(ExecuteNode { timeout: Some(1), ..once("for (;;);") }).await;
    assert_eq!((execution.status, execution.exit_code), (NodeStatus::Timeout, 137));
    assert!(hint.unwrap().contains("killed after 1 s"));
    let (execution, _) =
        bench.execute(once("process.kill(process.pid, 'SIGSEGV'); setInterval(() => {}, 9)")).await;
    assert_eq!((execution.status, execution.exit_code), (NodeStatus::Error, 139));
    let error = execution.outputs.last().unwrap();
    assert_eq!(error.evalue.as_deref(), Some("the process was ended by SIGSEGV"));
}

async fn sessions_keep_their_state() {
    let bench = Bench::new();
    let (first, _) =
        bench.execute(ExecuteNode { stateful: Some(true), ..once("let x = 41") }).await;
    let id = first.session_id.unwrap();
    assert_eq!(first.execution_count, Some(1));
    let second = bench.say(&id, "++x").await;
    assert_eq!((result(&second), second.execution_count), ("42", Some(2)));
    assert_eq!(second.session_id.as_deref(), Some(id.as_str()));
    let named = bench.say("never seen", "typeof x").await;
    assert_eq!(result(&named), "'undefined'");
    let moved = tempfile::tempdir().unwrap();
    let path = moved.path().canonicalize().unwrap();
    let cwd = Some(path.display().to_string());
    let files = BTreeMap::from([("own.js".to_owned(), "module.exports = 'own'".to_owned())]);
    let input = ExecuteNode { cwd, files: Some(files), ..in_session(&id, "require('./own.js')") };
    let (execution, _) = bench.execute(input).await;
    assert_eq!(result(&execution), "'own'");
    let found = bench.call(GetNodeSession { session_id: id.clone(), version: None }).await.unwrap();
    assert_eq!(found.session.cwd, path.display().to_string());
    bench.say(&id, "process.chdir('/')").await;
    let found = bench.call(GetNodeSession { session_id: id, version: None }).await.unwrap();
    assert_eq!(found.session.cwd, "/");
}

async fn sessions_are_managed() {
    let bench = Bench::new();
    let create = |id: &str| CreateNodeSession {
        session_id: Some(id.to_owned()),
        max_idle_time: Some(60),
        ..CreateNodeSession::default()
    };
    let made = bench.call(create("mine")).await.unwrap();
    assert!(made.created && made.message.is_none());
    let session = made.session.unwrap();
    assert_eq!((session.max_idle_time, session.age_seconds), (60_000, 0));
    assert_eq!(session.state, NodeSessionState::Idle);
    assert!(session.created_at > 1.6e12 && session.last_used >= session.created_at);
    assert_eq!(Path::new(&session.cwd), bench.workspace.path().canonicalize().unwrap());
    let again = bench.call(create("mine")).await.unwrap();
    assert!(!again.created && again.message.unwrap().contains("mine"));
    let made_up = bench.call(CreateNodeSession::default()).await.unwrap();
    assert_eq!(made_up.session.unwrap().max_idle_time, 86_400_000);
    let version = session.version.clone();
    for version in [None, Some(version.clone()), Some(version.replace("node", "v"))] {
        let listed = bench.call(ListNodeSessions { version }).await.unwrap();
        assert_eq!(listed.sessions.len(), 2);
        assert_eq!(listed.sessions["mine"].session_id, "mine");
    }
    let update = UpdateNodeSession {
        session_id: "mine".into(),
        max_idle_time: Some(120),
        cwd: Some("/usr".into()),
        version: None,
    };
    let updated = bench.call(update).await.unwrap();
    assert_eq!((updated.updated, updated.session.max_idle_time), (true, 120_000));
    assert_eq!(updated.session.cwd, "/usr");
    assert_eq!(result(&bench.say("mine", "process.cwd()").await), "'/usr'");
    let none = bench.call(ListNodeSessions { version: Some("19".into()) }).await.unwrap();
    assert_eq!(none.sessions.len(), 0);
    let wrong = GetNodeSession { session_id: "mine".into(), version: Some("19".into()) };
    assert_eq!(bench.call(wrong).await.unwrap_err().kind(), Kind::NotFound);

    let delete = || DeleteNodeSession { session_id: "mine".into(), version: None };
    assert!(bench.call(delete()).await.unwrap().deleted);
    let error = bench.call(delete()).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (Kind::NotFound, "nodejs.session_not_found"));
    assert!(error.hint().unwrap().contains("was closed"));
}

async fn lost_state_is_told() {
    let bench = Bench::new();
    bench.say("s", "var x = 1").await;
    let (execution, hint) = bench.execute(in_session("s", "process.exit(3)")).await;
    assert_eq!((execution.status, execution.exit_code), (NodeStatus::Error, 3));
    assert!(hint.as_deref().unwrap_or_default().contains("fresh process"), "{hint:?}");
    assert_eq!(result(&bench.say("s", "typeof x").await), "'undefined'");
    bench.say("s", "var x = 2").await;
    let hurried = |code: &str| ExecuteNode { timeout: Some(1), ..in_session("s", code) };
    let (execution, hint) = bench.execute(hurried("for (;;) x++")).await;
    assert_eq!((execution.status, execution.exit_code), (NodeStatus::Timeout, 130));
    assert!(hint.as_deref().unwrap_or_default().contains("with its variables"), "{hint:?}");
    let kept = bench.say("s", "x > 2").await;
    assert_eq!((result(&kept), kept.execution_count), ("true", Some(6)));
    let (execution, hint) = bench.execute(hurried("await 1; for (;;);")).await;
    assert_eq!((execution.status, execution.exit_code), (NodeStatus::Timeout, 137));
    assert!(hint.as_deref().unwrap_or_default().contains("killed"), "{hint:?}");
    assert_eq!(result(&bench.say("s", "typeof x").await), "'undefined'");
    bench.say("s", "var old = 1; setTimeout(() => process.exit(9), 1); 1").await;
    // It may end in the middle of a call, which then fails: only the answers of a live process count.
    eventually("a fresh process", async || {
        let execution = bench.say("s", "typeof old").await;
        execution.exit_code == 0 && result(&execution) == "'undefined'"
    })
    .await;
}

async fn closing_a_session_ends_what_it_runs() {
    let bench = Arc::new(Bench::new());
    bench.say("s", "1").await;
    let running = tokio::spawn({
        let bench = Arc::clone(&bench);
        async move { bench.execute(in_session("s", "console.log('up'); for (;;);")).await }
    });
    let executing = async || {
        let found = bench.call(GetNodeSession { session_id: "s".into(), version: None }).await;
        found.is_ok_and(|found| found.session.state == NodeSessionState::Executing)
    };
    eventually("it runs", executing).await;
    let delete = DeleteNodeSession { session_id: "s".into(), version: None };
    assert!(bench.call(delete).await.unwrap().deleted);
    let (execution, hint) = running.await.unwrap();
    assert_eq!((execution.status, execution.exit_code), (NodeStatus::Error, 137));
    assert!(hint.as_deref().unwrap_or_default().contains("closed"), "{hint:?}");
    assert_eq!(result(&bench.say("s", "'another'").await), "'another'");
}

async fn time_spent_waiting_counts() {
    let bench = Arc::new(Bench::new());
    let gate = bench.workspace.path().join("gate");
    let wait = format!(
        "console.log('up'); while (!fs.existsSync('{}')) await new Promise(r => setTimeout(r, 5))",
        gate.display()
    );
    let first = tokio::spawn({
        let bench = Arc::clone(&bench);
        async move { bench.say("s", &wait).await }
    });
    let state = async || {
        let found = bench.call(GetNodeSession { session_id: "s".into(), version: None }).await;
        found.is_ok_and(|found| found.session.state == NodeSessionState::Executing)
    };
    eventually("it runs", state).await;
    let (execution, hint) =
        bench.execute(ExecuteNode { timeout: Some(1), ..in_session("s", "1") }).await;
    assert_eq!((execution.status, execution.outputs.len()), (NodeStatus::Timeout, 0));
    assert!(hint.as_deref().unwrap_or_default().contains("did not run"), "{hint:?}");
    let second = tokio::spawn({
        let bench = Arc::clone(&bench);
        async move { bench.say("s", "'second'").await }
    });
    std::fs::write(gate, "").unwrap();
    assert_eq!(first.await.unwrap().stdout, "up\n");
    assert_eq!(result(&second.await.unwrap()), "'second'");
}

async fn sessions_are_bounded() {
    let bench = Bench::with(Limits { nodejs_sessions: 2, ..Limits::default() }, std::env::vars());
    let stateful = || ExecuteNode { stateful: Some(true), ..once("1") };
    let (first, _) = bench.execute(stateful()).await;
    bench.say("named", "1").await;
    let (third, _) = bench.execute(stateful()).await;
    assert_ne!(first.session_id, third.session_id);
    let gone = GetNodeSession { session_id: first.session_id.unwrap(), version: None };
    let error = bench.call(gone).await.unwrap_err();
    assert!(error.hint().unwrap().contains("to make room"), "{error:?}");
    bench.say("another", "1").await;
    let error = bench.call(in_session("too many", "1")).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (Kind::ResourceExhausted, "nodejs.sessions_exhausted")
    );
    let (alone, _) = bench.execute(once("'programs need no session'")).await;
    assert_eq!(alone.status, NodeStatus::Ok);
}

async fn bad_input_changes_nothing() {
    let bench = Bench::new();
    let code = async |input: ExecuteNode| {
        let error = bench.call(input).await.unwrap_err();
        (error.kind(), error.code().to_owned(), error.message().to_owned())
    };
    let relative = ExecuteNode { cwd: Some("relative".into()), ..once("1") };
    assert_eq!(code(relative).await.0, Kind::InvalidInput);
    let missing = ExecuteNode { cwd: Some("/no/such/place".into()), ..in_session("s", "1") };
    assert_eq!(code(missing).await.1, "nodejs.directory");
    for name in ["../x", "/etc/x", "a/../../b", ""] {
        let files = Some(BTreeMap::from([(name.to_owned(), String::new())]));
        let (kind, _, message) = code(ExecuteNode { files, ..once("1") }).await;
        assert!(kind == Kind::InvalidInput && message.starts_with("files"), "{message}");
    }
    for version in ["latest", "3", "node3", "20.99.99"] {
        let asked = ExecuteNode { version: Some(version.into()), ..once("1") };
        let (kind, name, message) = code(asked).await;
        assert_eq!((kind, name.as_str()), (Kind::InvalidArgument, "nodejs.unknown_version"));
        assert!(message.contains(version) && message.contains("node"), "{message}");
    }
    let slash = in_session("a/b", "1");
    assert_eq!(code(slash).await.0, Kind::InvalidInput);
    assert_eq!(bench.nodes.count(), 0);
    let info = bench.call(GetNodeInfo {}).await.unwrap();
    let current = info.current_version.unwrap();
    let asked =
        ExecuteNode { version: Some(current.clone()), ..in_session("s", "process.version") };
    assert!(result(&bench.execute(asked).await.0).contains(&info.node_version));
    let other = ExecuteNode { version: Some("19".into()), ..in_session("s", "1") };
    assert_eq!(code(other).await.1, "nodejs.other_version");
}

async fn who_leaves_stops_the_code() {
    let bench = Bench::new();
    bench.say("s", "let kept = 1").await;
    let endless = bench.call(in_session("s", "for (;;) kept++"));
    assert!(tokio::time::timeout(Duration::from_millis(300), endless).await.is_err());
    assert_eq!(result(&bench.say("s", "kept > 0").await), "true");
    let marker = uuid::Uuid::new_v4().simple().to_string();
    let flag = bench.workspace.path().join(&marker);
    let program = format!("fs.writeFileSync('{}', ''); for (;;);", flag.display());
    let leaving = async {
        tokio::select! {
            _ = bench.call(once(&program)) => panic!("it cannot end"),
            () = eventually("it runs", async || flag.exists()) => {}
        }
    };
    leaving.await;
    eventually("nothing left", async || left(&bench).is_empty()).await;
}

/// What processes have left in the runtime directory; the directory of our own programs is no process's.
fn left(bench: &Bench) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(bench.runtime.path()).unwrap().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| !path.join("worker.js").exists());
    paths
}

async fn outputs_are_streamed() {
    let bench = Bench::new();
    let cx = Context::new("test");
    for input in [
        in_session("s", "console.log('a'); console.error('b'); 'c'"),
        once("console.log('a'); console.error('b'); 'c'"),
    ] {
        let events: Vec<_> = bench.nodes.stream(&cx, input).await.unwrap().collect().await;
        let names: Vec<_> = events.iter().map(|event| event.name).collect();
        assert_eq!(names, ["output", "output", "output", "completed"]);
        let mut texts: Vec<_> =
            events[..2].iter().map(|event| event.data["text"].as_str().unwrap()).collect();
        texts.sort_unstable();
        assert_eq!(texts, ["a\n", "b\n"]);
        assert_eq!(events[2].data["output_type"], "execute_result");
        assert_eq!(events[3].data["status"], "ok");
        assert_eq!(events[3].data["stdout"], "a\n");
        assert_eq!(events[3].data["outputs"].as_array().unwrap().len(), 3);
    }
    let mut events =
        bench.nodes.stream(&cx, in_session("s", "console.log('up'); for (;;);")).await.unwrap();
    assert_eq!(events.next().await.unwrap().data["text"], "up\n");
    drop(events);
    assert_eq!(result(&bench.say("s", "'free again'").await), "'free again'");
}

async fn calls_at_once_share_a_session() {
    let bench = Bench::new();
    let calls = (0..20).map(|_| bench.say("shared", "globalThis.n = (globalThis.n ?? 0) + 1"));
    let answers = futures::future::join_all(calls).await;
    let mut results: Vec<u32> = answers.iter().map(|each| result(each).parse().unwrap()).collect();
    results.sort_unstable();
    assert_eq!(results, (1..=20).collect::<Vec<_>>());
    assert_eq!(bench.nodes.count(), 1);
}

async fn packages_of_the_workspace_are_found() {
    let bench = Bench::new();
    let package = bench.workspace.path().join("node_modules/ours");
    std::fs::create_dir_all(&package).unwrap();
    std::fs::write(package.join("package.json"), r#"{"name":"ours","version":"1.2.3"}"#).unwrap();
    std::fs::write(package.join("index.js"), "module.exports = 'found'").unwrap();
    for code in ["require('ours')", "(await import('ours')).default"] {
        assert_eq!(result(&bench.execute(once(code)).await.0), "'found'", "{code}");
        assert_eq!(result(&bench.say("s", code).await), "'found'", "{code}");
    }
    let (execution, _) = bench.execute(once("import ours from 'ours'; console.log(ours)")).await;
    assert_eq!(execution.stdout, "found\n", "{execution:?}");
    let info = bench.call(GetNodeInfo {}).await.unwrap();
    assert_eq!(info.runtime_packages[0].name, "ours");
    assert_eq!((info.runtime_packages[0].version.as_str(), info.error), ("1.2.3", None));
    assert!(info.available_versions.contains(info.current_version.as_ref().unwrap()));
    assert!(info.supported_languages.contains(&"javascript".to_owned()));
    assert!(info.node_version.contains('.'), "{}", info.node_version);
}

async fn nothing_is_left_behind() {
    let bench = Bench::new();
    bench.say("a", "1").await;
    bench.say("b", "child_process.spawn('sleep', ['1000']); 1").await;
    let running = tokio::spawn({
        let nodes = Arc::clone(&bench.nodes);
        async move { nodes.handle(&Context::new("test"), once("for (;;);")).await }
    });
    eventually("a program", async || !left(&bench).is_empty()).await;
    bench.stop.cancel();
    running.await.unwrap().unwrap();
    bench.nodes.close_all().await;
    let Bench { nodes, programs, runtime, home, .. } = bench;
    drop((nodes, programs));
    eventually("an empty directory", async || {
        std::fs::read_dir(runtime.path()).unwrap().count() == 0
    })
    .await;
    drop(home);
}

async fn without_node_the_cure_is_told() {
    let bench = Bench::with(Limits::default(), std::iter::empty());
    let info = bench.call(GetNodeInfo {}).await.unwrap();
    let Some(error) = info.error else {
        // A machine with Node.js in a place that needs no search path cannot show this.
        return;
    };
    assert!(error.contains("install") && info.available_versions.is_empty());
    for input in
        [once("1"), in_session("s", "1"), ExecuteNode { version: Some("22".into()), ..once("1") }]
    {
        let error = bench.call(input).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (Kind::Unavailable, "nodejs.unavailable"));
        assert!(error.message().contains("apt-get install nodejs"), "{error}");
    }
    assert_eq!(bench.nodes.count(), 0);
}

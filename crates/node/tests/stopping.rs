//! How sessions end, what interrupts their code, and that nothing is left of them.

mod common;

use std::time::Duration;

use atoll_node::{Code, NodeError, Status};
use atoll_process::Exit;
use common::{Bench, alive_with, code, eventually, execute, marker, say};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

fn hurried(text: &str) -> Code {
    Code { deadline: Instant::now() + Duration::from_millis(300), ..code(text) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_without_end_is_broken_off_and_the_state_stays() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    say(&session, "let count = 1").await;
    let said = execute(&session, hurried("console.log('in'); while (true) { count++ }")).await;
    assert_eq!((said.finish.status, said.finish.exit), (Status::TimedOut, None), "{said:?}");
    assert_eq!(said.stdout, "in\n");
    assert_eq!(say(&session, "count > 1").await.result(), "true");
    let hostile = "({ [util.inspect.custom]() { for (;;); } })";
    let said = execute(&session, hurried(hostile)).await;
    assert_eq!((said.finish.status, said.finish.exit), (Status::TimedOut, None), "{said:?}");
    let blocked = "child_process.execSync('sleep 1000')";
    let said = execute(&session, hurried(blocked)).await;
    assert_eq!((said.finish.status, said.finish.exit), (Status::TimedOut, None), "{said:?}");
    let getter = "throw { get stack() { for (;;); }, get name() { for (;;); } }";
    let said = execute(&session, hurried(getter)).await;
    assert_eq!(said.finish.exit, None, "{said:?}");
    assert_eq!(say(&session, "typeof count").await.result(), "'number'");
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_without_end_is_given_up_and_the_state_stays() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let said = execute(&session, hurried("let kept = 3; await new Promise(() => {})")).await;
    assert_eq!((said.finish.status, said.finish.exit_code), (Status::TimedOut, 130));
    assert_eq!(said.finish.exit, None);
    let said = execute(&session, hurried("new Promise(() => {})")).await;
    assert_eq!((said.finish.status, said.finish.exit), (Status::TimedOut, None));
    assert_eq!(say(&session, "kept").await.result(), "3");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_broken_off_is_killed() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let said = execute(&session, hurried("await 1; while (true) {}")).await;
    assert_eq!(said.finish.status, Status::TimedOut);
    assert_eq!((said.finish.exit, said.finish.exit_code), (Some(Exit::Signal(9)), 137));
    eventually("the end", || !session.is_alive()).await;
    assert!(matches!(session.execute(code("1")).await, Err(NodeError::Gone)));
}

#[tokio::test(flavor = "multi_thread")]
async fn code_nobody_wants_any_more_is_interrupted() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let unwanted = CancellationToken::new();
    let spinning = Code { unwanted: unwanted.clone(), ..code("console.log('up'); for (;;);") };
    let running = session.execute(spinning).await.unwrap();
    running.outputs.next().await.unwrap();
    unwanted.cancel();
    let finish = running.finish().await.unwrap();
    assert_eq!((finish.status, finish.exit), (Status::Interrupted, None));
    assert_eq!(say(&session, "'alive'").await.result(), "'alive'");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_session_spins_while_another_works() {
    let bench = Bench::new().await;
    let (spinning, working) = (bench.session().await, bench.session().await);
    let unwanted = CancellationToken::new();
    let endless = Code { unwanted: unwanted.clone(), ..code("console.log('up'); for (;;);") };
    let running = spinning.execute(endless).await.unwrap();
    running.outputs.next().await.unwrap();
    say(&working, "var only = 'here'").await;
    assert_eq!(say(&working, "only").await.result(), "'here'");
    unwanted.cancel();
    running.finish().await.unwrap();
    assert_eq!(say(&spinning, "typeof only").await.result(), "'undefined'");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_ends_itself_says_how() {
    let bench = Bench::new().await;
    for (text, exit, code) in [
        ("console.log('last'); process.exit(3)", Exit::Code(3), 3),
        ("console.log('last'); process.exit()", Exit::Code(0), 0),
        (
            "console.log('last'); process.kill(process.pid, 'SIGSEGV'); await new Promise(() => {})",
            Exit::Signal(11),
            139,
        ),
        ("console.log('last'); process.abort()", Exit::Signal(6), 134),
    ] {
        let session = bench.session().await;
        let said = say(&session, text).await;
        assert_eq!((said.finish.exit, said.finish.exit_code), (Some(exit), code), "{said:?}");
        let status = if code == 0 { Status::Ok } else { Status::Error };
        assert_eq!((said.finish.status, said.stdout.as_str()), (status, "last\n"), "{said:?}");
        eventually("the end", || !session.is_alive()).await;
    }
    let session = bench.session().await;
    let long = "process.stdout.write('x'.repeat(150000)); process.exit(0)";
    assert_eq!(say(&session, long).await.stdout.len(), 150_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_session_started_ends_with_it_and_nothing_is_left() {
    let bench = Bench::new().await;
    let marker = marker();
    let start = format!(
        "child_process.spawn('setsid', ['sleep', '1000.{marker}'], {{ detached: true, stdio: 'ignore' }}).unref();
         child_process.exec('sleep 1000.{marker} & (setsid sleep 1000.{marker} &)'); 1"
    );
    for way in 0..3 {
        let session = bench.session().await;
        let pid = session.pid();
        assert_eq!(say(&session, &start).await.result(), "1");
        eventually("three sleepers", || alive_with(&marker).len() >= 3).await;
        match way {
            0 => session.close().await,
            1 => drop(session),
            _ => drop(say(&session, "process.exit(0)").await),
        }
        eventually("no sleeper", || alive_with(&marker).is_empty()).await;
        eventually("no process", || !std::path::Path::new(&format!("/proc/{pid}")).exists()).await;
    }
    assert_eq!(bench.left(), [""; 0].map(std::path::PathBuf::from));
    bench.tasks.close();
    tokio::time::timeout(common::LONG, bench.tasks.wait()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ends_while_idle_takes_no_more_code() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    say(&session, "setTimeout(() => process.exit(5), 1); 1").await;
    eventually("the end", || !session.is_alive()).await;
    assert!(matches!(session.execute(code("1")).await, Err(NodeError::Gone)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gigabyte_of_output_neither_stalls_nor_stays() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let flood = "const part = 'x'.repeat(1 << 20); for (let i = 0; i < 1024; i++) process.stdout.write(part); console.log('END'); 'done'";
    let said = say(&session, flood).await;
    assert_eq!(said.result(), "'done'");
    assert!(said.stdout.len() < common::LIMIT + 100, "{}", said.stdout.len());
    assert!(said.stdout.starts_with("xxx") && said.stdout.ends_with("xEND\n"));
    let left_out = (1u64 << 30) + 4 - common::LIMIT as u64;
    assert!(said.stdout.contains(&format!("[{left_out} bytes left out]")));
    let background = "setInterval(() => { for (let i = 0; i < 100; i++) process.stdout.write(part) }, 0); 'begun'";
    assert_eq!(say(&session, background).await.result(), "'begun'");
    let said = say(&session, "await new Promise(r => setTimeout(r, 50)); 'still here'").await;
    assert_eq!(said.result(), "'still here'");
    assert!(said.stdout.len() < common::LIMIT + 100, "{}", said.stdout.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_start_says_why() {
    let bench = Bench::new().await;
    let mut broken = (*bench.installation).clone();
    broken.program = "/nonexistent/node".into();
    let error = bench.node.session(&broken, bench.work.path(), &[]).await.unwrap_err();
    assert!(error.to_string().contains("/nonexistent/node"), "{error}");
    let missing = bench.work.path().join("missing");
    let error = bench.node.session(&bench.installation, &missing, &[]).await.unwrap_err();
    assert!(matches!(error, NodeError::Spawn(_)), "{error}");
    assert_eq!(bench.left(), [""; 0].map(std::path::PathBuf::from));
}

//! Sessions of real kernels: taking turns, running out of time, losing the kernel, ending.

mod common;

use std::sync::Arc;
use std::time::Duration;

use atoll_kernel::{ExecuteError, Loss, Note, Request, Session, Status};
use atoll_process::Exit;
use common::{Bench, alive_with, error, eventually, printed, request, run, start, text};

const SHORT: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn code_over_its_time_is_interrupted_and_state_is_kept() {
    let bench = Bench::new();
    let session = bench.session().await;
    run(&session, "x = 41").await;
    let endless = "print('begun')\nwhile True: pass";
    let finished = start(&session, endless, SHORT).await.finish().await;
    assert_eq!((finished.status, text(&finished).as_str()), (Status::TimedOut, "begun\n"));
    assert_eq!(error(&finished).0, "KeyboardInterrupt");
    assert_eq!(finished.notes, []);
    assert_eq!(printed(&session, "print(x + 1)").await, "42\n");
    for waiting in [
        "import time; time.sleep(1000)",
        "import asyncio; await asyncio.sleep(1000)",
        "!sleep 1000",
    ] {
        let finished = start(&session, waiting, SHORT).await.finish().await;
        assert_eq!(finished.status, Status::TimedOut, "{waiting}: {finished:?}");
        let next = run(&session, "print(x)").await;
        assert_eq!(text(&next), "41\n", "{waiting}: {finished:?}, then {next:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_ignores_the_interrupt_costs_the_kernel_but_not_the_session() {
    let bench = Bench::new();
    let session = bench.session().await;
    run(&session, "x = 1").await;
    let stubborn = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n\
                    print('kept')\nimport sys; sys.stdout.flush()\nwhile True: pass";
    let finished = start(&session, stubborn, SHORT).await.finish().await;
    assert_eq!((finished.status, text(&finished).as_str()), (Status::TimedOut, "kept\n"));
    assert_eq!(finished.notes, [Note::KernelKilled]);
    let next = run(&session, "print('x' in globals())").await;
    assert_eq!(text(&next), "False\n");
    assert_eq!(next.notes, [Note::FreshKernel(Loss::Killed)]);
    assert_eq!(run(&session, "1").await.notes, []);
    eventually("one kernel's directory", || {
        std::fs::read_dir(bench.runtime.path()).unwrap().count() == 1
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_that_dies_is_explained_and_replaced() {
    let bench = Bench::new();
    let session = bench.session().await;
    let deaths = [
        ("import os; os._exit(3)", Exit::Code(3), "exit code 3"),
        ("import ctypes; ctypes.string_at(0)", Exit::Signal(11), "SIGSEGV"),
        ("import os; os.kill(os.getpid(), 9)", Exit::Signal(9), "memory runs out"),
    ];
    for (code, exit, words) in deaths {
        let code = format!("print('before', flush=True)\nimport time; time.sleep(0.5)\n{code}");
        let finished = run(&session, &code).await;
        assert_eq!((finished.status, text(&finished).as_str()), (Status::Error, "before\n"));
        let (name, value) = error(&finished);
        assert!(name == "DeadKernelError" && value.contains(words), "{name}: {value}");
        let next = run(&session, "print('fresh')").await;
        assert_eq!(text(&next), "fresh\n");
        assert_eq!(next.notes, [Note::FreshKernel(Loss::Ended(exit))]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segfault_tells_where_it_happened() {
    let bench = Bench::new();
    let session = bench.session().await;
    let finished = run(&session, "import ctypes; ctypes.string_at(0)").await;
    let told = format!("{:?}", finished.outputs);
    assert!(told.contains("Segmentation fault"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_that_died_unwatched_is_replaced_by_the_next_execution() {
    let bench = Bench::new();
    let session = bench.session().await;
    let code = "import os, threading\nthreading.Timer(0.2, lambda: os._exit(7)).start()\nprint(os.getpid())";
    let pid = printed(&session, code).await;
    let process = std::path::PathBuf::from(format!("/proc/{}", pid.trim()));
    eventually("its death", || !process.exists()).await;
    let finished = run(&session, "print('fresh')").await;
    assert_eq!(text(&finished), "fresh\n");
    assert_eq!(finished.notes, [Note::FreshKernel(Loss::Ended(Exit::Code(7)))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn forked_children_disturb_nothing_and_end_with_the_session() {
    let bench = Bench::new();
    let session = bench.session().await;
    let forked = "import os, time\npid = os.fork()\nif pid == 0:\n  time.sleep(1000); os._exit(0)\nprint(pid)";
    let pid = printed(&session, forked).await;
    let child = std::path::PathBuf::from(format!("/proc/{}", pid.trim()));
    assert!(child.exists(), "{pid:?}");
    let ended = "pid = os.fork()\nif pid == 0: os._exit(5)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))";
    assert_eq!(printed(&session, ended).await, "5\n");
    let pool = "import multiprocessing as m\nwith m.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, -2]))";
    assert_eq!(printed(&session, pool).await, "[1, 2]\n");
    session.close().await;
    eventually("the child's end", || !child.exists()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn executions_of_one_session_take_turns_in_order() {
    let bench = Bench::new();
    let session = Arc::new(bench.session().await);
    run(&session, "order = []").await;
    let mut running = Vec::new();
    for turn in 0..8 {
        let busy = Arc::clone(&session);
        let (queued, mut waits) = tokio::sync::oneshot::channel();
        running.push(tokio::spawn(async move {
            let code = format!("import time; time.sleep(0.05); order.append({turn})");
            let mut execute = Box::pin(busy.execute(request(&code)));
            // Polled once, it stands in the queue.
            let first = futures_poll(&mut execute).await;
            queued.send(()).unwrap();
            let execution = match first {
                Some(execution) => execution,
                None => execute.await,
            };
            execution.unwrap().finish().await
        }));
        (&mut waits).await.unwrap();
    }
    for task in running {
        assert_eq!(task.await.unwrap().status, Status::Ok);
    }
    assert_eq!(printed(&session, "print(order)").await, "[0, 1, 2, 3, 4, 5, 6, 7]\n");
}

/// The future's result if it is there at once.
async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|cx| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(cx) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_others_too_long_is_an_error_of_its_own() {
    let bench = Bench::new();
    let session = bench.session().await;
    let running = start(&session, "import time; time.sleep(1000)", common::LONG).await;
    let waiting = session.execute(Request { timeout: SHORT, ..request("1") }).await;
    assert!(matches!(waiting, Err(ExecuteError::Busy(SHORT))), "{waiting:?}");
    assert!(session.busy());
    drop(running);
    // Abandoned code is interrupted, and the kernel with its state is free again.
    assert_eq!(run(&session, "1").await.status, Status::Ok);
    eventually("an unused session", || !session.busy()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_whose_caller_left_is_interrupted_at_once_even_if_it_had_hardly_begun() {
    let bench = Bench::new();
    let session = bench.session().await;
    run(&session, "x = 5").await;
    for _ in 0..10 {
        drop(start(&session, "while True: pass", common::LONG).await);
        let finished = run(&session, "print(x)").await;
        assert_eq!((text(&finished).as_str(), finished.notes), ("5\n", vec![]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_independent_and_run_at_once() {
    let bench = Bench::new();
    let sessions = [bench.session().await, bench.session().await];
    run(&sessions[0], "x = 'first'").await;
    let other = run(&sessions[1], "print('x' in globals())").await;
    assert_eq!(text(&other), "False\n");
    // Each waits for a file the other makes: one after the other they would never end.
    let meet = |own: &str, other: &str| {
        format!(
            "import os, time\nopen('{own}', 'w').close()\n\
             while not os.path.exists('{other}'): time.sleep(0.01)\nprint('met')"
        )
    };
    let (a_b, b_a) = (meet("a", "b"), meet("b", "a"));
    let (first, second) = tokio::join!(printed(&sessions[0], &a_b), printed(&sessions[1], &b_a));
    assert_eq!((first.as_str(), second.as_str()), ("met\n", "met\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_directory_is_where_it_was_started_and_changes_like_cd() {
    let bench = Bench::new();
    let session = bench.session().await;
    let home = bench.home.path().canonicalize().unwrap();
    let there = home.join("it's \"there\" é😀\\n");
    std::fs::create_dir(&there).unwrap();
    let ask = "import os; print(os.getcwd())";
    assert_eq!(printed(&session, ask).await.trim_end(), home.to_str().unwrap());
    let moved = Request { directory: Some(there.clone()), ..request(ask) };
    let finished = session.execute(moved).await.unwrap().finish().await;
    assert_eq!(text(&finished).trim_end(), there.to_str().unwrap());
    assert_eq!(finished.execution_count, Some(2), "changing the directory leaves no trace");
    assert_eq!(printed(&session, ask).await.trim_end(), there.to_str().unwrap());
    let nowhere = Request { directory: Some(home.join("nowhere")), ..request(ask) };
    let refused = session.execute(nowhere).await;
    assert!(
        matches!(&refused, Err(ExecuteError::Directory(reason)) if reason.contains("No such file")),
        "{refused:?}"
    );
    assert_eq!(run(&session, "1").await.status, Status::Ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_session_leaves_no_process_and_no_file() {
    let bench = Bench::new();
    let session = Arc::new(bench.session().await);
    let word = bench.home.path().file_name().unwrap().to_str().unwrap().to_owned();
    let code = format!(
        "import subprocess, atexit, os\nfor _ in range(2): subprocess.Popen(['sleep', '1000', '{word}'] if False else ['bash', '-c', 'sleep 1000 & wait', '{word}'], start_new_session=True)\n\
         atexit.register(lambda: open('said goodbye', 'w').close())"
    );
    run(&session, &code).await;
    eventually("its processes", || alive_with(&word).len() >= 2).await;
    session.close().await;
    eventually("no process", || alive_with(&word).is_empty()).await;
    assert!(bench.is_clean());
    assert!(bench.home.path().join("said goodbye").exists(), "its exit handlers were not run");
    let refused = session.execute(request("1")).await;
    assert!(matches!(refused, Err(ExecuteError::Closed)), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_running_and_waiting_code() {
    let bench = Bench::new();
    let session = Arc::new(bench.session().await);
    let running =
        start(&session, "print('begun', flush=True)\nwhile True: pass", common::LONG).await;
    let waiting = tokio::spawn({
        let session = Arc::clone(&session);
        async move { session.execute(request("1")).await.map(|_| ()) }
    });
    eventually("two uses", || session.busy()).await;
    session.close().await;
    let finished = running.finish().await;
    assert_eq!(error(&finished).0, "DeadKernelError");
    assert!(error(&finished).1.contains("deleted"));
    let waited = waiting.await.unwrap();
    assert!(matches!(waited, Err(ExecuteError::Closed)), "{waited:?}");
    assert!(bench.is_clean());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_session_ends_its_kernel() {
    let bench = Bench::new();
    let session = bench.session().await;
    let pid = printed(&session, "import os; print(os.getpid())").await;
    let process = std::path::PathBuf::from(format!("/proc/{}", pid.trim()));
    assert!(process.exists());
    drop(session);
    eventually("its end", || !process.exists()).await;
    eventually("no file", || bench.is_clean()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_that_dies_at_start_is_explained_with_its_last_words() {
    let bench = Bench::new();
    let directory = bench.home.path().join(".local/share/jupyter/kernels/broken");
    std::fs::create_dir_all(&directory).unwrap();
    let spec =
        r#"{"argv": ["/bin/sh", "-c", "echo no such module >&2; exit 4"], "language": "python"}"#;
    std::fs::write(directory.join("kernel.json"), spec).unwrap();
    let spec = bench.catalogue().find("broken").await.unwrap();
    let session = Session::new(&bench.host, Arc::new(spec), bench.home.path().to_owned());
    let error = session.execute(request("1")).await.unwrap_err().to_string();
    assert!(error.contains("exit code 4") && error.contains("no such module"), "{error}");
    assert!(bench.is_clean());
}

//! What code puts out, from real kernels.

mod common;

use atoll_kernel::{Event, Note, Output, OutputLimits, Request, Status};
use common::{Bench, error, peak_memory, printed, request, run, text};

#[tokio::test(flavor = "multi_thread")]
async fn an_expression_is_answered_and_state_is_kept() {
    let bench = Bench::new();
    let session = bench.session().await;
    let first = run(&session, "x = 20\nx + 1").await;
    assert_eq!((first.status, first.execution_count), (Status::Ok, Some(1)));
    let [Output::Result(result)] = &first.outputs[..] else { panic!("{first:?}") };
    assert_eq!((result.data["text/plain"].as_str(), result.execution_count), (Some("21"), Some(1)));
    let second = run(&session, "print(x * 2)").await;
    assert_eq!((text(&second).as_str(), second.execution_count), ("40\n", Some(2)));
    assert_eq!(second.notes, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_come_in_order_and_chunks_are_joined() {
    let bench = Bench::new();
    let session = bench.session().await;
    let finished = run(
        &session,
        "import sys\nfor i in range(3): print(i, flush=True)\nprint('oops', file=sys.stderr, flush=True)\n\
         from IPython.display import HTML, display\ndisplay(HTML('<b>hi</b>'))\nprint('end')\n'value'",
    )
    .await;
    let [
        Output::Stream { name: out, text: numbers },
        Output::Stream { name: err, .. },
        Output::Display(html),
        Output::Stream { text: end, .. },
        Output::Result(value),
    ] = &finished.outputs[..]
    else {
        panic!("{finished:?}")
    };
    assert_eq!((out.as_str(), numbers.as_str(), err.as_str()), ("stdout", "0\n1\n2\n", "stderr"));
    assert_eq!(html.data["text/html"], "<b>hi</b>");
    assert_eq!((end.as_str(), &value.data["text/plain"]), ("end\n", &"'value'".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_programs_print_past_python_is_not_lost() {
    let bench = Bench::new();
    let session = bench.session().await;
    run(&session, "import subprocess, os").await;
    for turn in 0..100 {
        let finished = run(&session, &format!("r = subprocess.run(['echo', 'turn {turn}'])")).await;
        assert_eq!(text(&finished), format!("turn {turn}\n"), "{finished:?}");
    }
    let finished = run(&session, "n = os.write(1, b'raw\\n')").await;
    assert_eq!(text(&finished), "raw\n");
    assert_eq!(printed(&session, "!echo shell").await.trim(), "shell");
    let ordered = "print('a'); r = subprocess.run(['echo', 'b']); print('c')";
    for _ in 0..50 {
        assert_eq!(printed(&session, ordered).await, "a\nb\nc\n");
    }
    // Characters that lie across two reads of a pipe stay whole.
    let finished = run(&session, "n = os.write(1, b'x' + 'é'.encode() * 300_000)").await;
    assert_eq!(text(&finished), format!("x{}", "é".repeat(300_000)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exception_has_its_name_message_and_traceback_and_the_session_goes_on() {
    let bench = Bench::new();
    let session = bench.session().await;
    for _ in 0..3 {
        let finished = run(&session, "print('before')\n1 / 0").await;
        assert_eq!(finished.status, Status::Error);
        assert_eq!(text(&finished), "before\n");
        let Some(Output::Error { name, value, traceback }) = finished.outputs.last() else {
            panic!("{finished:?}")
        };
        assert_eq!((name.as_str(), value.as_str()), ("ZeroDivisionError", "division by zero"));
        assert!(traceback.iter().any(|line| line.contains("ZeroDivisionError")));
        assert_eq!(printed(&session, "print('after')").await, "after\n");
    }
    let finished = run(&session, "this is no Python").await;
    assert_eq!(error(&finished).0, "SyntaxError");
}

#[tokio::test(flavor = "multi_thread")]
async fn displays_are_updated_and_cleared() {
    let bench = Bench::new();
    let session = bench.session().await;
    let finished = run(
        &session,
        "from IPython.display import display, clear_output\nprint('gone'); clear_output()\n\
         handle = display('0 %', display_id=True)\nprint('kept')\nhandle.update('100 %')",
    )
    .await;
    let [Output::Display(shown), Output::Stream { text, .. }] = &finished.outputs[..] else {
        panic!("{finished:?}")
    };
    assert_eq!((&shown.data["text/plain"], text.as_str()), (&"'100 %'".into(), "kept\n"));
    let later = run(&session, "handle.update('later')").await;
    assert!(
        matches!(&later.outputs[..], [Output::Display(shown)] if shown.data["text/plain"] == "'later'")
    );
    let kept = run(&session, "print('old'); clear_output(wait=True)").await;
    assert_eq!(common::text(&kept), "old\n");
    let replaced = run(&session, "print('old'); clear_output(wait=True); print('new')").await;
    assert_eq!(common::text(&replaced), "new\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plot_is_a_picture_in_base64() {
    let bench = Bench::new();
    let session = bench.session().await;
    let code = "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()";
    let finished = run(&session, code).await;
    let picture = finished.outputs.iter().find_map(|output| match output {
        Output::Display(shown) => shown.data.get("image/png"),
        _ => None,
    });
    let picture = picture.and_then(|picture| picture.as_str()).unwrap();
    assert!(picture.starts_with("iVBORw0KGgo"), "{finished:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn asking_for_input_is_a_clear_error_and_not_a_hang() {
    let bench = Bench::new();
    let session = bench.session().await;
    let finished = run(&session, "name = input('name? ')").await;
    assert_eq!(finished.status, Status::Error);
    assert_eq!(error(&finished).0, "StdinNotImplementedError");
    assert_eq!(finished.notes, [Note::NoInput]);
}

#[tokio::test(flavor = "multi_thread")]
async fn help_is_shown_although_it_is_no_output() {
    let bench = Bench::new();
    let session = bench.session().await;
    let finished = run(&session, "len?").await;
    assert!(matches!(&finished.outputs[..], [Output::Display(shown)]
        if shown.data["text/plain"].as_str().is_some_and(|help| help.contains("Return the number"))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gigabyte_is_printed_in_bounded_memory_and_both_ends_are_kept() {
    let bench = Bench::new();
    let session = bench.session().await;
    run(&session, "line = 'x' * (1 << 20) + '\\n'").await;
    let before = peak_memory();
    let finished = run(
        &session,
        "print('first')\nfor _ in range(1 << 10): print(line, end='')\nprint('last')",
    )
    .await;
    assert_eq!(finished.status, Status::Ok);
    let printed = text(&finished);
    assert!(printed.starts_with("first\nxxx"), "{:?}", &printed[..100]);
    assert!(printed.ends_with("xxx\nlast\n"), "{:?}", &printed[printed.len() - 100..]);
    assert!(printed.len() < 2_100_000, "{}", printed.len());
    assert!(matches!(finished.notes[..], [Note::Cut(left_out)] if left_out > 1_000_000_000));
    // What a kernel has not got rid of yet it holds itself, at the most once; how much that is depends on the machine.
    let own = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)";
    let kilobytes: u64 = common::printed(&session, own).await.trim().parse().unwrap();
    assert!(kilobytes < 1_300_000, "the kernel grew to {kilobytes} kB");
    // In one piece as well: what no buffer could hold is passed over.
    let finished = run(&session, "print('y' * (200 << 20))\n'value'").await;
    assert_eq!(finished.status, Status::Ok);
    assert!(text(&finished).starts_with("yyy") && text(&finished).len() < 2_100_000);
    assert!(matches!(finished.outputs.last(), Some(Output::Result(_))));
    let grown = peak_memory() - before;
    assert!(grown < 300 << 20, "grew by {grown} bytes");
    assert_eq!(common::printed(&session, "print('still here')").await, "still here\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_over_the_bound_is_left_out_and_named() {
    let limits = OutputLimits { text_bytes: 100_000, rich_bytes: 100_000 };
    let bench = Bench::with_limits(limits);
    let session = bench.session().await;
    for size in [200_000, 5_000_000] {
        let code = format!(
            "from IPython.display import display\ndisplay({{'image/png': 'A' * {size}}}, raw=True)"
        );
        let finished = run(&session, &code).await;
        let [Output::Display(shown)] = &finished.outputs[..] else { panic!("{finished:?}") };
        let said = shown.data["text/plain"].as_str().unwrap();
        assert!(said.ends_with("bytes left out]"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_is_followed_as_it_comes() {
    let bench = Bench::new();
    let session = bench.session().await;
    let gate = bench.home.path().join("gate");
    let code = "print('one', flush=True)\nimport os, time\n\
                while not os.path.exists('gate'): time.sleep(0.01)\nprint('two'); 3";
    let execution = session.execute(Request { followed: true, ..request(code) }).await.unwrap();
    // The code ends only after its first line was seen here.
    assert_eq!(execution.events().await, [stream("one\n")]);
    std::fs::write(&gate, "").unwrap();
    let mut events = Vec::new();
    loop {
        let more = execution.events().await;
        if more.is_empty() {
            break;
        }
        events.extend(more);
    }
    assert_eq!(events[0], stream("two\n"));
    assert!(
        matches!(&events[1], Event::Output(Output::Result(three)) if three.data["text/plain"] == "3")
    );
    assert_eq!(execution.finish().await.status, Status::Ok);
}

fn stream(text: &str) -> Event {
    Event::Output(Output::Stream { name: "stdout".to_owned(), text: text.to_owned() })
}

#[tokio::test(flavor = "multi_thread")]
async fn output_after_the_end_is_reported_by_the_next_execution() {
    let bench = Bench::new();
    let session = bench.session().await;
    let code = "import threading, os, time\ndef late():\n while not os.path.exists('gate'): time.sleep(0.01)\n print('late')\n open('said', 'w')\n\
                thread = threading.Thread(target=late); thread.start()";
    assert_eq!(run(&session, code).await.status, Status::Ok);
    std::fs::write(bench.home.path().join("gate"), "").unwrap();
    common::eventually("it was said", || bench.home.path().join("said").exists()).await;
    let mut notes = Vec::new();
    while notes.is_empty() {
        let finished = run(&session, "thread.join()").await;
        assert_eq!(text(&finished), "");
        notes = finished.notes;
    }
    assert!(matches!(notes[..], [Note::LateOutput(bytes)] if bytes > 0), "{notes:?}");
}

//! Live shells in terminals.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use atoll_process::{Job, JobState, Outcome, Submission, Terminal, TerminalSettings, WindowSize};
use common::{Bench, alive_with_marker, eventually, marker};

async fn open(bench: &Bench) -> Terminal {
    let settings = TerminalSettings {
        shell: "/bin/bash".into(),
        environment: Bench::environment(),
        directory: bench.directory.path().to_owned(),
        keep_links: false,
        runtime_dir: bench.directory.path().to_owned(),
        log: bench.log_settings(),
        input_queue_bytes: 1 << 20,
        queue: 1000,
        size: WindowSize { columns: 80, rows: 24 },
    };
    Terminal::open(&bench.spawner, settings).await.unwrap()
}

async fn submit(terminal: &Terminal, command: &str) -> Arc<Job> {
    terminal.submit(Submission { command: command.into(), ..Submission::default() }).await.unwrap()
}

fn output(terminal: &Terminal, job: &Job) -> String {
    let JobState::Done { start, end, .. } = job.state() else {
        panic!("not done: {:?}", job.state())
    };
    let chunk = terminal.log().read(start, usize::try_from(end - start).unwrap());
    assert_eq!(chunk.offset, start);
    terminal.clean(&chunk.bytes)
}

/// Runs a command to its end: output and code.
async fn run(terminal: &Terminal, command: &str) -> (String, Option<i32>) {
    let job = submit(terminal, command).await;
    let JobState::Done { code, .. } = job.done().await else { panic!() };
    (output(terminal, &job), code)
}

#[tokio::test(flavor = "multi_thread")]
async fn output_is_exact_and_state_persists() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    let cases = [
        ("echo hello", "hello\n", 0),
        ("printf 'no newline'", "no newline", 0),
        ("cd /usr && export A=1 && f() { echo f$A; }", "", 0),
        ("pwd; f; (exit 9)", "/usr\nf1\n", 9),
        ("echo $?", "9\n", 0),
        ("declare -i n=5; n+=2", "", 0),
        ("echo $n", "7\n", 0),
        ("cat <<EOF\na 'b' \"c\" $A\nEOF", "a 'b' \"c\" 1\n", 0),
        ("for i in 1 2; do\n  echo $i\ndone\n", "1\n2\n", 0),
        ("return 6", "", 6),
        ("echo out; echo err >&2; false", "out\nerr\n", 1),
        ("# only a comment", "", 0),
        ("", "", 0),
        ("printf 'a\\tb\\033[31mred\\033[0m\\n'", "a\tbred\n", 0),
        ("echo 日本 €😀", "日本 €😀\n", 0),
    ];
    for (command, text, code) in cases {
        assert_eq!(run(&terminal, command).await, (text.to_owned(), Some(code)), "{command}");
    }
    assert_eq!(terminal.directory(), std::path::Path::new("/usr"));
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_in_a_command_return_and_the_session_lives() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    for command in ["echo \"unbalanced", "if true; then", "echo )", "for", "cat <<EOF\nno end"] {
        let (_, code) = run(&terminal, command).await;
        assert!(code.is_some(), "{command}");
    }
    assert_eq!(run(&terminal, "echo alive").await, ("alive\n".into(), Some(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_that_dies_tells_its_code_and_is_replaced() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    run(&terminal, "cd /usr").await;
    let cases = [
        ("echo bye; exit 3", "bye\n", 3),
        ("exec true", "", 0),
        ("exec sh -c 'echo other; exit 4'", "other\n", 4),
        ("kill -9 $$", "", 137),
        ("set -e; echo before; false; echo after", "before\n", 1),
        ("trap 'echo trapped' EXIT; exit 5", "trapped\n", 5),
    ];
    for (command, text, code) in cases {
        assert_eq!(run(&terminal, command).await, (text.to_owned(), Some(code)), "{command}");
        assert_eq!(run(&terminal, "echo alive; pwd").await.0, "alive\n/usr\n", "after {command}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_handed_to_a_shell_that_is_about_to_die_runs_in_the_next_one() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    for deadly in ["PROMPT_COMMAND=exit", "PROMPT_COMMAND='kill -9 $$'", "exec <&-"] {
        // The next one waits already when the shell says that it prompts, which is the last thing it says.
        let first = submit(&terminal, deadly).await;
        let second = submit(&terminal, "echo hello; (exit 42)").await;
        let JobState::Done { code, .. } = second.done().await else { panic!() };
        assert_eq!((output(&terminal, &second).as_str(), code), ("hello\n", Some(42)), "{deadly}");
        assert!(matches!(first.state(), JobState::Done { code: Some(0), .. }), "{deadly}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_left_behind_do_not_disturb_later_commands() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    for setting in [
        "stty -echo",
        "stty raw",
        "set -u",
        "PS1='odd $ '",
        "exec 2>&1",
        "set -o vi",
        "stty sane",
        "trap 'true' DEBUG",
        "PROMPT_COMMAND='echo noise'",
        "unset PROMPT_COMMAND PS0",
        "PROMPT_COMMAND=(true :)",
        "readonly PROMPT_COMMAND=:",
    ] {
        run(&terminal, setting).await;
        assert_eq!(
            run(&terminal, "echo fine; (exit 8)").await,
            ("fine\n".into(), Some(8)),
            "{setting}"
        );
    }
    let file = bench.path("redirected");
    run(&terminal, &format!("exec 3>&1 >{}", file.display())).await;
    assert_eq!(run(&terminal, "echo to the file").await, (String::new(), Some(0)));
    run(&terminal, "exec >&3").await;
    assert_eq!(std::fs::read_to_string(file).unwrap(), "to the file\n");
    run(&terminal, "trap - DEBUG; set -x").await;
    assert_eq!(run(&terminal, "echo traced").await, ("+++ echo traced\ntraced\n".into(), Some(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_jobs_at_once_keep_their_own_output_and_code() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    let mut jobs = Vec::new();
    for number in 0..100 {
        jobs.push(
            submit(&terminal, &format!("echo start {number}; echo end {number}; (exit {number})"))
                .await,
        );
    }
    for (number, job) in jobs.iter().enumerate() {
        let JobState::Done { code, .. } = job.done().await else { panic!() };
        assert_eq!(code, Some(i32::try_from(number).unwrap()));
        assert_eq!(output(&terminal, job), format!("start {number}\nend {number}\n"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn printed_marks_fool_nobody() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    let tricks = [
        "printf '\\033]133;E;0123456789abcdef0123456789abcdef;0\\007'",
        "printf '\\033]133;A;;0\\007\\033]133;E'",
        "echo -e \"$(set)\" >/dev/null; echo -e \"$(set | grep -a atoll)\"",
        "echo -e \"$PS0$PS1$PROMPT_COMMAND\"; echo -e \"$(declare -f)\"",
        "env",
    ];
    for trick in tricks {
        let (text, code) = run(&terminal, &format!("{trick}; echo; echo last; (exit 11)")).await;
        assert!(text.ends_with("\nlast\n"), "{trick}: {text:?}");
        assert_eq!(code, Some(11), "{trick}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_reads_gets_what_is_typed_and_nothing_of_ours() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    let reader = submit(&terminal, "read -r line; echo \"got $line\"").await;
    let next = submit(&terminal, "echo next").await;
    let mut state = reader.watch();
    state.wait_for(|state| matches!(state, JobState::Running { .. })).await.unwrap();
    terminal.write(b"typed text\r").unwrap();
    reader.done().await;
    assert!(output(&terminal, &reader).ends_with("got typed text\n"));
    next.done().await;
    assert_eq!(output(&terminal, &next), "next\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_typed_by_hand_is_respected() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    run(&terminal, "true").await;
    terminal.write(b"read held < fifo; echo by $held\r").unwrap();
    eventually("the typed line runs", || terminal.busy()).await;
    let job = submit(&terminal, "echo after").await;
    assert_eq!(job.state(), JobState::Queued);
    std::fs::write(bench.path("fifo"), "hand\n").unwrap();
    job.done().await;
    assert_eq!(output(&terminal, &job), "after\n");
    let log = terminal.log().read_text(0, 100_000).text;
    assert!(log.contains("by hand") && !log.contains("133;"), "{log:?}");
    // A line begun but not entered is given up.
    terminal.write(b"rm -rf half-typed").unwrap();
    assert_eq!(run(&terminal, "echo clean").await, ("clean\n".into(), Some(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn killing_a_job_leaves_nothing_of_it_and_everything_else() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    let (kept, lost) = (marker(), marker());
    run(&terminal, &format!("keep=1; sleep 1000.{kept} &")).await;
    let commands = [
        format!("sleep 1000.{lost}; sleep 1001.{lost}"),
        format!(
            "(setsid nohup bash -c 'trap \"\" INT TERM; sleep 1000.{lost}' &) ; trap '' INT; sleep 1000.{lost}"
        ),
        format!("while :; do sleep 1000.{lost}; done"),
        format!("sleep 1000.{lost} & while :; do :; done"),
        format!("bash -c 'trap \"\" INT; while :; do sleep 1000.{lost}; done'"),
    ];
    for command in &commands {
        let job = submit(&terminal, command).await;
        eventually("it runs", || !alive_with_marker(&lost).is_empty()).await;
        terminal.kill(&job, Outcome::TimedOut).await;
        let JobState::Done { outcome, .. } = job.state() else {
            panic!("{command}: {:?}", job.state())
        };
        assert_eq!(outcome, Outcome::TimedOut);
        assert_eq!(alive_with_marker(&lost), Vec::<i32>::new(), "{command}");
        run(&terminal, "trap - INT").await;
    }
    assert_eq!(run(&terminal, "echo $keep").await, ("1\n".into(), Some(0)));
    assert_eq!(alive_with_marker(&kept).len(), 1);
    terminal.close().await;
    assert_eq!(alive_with_marker(&kept), Vec::<i32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_that_cannot_be_interrupted_is_replaced() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    let job = submit(&terminal, "trap '' INT; while :; do :; done").await;
    let mut state = job.watch();
    state.wait_for(|state| matches!(state, JobState::Running { .. })).await.unwrap();
    terminal.kill(&job, Outcome::Killed).await;
    assert!(matches!(job.state(), JobState::Done { outcome: Outcome::Killed, .. }));
    assert_eq!(run(&terminal, "echo alive").await, ("alive\n".into(), Some(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn background_jobs_return_at_once_and_are_heard_later() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    let (text, code) = run(&terminal, "(read x < fifo; echo late $x) & echo hi").await;
    assert_eq!((text.as_str(), code), ("hi\n", Some(0)));
    let offset = terminal.log().progress().end;
    std::fs::write(bench.path("fifo"), "again\n").unwrap();
    eventually("late output", || {
        terminal.log().read_text(offset.saturating_sub(50), 10_000).text.contains("late again")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn environment_and_directory_of_a_job() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    run(&terminal, "export KEPT=old").await;
    let environment =
        BTreeMap::from([("KEPT".into(), "it's $new".into()), ("FRESH".into(), "x\ny".into())]);
    let job = terminal
        .submit(Submission {
            command: "echo \"$KEPT|$FRESH\"; env | grep -c '^KEPT=it'".into(),
            directory: Some(("/usr/bin".into(), false)),
            environment,
        })
        .await
        .unwrap();
    job.done().await;
    assert_eq!(output(&terminal, &job), "it's $new|x\ny\n1\n");
    assert_eq!(
        run(&terminal, "echo \"$KEPT|${FRESH-unset}\"; env | grep ^KEPT").await.0,
        "old|unset\nKEPT=old\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_megabyte_of_command_and_binary_output() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    let long = format!("x={}; echo ${{#x}}", "a".repeat(1 << 20));
    assert_eq!(run(&terminal, &long).await, (format!("{}\n", 1 << 20), Some(0)));
    let (_, code) = run(&terminal, "head -c 100000 /dev/urandom; (exit 12)").await;
    assert_eq!(code, Some(12));
    assert_eq!(run(&terminal, "echo alive").await, ("alive\n".into(), Some(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn full_screen_programs_render_and_sizes_change() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    let job = submit(&terminal, "seq 1000 | less").await;
    eventually("less draws", || {
        terminal.screen().is_some_and(|screen| screen.contains("10\n11\n"))
    })
    .await;
    terminal.write(b"q").unwrap();
    job.done().await;
    assert_eq!(terminal.screen(), None);
    terminal.resize(WindowSize { columns: 123, rows: 45 }).await.unwrap();
    assert_eq!(run(&terminal, "stty size").await.0, "45 123\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_that_question_the_terminal_are_answered_while_none_is_attached() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    let ask = "stty raw -echo; printf '\\033[6n'; IFS= read -r -d R reply; stty sane; printf '%s' \"${reply#*[}\" | grep -c ';'";
    assert_eq!(run(&terminal, ask).await.0.lines().last(), Some("1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_whose_start_up_always_fails_ends_the_session_with_the_reason() {
    let bench = Bench::new();
    std::fs::write(bench.path(".bashrc"), "exit 41\n").unwrap();
    let settings = TerminalSettings {
        shell: "/bin/bash".into(),
        environment: {
            let mut environment = Bench::environment();
            environment.insert("HOME".into(), bench.directory.path().display().to_string());
            environment
        },
        directory: "/".into(),
        keep_links: false,
        runtime_dir: bench.directory.path().to_owned(),
        log: bench.log_settings(),
        input_queue_bytes: 1 << 20,
        queue: 10,
        size: WindowSize { columns: 80, rows: 24 },
    };
    let terminal = Terminal::open(&bench.spawner, settings).await.unwrap();
    eventually("it gives up", || terminal.end_reason().is_some_and(|reason| reason.contains("41")))
        .await;
    assert!(terminal.submit(Submission::default()).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_kills_waiting_and_running_jobs_and_cleans_up() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    let running = submit(&terminal, "sleep 1000").await;
    let waiting = submit(&terminal, "echo never").await;
    terminal.close().await;
    for job in [running, waiting] {
        assert!(matches!(job.state(), JobState::Done { outcome: Outcome::Killed, .. }));
    }
    let left: Vec<_> = std::fs::read_dir(bench.directory.path())
        .unwrap()
        .flatten()
        .map(|e| e.file_name())
        .collect();
    assert_eq!(left, ["fifo"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_bash_says_of_killed_jobs_does_not_get_into_the_next_output() {
    let bench = Bench::new();
    let terminal = open(&bench).await;
    for _ in 0..15 {
        let lost = marker();
        let stubborn = format!("bash -c \"trap '' TERM INT HUP; sleep 1000.{lost}; true\"");
        let job = submit(&terminal, &format!("{stubborn} & {stubborn} & sleep 1000.{lost}")).await;
        eventually("all run", || alive_with_marker(&lost).len() >= 5).await;
        terminal.kill(&job, Outcome::TimedOut).await;
        assert_eq!(run(&terminal, "echo clean; (exit 42)").await, ("clean\n".into(), Some(42)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_runs_out_of_memory_is_told_apart_and_the_shell_lives() {
    const MEMORY: u64 = 96 << 20;
    const HOG: &str = "dd if=/dev/zero of=/dev/null bs=400M count=1 2>/dev/null";
    let mut bench = Bench::new();
    let by_group = bench.spawner.enforcement().memory_by_group;
    bench.spawner = bench.spawner.confined(atoll_process::Confinement {
        memory_bytes: Some(MEMORY),
        ..atoll_process::Confinement::default()
    });
    let terminal = open(&bench).await;
    for _ in 0..2 {
        run(&terminal, "kept=here").await;
        let job = submit(&terminal, HOG).await;
        let JobState::Done { code, .. } = job.done().await else { panic!() };
        let expected = if by_group { (Some(137), Some(MEMORY)) } else { (Some(1), None) };
        assert_eq!((code, job.starved()), expected);
        let job = submit(&terminal, "echo $kept; exit_code() { return 137; }; exit_code").await;
        job.done().await;
        assert_eq!((output(&terminal, &job).as_str(), job.starved()), ("here\n", None));
    }
    if by_group {
        // The shell itself is the one that wants too much, and another takes its place.
        let job = submit(&terminal, r"text=$(head -c 200000000 /dev/zero | tr '\0' x)").await;
        let JobState::Done { code, .. } = job.done().await else { panic!() };
        assert_eq!((code, job.starved()), (Some(137), Some(MEMORY)));
    }
    assert_eq!(run(&terminal, "echo usable").await.0, "usable\n");
    let end = terminal.log().progress().end;
    let said = terminal.log().read(end.saturating_sub(2000), 2000).bytes;
    let said = String::from_utf8_lossy(&said);
    assert_eq!(said.contains("ran out of memory"), by_group, "{said}");
}

//! A disk that a session has filled: others work on as far as they need no space, what needs some is refused by name,
//! nothing is lost without a word, and all is well again when there is space.

use atoll_api::bash::ExecBash;
use atoll_api::shell::{CloseShell, CreateShell, ExecShell};
use atoll_testkit::Server;
use serde_json::{Value, json};

use crate::wire::Line;
use crate::{PROGRAM, bash, output};

/// The mounts a server has for itself, as root or as another user.
fn namespace() -> Vec<&'static str> {
    let mut words = vec!["unshare", "--mount"];
    if !rustix::process::geteuid().is_root() {
        words.extend(["--user", "--map-root-user"]);
    }
    words
}

/// A server whose home and private directory are a small disk of their own, with its audit log there too.
async fn on_a_small_disk(options: &str) -> Option<Server> {
    let mount = format!("mount -t tmpfs -o {options} tmpfs \"$HOME\"; cd \"$HOME\"; exec \"$@\"");
    let probe = std::process::Command::new(namespace()[0])
        .args(&namespace()[1..])
        .args(["mount", "-t", "tmpfs", "tmpfs", "/mnt"])
        .output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!("not tested: this user may not mount anything, not even for itself");
        return None;
    }
    let mut wrapper = namespace();
    wrapper.extend(["sh", "-ec", &mount, "sh"]);
    let builder = Server::builder(PROGRAM).wrapper(&wrapper);
    let home = builder.home();
    let builder = builder.argument("--runtime-dir").argument(&home);
    let builder = builder.argument("--audit-log").argument(home.join("audit.jsonl"));
    Some(builder.start().await)
}

async fn post(line: &mut Line, path: &str, body: &Value) -> Value {
    let answer = line.send("POST", path, "", &body.to_string()).await;
    assert!(answer.status < 500 || answer.status == 503, "{path}: {answer:?}");
    let (_, body) = answer.text.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).expect("JSON")
}

/// What works without space works; what does not says so.
async fn work_without_space(server: &Server) {
    let client = server.client();
    let mut line = Line::to(server);
    assert_eq!(line.ask("GET", "/health", "").await.status, 200);
    assert_eq!(output(&client, "echo still here").await, "still here\n");
    let write = json!({"file": "~/new", "content": "x".repeat(100_000)});
    let refused = post(&mut line, "/v1/file/write", &write).await;
    assert_eq!(refused["success"], false, "{refused}");
    assert!(refused["message"].to_string().to_lowercase().contains("space"), "{refused}");
    // Too long for an argument, so that it must lie in a file.
    let long = json!({"command": format!(": {}; echo ran", "x".repeat(200_000))});
    let refused = post(&mut line, "/v1/bash/exec", &long).await;
    assert_eq!(refused["success"], false, "{refused}");
    assert!(refused["message"].to_string().to_lowercase().contains("space"), "{refused}");
    let refused = post(&mut line, "/v1/shell/sessions/create", &json!({"id": "none"})).await;
    assert_eq!(refused["success"], false, "{refused}");
    assert!(refused["message"].to_string().to_lowercase().contains("space"), "{refused}");
}

async fn work_again(server: &Server) {
    let client = server.client();
    let shell = CreateShell { id: Some("again".to_owned()), ..CreateShell::default() };
    client.call(shell).await.expect("a shell");
    let exec = ExecShell {
        id: Some("again".to_owned()),
        command: "echo again".to_owned(),
        ..ExecShell::default()
    };
    let done = client.call(exec).await.expect("a result");
    assert_eq!((done.exit_code, done.output.as_deref()), (Some(0), Some("again\n")));
    client.call(CloseShell { session_id: "again".to_owned() }).await.expect("a closed shell");
    let long = format!(": {}; echo ran", "x".repeat(200_000));
    assert_eq!(output(&client, &long).await, "ran\n");
}

#[tokio::test]
async fn a_session_that_fills_the_disk_takes_only_the_space() {
    let Some(server) = on_a_small_disk("size=4m").await else { return };
    let client = server.client();
    let fill = "dd if=/dev/zero of=$HOME/fill bs=4k 2>&1; df --output=avail $HOME | tail -n 1";
    let filled = client.call(bash(fill)).await.expect("a result");
    assert!(filled.stdout.unwrap_or_default().contains("No space left"), "{}", server.log());
    work_without_space(&server).await;

    // More output than memory is kept for, and nowhere to put it: the beginning is lost, and that is said.
    let mut line = Line::to(&server);
    let flood = json!({"command": "seq 1 500000; exit 4", "max_output_length": 1000});
    let told = post(&mut line, "/v1/bash/exec", &flood).await;
    assert_eq!(told["data"]["exit_code"], 4, "{told}");
    assert_eq!(told["data"]["offset"], 3_388_895, "every byte is counted: {told}");
    assert!(told["data"]["stdout"].to_string().ends_with("499999\\n500000\\n\""), "{told}");
    assert!(told["hint"].to_string().contains("not kept"), "{told}");
    let unbounded = json!({"command": "seq 1 500000", "max_output_length": 0});
    let told = post(&mut line, "/v1/bash/exec", &unbounded).await;
    assert!(told["hint"].to_string().contains("not kept"), "{}", told["hint"]);
    // Lines of the audit log fit until its last block is full.
    for _ in 0..100 {
        assert_eq!(line.ask("GET", "/v1/limits", "").await.status, 200);
    }
    assert!(server.log().contains("the audit log cannot be written"), "{}", server.log());

    client.call(bash("rm $HOME/fill")).await.expect("space");
    work_again(&server).await;
    let flood = ExecBash {
        command: "seq 1 300000".to_owned(),
        max_output_length: 1000,
        ..ExecBash::default()
    };
    let whole = client.call(flood).await.expect("a result");
    let file = whole.stdout_full_output_file_path.expect("a file with all of it");
    assert_eq!(
        output(&client, &format!("cmp <(seq 1 300000) {file} && echo same")).await,
        "same\n"
    );
}

#[tokio::test]
async fn a_session_that_uses_up_the_names_of_a_disk_takes_only_those() {
    let Some(server) = on_a_small_disk("size=64m,nr_inodes=200").await else { return };
    let client = server.client();
    let fill = "mkdir $HOME/many; for i in $(seq 1000); do : > $HOME/many/$i || break; done 2>&1";
    let filled = client.call(bash(fill)).await.expect("a result");
    assert!(filled.stdout.unwrap_or_default().contains("No space left"), "{}", server.log());
    work_without_space(&server).await;
    client.call(bash("rm -r $HOME/many")).await.expect("space");
    work_again(&server).await;
}

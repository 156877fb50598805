//! Operations of every shape, called by their declaration.

use crate::{command, json, name, printed, refused, run, run_with_input, server, text};

#[tokio::test]
async fn an_operation_is_called_by_its_id_or_as_a_verb() {
    let server = server().await;
    let by_id = json(&run(&server, &["call", "bash_exec", "--command", "echo one"]));
    assert_eq!(by_id["stdout"], "one\n");
    let as_verb = json(&run(&server, &["bash", "exec", "echo two", "--max-output-length", "0"]));
    assert_eq!(as_verb["stdout"], "two\n");
    let by_json = json(&run(
        &server,
        &["call", "bash_exec", "-d", "{\"command\": \"echo $A\", \"env\": {\"A\": \"b\"}}"],
    ));
    assert_eq!(by_json["stdout"], "b\n");
    let from_input = run_with_input(
        command(&server, &["bash", "exec", "-d", "-"]),
        b"{\"command\": \"echo three\"}",
    );
    assert_eq!(json(&from_input)["stdout"], "three\n");
    let alias = json(&run(&server, &["desktop", "info"]));
    assert_eq!(alias, json(&run(&server, &["gui", "info"])));
}

#[tokio::test]
async fn a_stream_prints_what_happens_as_it_happens() {
    let server = server().await;
    let output = printed(&run(&server, &["shell", "exec", "echo one; echo two", "--follow"]));
    let events: Vec<serde_json::Value> =
        output.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    assert_eq!(events.first().unwrap()["event"], "started");
    let result = events.last().unwrap();
    assert_eq!((&result["event"], &result["data"]["exit_code"]), (&"result".into(), &0.into()));
    let said: String = events.iter().filter_map(|event| event["data"]["data"].as_str()).collect();
    assert!(said.contains("one") && said.contains("two"), "{said}");
}

#[tokio::test]
async fn files_are_sent_and_received_by_path() {
    let server = server().await;
    let here = tempfile::tempdir().unwrap();
    let (file, back) = (here.path().join("file"), here.path().join("back"));
    std::fs::write(&file, [7, 0, 255]).unwrap();
    let sent =
        json(&run(&server, &["call", "file_upload", "--file", name(&file), "--path", "a/b"]));
    assert_eq!(sent["file_size"], 3);
    let from_input = command(&server, &["call", "file_upload", "--file", "-", "--path", "c"]);
    assert_eq!(json(&run_with_input(from_input, b"12345"))["file_size"], 5);
    let told = json(&run(&server, &["call", "file_download", "a/b", "-o", name(&back)]));
    assert_eq!(told["bytes"], 3);
    assert_eq!(std::fs::read(back).unwrap(), [7, 0, 255]);
    refused(&run(&server, &["call", "file_upload", "--path", "x"]), 2, &["--file"]);
    refused(&run(&server, &["call", "file_upload", "--file", "/no/such"]), 1, &["/no/such"]);
}

#[tokio::test]
async fn a_conversation_is_lines_of_json() {
    let server = server().await;
    let said = b"{\"type\": \"exec\", \"data\": \"echo hello; exit 4\"}\n";
    let output = printed(&run_with_input(command(&server, &["call", "bash_attach"]), said));
    let done = output.lines().find(|line| line.contains("command_done")).expect("an end");
    assert!(done.contains("\"exit_code\":4"), "{done}");
    assert!(output.contains("hello\\n"), "{output}");
}

#[tokio::test]
async fn tools_are_called_with_their_arguments() {
    let server = server().await;
    let words = ["mcp", "call", "sandbox", "sandbox_execute_bash", "-a", "cmd=echo from a tool"];
    let result = json(&run(&server, &words));
    assert!(result.to_string().contains("from a tool"), "{result}");
    let missing = run(&server, &["mcp", "call", "sandbox", "no_such_tool"]);
    assert_eq!(missing.status.code(), Some(1), "{}", text(&missing.stderr));
}

#[tokio::test]
async fn code_runs_from_an_argument_a_file_and_standard_input() {
    let server = server().await;
    let here = tempfile::tempdir().unwrap();
    assert_eq!(printed(&run(&server, &["code", "run", "-c", "print(6 * 7)"])), "42\n");
    let file = here.path().join("script.mjs");
    std::fs::write(&file, "console.log(6 * 7 + 1)").unwrap();
    assert_eq!(printed(&run(&server, &["code", "run", name(&file)])), "43\n");
    let from_input = command(&server, &["code", "run", "--language", "javascript"]);
    assert_eq!(printed(&run_with_input(from_input, b"console.log('in')")), "in\n");

    let failed = run(&server, &["code", "run", "-c", "print('before'); 1 / 0"]);
    assert_eq!(failed.status.code(), Some(1));
    assert_eq!(text(&failed.stdout), "before\n");
    assert!(text(&failed.stderr).contains("ZeroDivisionError"));

    for code in ["x = 5", "x + 1"] {
        let output = run(&server, &["code", "run", "--session", "s", "-c", code]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), if code == "x = 5" { "" } else { "6\n" });
    }
    let whole = json(&run(&server, &["code", "run", "--json", "-c", "print(1)"]));
    assert_eq!(whole["stdout"], "1\n");
}

#[tokio::test]
async fn pages_are_told_with_their_addresses() {
    let server = server().await;
    let pages = json(&run(&server, &["open"]));
    for page in ["dashboard", "terminal", "vnc", "code", "jupyter", "docs"] {
        assert!(pages[page].as_str().is_some_and(|url| url.starts_with(server.url())), "{pages}");
    }
    let docs = json(&run(&server, &["open", "docs"]));
    assert_eq!(docs["url"], format!("{}/v1/docs", server.url()));
    refused(&run(&server, &["open", "nothing"]), 2, &["nothing", "jupyter"]);
}

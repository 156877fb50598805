//! Whom the server asks for credentials, and when it refuses to start without.

use atoll_testkit::Server;

use crate::secrets::{KEY, SECRET, assert_no_secret};
use crate::wire::Line;
use crate::{PROGRAM, output};

#[tokio::test]
async fn code_in_the_sandbox_is_a_stranger_to_the_server() {
    let server = Server::builder(PROGRAM).variable("SANDBOX_API_KEY", KEY).start().await;
    let client = server.client().with_credential(KEY).expect("a key");
    let command = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{}; printf 'GET /v1/sandbox HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3",
        server.url().rsplit(':').next().unwrap_or_default()
    );
    let answer = output(&client, &command).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
}

/// What the program says when it refuses to start; it would be stopped if it did not.
fn refusal(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let output = std::process::Command::new("timeout")
        .args(["60", PROGRAM, "serve"])
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .envs(variables.iter().copied())
        .output()
        .expect("the program to run");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_no_secret("the refusal", &said);
    said
}

#[tokio::test]
async fn a_server_for_other_machines_wants_credentials_or_a_clear_word() {
    let listen = ["--listen", "0.0.0.0:0"];
    let said = refusal(&listen, &[]);
    assert!(said.contains("refusing to listen on 0.0.0.0:0") && said.contains("SANDBOX_API_KEY"));
    let said = refusal(&listen, &[("JWT_SECRET", SECRET)]);
    assert!(said.contains("JWT_AUTH_REQUIRED"), "{said}");
    refusal(&["--listen", "[::]:0"], &[]);
    refusal(&[], &[("JWT_PUBLIC_KEY", "canary-no-key")]);
    refusal(&[], &[("JWT_AUTH_REQUIRED", "true")]);

    let everywhere = || Server::builder(PROGRAM).listen("0.0.0.0:0");

    let warned = everywhere().argument("--allow-unauthenticated").start().await;
    assert!(warned.log().contains("DANGER"), "{}", warned.log());
    let locked = everywhere().variable("SANDBOX_API_KEY", KEY).start().await;
    assert!(!locked.log().contains("DANGER"), "{}", locked.log());
    assert_eq!(Line::to(&locked).ask("GET", "/v1/limits", "").await.status, 401);
}

#[test]
fn the_scopes_the_manual_lists_are_those_there_are() {
    let manual = include_str!("../../../../docs/auth.md");
    for declaration in atoll_api::operations() {
        let spec = &declaration.spec;
        let (area, right) = spec.scope.split_once(':').expect("an area and a right");
        assert!(["read", "write"].contains(&right), "{}: {}", spec.id, spec.scope);
        assert!(manual.contains(&format!("| `{area}` | ")), "{area} of {} is not listed", spec.id);
    }
    let listed = manual.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    for (area, cells) in listed {
        for (right, cell) in ["read", "write"].iter().zip(cells.trim_end_matches('|').split(" | "))
        {
            let scope = format!("{area}:{right}");
            let used = atoll_api::operations().any(|each| each.spec.scope == scope);
            assert_eq!(used, cell.trim() != "–", "{scope}: {cell}");
        }
    }
}

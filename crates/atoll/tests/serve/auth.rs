//! Credentials from outside: every declared route is behind them, and no secret of the server can be found anywhere.

use atoll_operation::{Shape, Spec};
use atoll_testkit::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{PROGRAM, output};

const KEY: &str = "canary-key-0123456789abcdef";
/// Its SHA-256 is in the list of keys, without scopes.
const NOBODY: &str = "canary-nobody-0123456789";
const NOBODY_SHA256: &str = "9ed5688530400f5d455f6f50ea8d6fd17a8aeee41a5a1d92932d65a86bc87b09";
const SECRET: &str = "canary-secret-0123456789abcdef0123456789";

/// Sends a request by hand and gives the status and the whole answer.
async fn ask(server: &Server, method: &str, target: &str, header: &str) -> (u16, String) {
    let host = server.url().trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).await.expect("a connection");
    let request = format!(
        "{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{header}Content-Length: 0\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("a request");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split_ascii_whitespace().nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), answer)
}

async fn locked() -> Server {
    let builder = Server::builder(PROGRAM).variable("SANDBOX_API_KEY", KEY);
    let keys = builder.home().with_extension("keys");
    std::fs::write(&keys, format!("nobody {NOBODY_SHA256} ,\n")).expect("a list of keys");
    builder.variable("JWT_SECRET", SECRET).argument("--api-keys-file").argument(keys).start().await
}

/// A path of an operation, parameters filled in; a window's with something below it too.
fn targets(spec: &Spec) -> Vec<String> {
    let parts: Vec<_> = spec.path.split('/').collect();
    let filled = parts.iter().map(|part| if part.starts_with('{') { "1" } else { part });
    let path = filled.collect::<Vec<_>>().join("/");
    if spec.shape == Shape::Window {
        vec![path.clone(), format!("{path}/"), format!("{path}/below/it?x=.js")]
    } else {
        vec![path]
    }
}

#[tokio::test]
async fn every_declared_route_answers_401_without_a_credential_and_403_out_of_scope() {
    let server = locked().await;
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let nobody = format!("Authorization: Bearer {NOBODY}\r\n");
    let mut checked = 0;
    for declaration in atoll_api::operations() {
        let spec = &declaration.spec;
        for target in targets(spec) {
            let socket = if spec.shape == Shape::Conversation { upgrade } else { "" };
            let (without, _) = ask(&server, spec.method.as_str(), &target, socket).await;
            let with = format!("{nobody}{socket}");
            let (out_of_scope, answer) = ask(&server, spec.method.as_str(), &target, &with).await;
            let expected = match spec.id {
                "system_ping" => (200, 200),
                "auth_authenticate" => (401, 200),
                _ => (401, 403),
            };
            assert_eq!((without, out_of_scope), expected, "{} {target}", spec.id);
            if out_of_scope == 403 {
                assert!(answer.contains(spec.scope), "{} is not named: {answer}", spec.scope);
            }
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked}");
    for page in [
        "/",
        "/metrics",
        "/v1/docs",
        "/v1/openapi.json",
        "/llms.txt",
        "/mcp",
        "/v1/mcp",
        "/nowhere",
    ] {
        for method in ["GET", "POST", "HEAD", "PUT"] {
            assert_eq!(ask(&server, method, page, "").await.0, 401, "{method} {page}");
        }
    }
}

#[tokio::test]
async fn code_in_the_sandbox_is_a_stranger_to_the_server() {
    let server = locked().await;
    let client = server.client().with_credential(KEY).expect("a key");
    let command = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{}; printf 'GET /v1/sandbox HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3",
        server.url().rsplit(':').next().unwrap_or_default()
    );
    let answer = output(&client, &command).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
}

/// What every process of this user can find out about the processes of the server.
const LOOK_EVERYWHERE: &str = "env; set; \
    for process in /proc/[0-9]*; do \
        tr '\\0' '\\n' < $process/environ; tr '\\0' ' ' < $process/cmdline; cat $process/comm; \
        for open in $process/fd/*; do readlink $open; done; \
    done 2>/dev/null; cat /proc/self/mountinfo; true";

#[tokio::test]
async fn no_secret_of_the_server_can_be_found_from_inside() {
    let builder = Server::builder(PROGRAM);
    let audit = builder.home().with_extension("audit");
    let server = builder
        .variable("SANDBOX_API_KEY", KEY)
        .variable("AUTH_TOKEN", "canary-auth-token-0123456789")
        .variable("JWT_SECRET", SECRET)
        .variable("HARMLESS", "seen-by-children")
        .argument("--pass-env")
        .argument("*")
        .argument("--log-level")
        .argument("trace")
        .argument("--audit-log")
        .argument(&audit)
        .start()
        .await;
    let client = server.client().with_credential(KEY).expect("a key");
    let seen = output(&client, LOOK_EVERYWHERE).await;
    assert!(seen.contains("seen-by-children"), "children get what is passed on");
    assert!(seen.contains("atoll serve"), "the server was looked at: {seen}");
    assert!(!seen.contains("canary"), "{}", around(&seen));
    // The kernel's view of the server itself, also for whoever looks from outside.
    let environ = std::fs::read(format!("/proc/{}/environ", server.pid())).unwrap_or_default();
    assert!(!String::from_utf8_lossy(&environ).contains("canary"));

    for header in [
        format!("Authorization: Bearer {KEY}x\r\n"),
        format!("X-API-Key: {KEY}\r\nX-AIO-API-Key: {KEY}\r\n"),
        format!("Cookie: atoll_page={KEY}\r\n"),
        format!("Authorization: {KEY}\r\n"),
    ] {
        for target in [
            format!("/v1/limits?api_key={KEY}"),
            format!("/x?ticket={KEY}"),
            "/v1/sandbox".to_owned(),
        ] {
            let (_, answer) = ask(&server, "GET", &target, &header).await;
            assert!(!answer.contains("canary"), "{target}: {answer}");
        }
    }
    drop(client);
    let log = server.log();
    assert!(log.contains("request") && !log.contains("canary"), "{}", around(&log));
    let audit = std::fs::read_to_string(audit).expect("an audit log");
    assert!(audit.contains("SANDBOX_API_KEY") && !audit.contains("canary"), "{}", around(&audit));
}

/// Where the secret was found.
fn around(text: &str) -> String {
    let at = text.find("canary").unwrap_or_default();
    text.chars().skip(at.saturating_sub(200)).take(400).collect()
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
    assert!(!said.contains("canary"), "{said}");
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
    assert_eq!(ask(&locked, "GET", "/v1/limits", "").await.0, 401);
}

#[tokio::test]
async fn keys_in_files_are_good_and_none_is_printed() {
    let builder = Server::builder(PROGRAM);
    let (key, secret) =
        (builder.home().with_extension("key"), builder.home().with_extension("jwt"));
    std::fs::write(&key, format!("{KEY}\n")).expect("a key");
    std::fs::write(&secret, SECRET).expect("a secret");
    let printed = std::process::Command::new(PROGRAM)
        .args(["serve", "--print-config", "--api-key-file"])
        .arg(&key)
        .env("SANDBOX_API_KEY", KEY)
        .env("JWT_SECRET", SECRET)
        .output()
        .expect("the settings");
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    assert!(printed.contains("api_key_file = ") && !printed.contains("canary"), "{printed}");
    let server = builder
        .argument("--api-key-file")
        .argument(&key)
        .argument("--jwt-secret-file")
        .argument(&secret)
        .start()
        .await;
    assert_eq!(ask(&server, "GET", "/v1/limits", "").await.0, 401);
    let known = server.client().with_credential(KEY).expect("a key");
    assert_eq!(output(&known, "echo in").await, "in\n");
}

//! Secrets of the server, planted and looked for: whatever runs in the sandbox finds none, and nothing tells one.

use atoll_operation::{Shape, Spec};
use atoll_testkit::Server;
use serde_json::json;

use crate::wire::Line;
use crate::{PROGRAM, output};

pub(crate) const KEY: &str = "canary-key-0123456789abcdef";
pub(crate) const SECRET: &str = "canary-secret-0123456789abcdef0123456789";

/// What every process of this user can find out about the processes of the server.
const LOOK_EVERYWHERE: &str = "env; set; \
    for process in /proc/[0-9]*; do \
        tr '\\0' '\\n' < $process/environ; tr '\\0' ' ' < $process/cmdline; cat $process/comm; \
        for open in $process/fd/*; do readlink $open; done; \
    done 2>/dev/null; cat /proc/self/mountinfo; true";

/// Fails where a secret is told, and shows where.
pub(crate) fn assert_no_secret(what: &str, text: &str) {
    assert_without("canary", what, text);
}

fn assert_without(word: &str, what: &str, text: &str) {
    let told = text.find(word).map(|at| {
        let before: Vec<_> = text[..at].chars().rev().take(200).collect();
        before.into_iter().rev().chain(text[at..].chars().take(200)).collect::<String>()
    });
    assert_eq!(told, None, "{what} tells a secret");
}

/// Secrets that hold a word of their own: other tests have servers with secrets too, and for a moment after its start
/// such a server's environment still shows them.
struct Planted {
    word: String,
    key: String,
    token: String,
    secret: String,
}

impl Planted {
    fn new() -> Self {
        let word = format!("planted{}", std::process::id());
        Self {
            key: format!("key-{word}-0123456789abcdef"),
            token: format!("token-{word}-0123456789abcdef"),
            secret: format!("secret-{word}-0123456789abcdef0123456789"),
            word,
        }
    }

    fn bearer(&self) -> String {
        format!("Authorization: Bearer {}\r\n", self.key)
    }

    fn assert_hidden(&self, what: &str, text: &str) {
        assert_without(&self.word, what, text);
    }
}

/// Has one program of every kind running in the sandbox.
async fn start_everything(line: &mut Line, planted: &Planted) {
    let python =
        "import os; print([name for name, value in os.environ.items() if 'plant' + 'ed' in value])";
    let node = "console.log(Object.keys(process.env).filter(n => process.env[n].includes('plant' + 'ed')))";
    for (path, body, seen) in [
        ("/v1/shell/sessions/create", json!({"id": "kept"}), "kept"),
        ("/v1/shell/exec", json!({"id": "kept", "command": "sleep 1000", "async_mode": true}), ""),
        ("/v1/bash/exec", json!({"command": "sleep 1000", "async_mode": true}), ""),
        ("/v1/jupyter/execute", json!({"session_id": "kept", "code": python}), "[]\\n"),
        ("/v1/nodejs/execute", json!({"session_id": "kept", "code": node}), "[]\\n"),
        ("/v1/browser/page/navigate", json!({"url": "about:blank"}), ""),
    ] {
        let answer = line.send("POST", path, &planted.bearer(), &body.to_string()).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert!(answer.text.contains(seen), "{path}: {answer:?}");
    }
    let lab = line.ask("GET", "/jupyter/api", &planted.bearer()).await;
    assert_eq!(lab.status, 200, "{lab:?}");
}

#[tokio::test]
async fn no_secret_of_the_server_can_be_found_from_inside() {
    let planted = Planted::new();
    let builder = Server::builder(PROGRAM);
    let audit = builder.home().with_extension("audit");
    let server = builder
        .variable("SANDBOX_API_KEY", &planted.key)
        .variable("AUTH_TOKEN", &planted.token)
        .variable("JWT_SECRET", &planted.secret)
        .variable("HARMLESS", "seen-by-children")
        .argument("--pass-env")
        .argument("*")
        .argument("--log-level")
        .argument("trace")
        .argument("--audit-log")
        .argument(&audit)
        .start()
        .await;
    let mut line = Line::to(&server);
    start_everything(&mut line, &planted).await;
    let client = server.client().with_credential(&planted.key).expect("a key");
    let seen = output(&client, LOOK_EVERYWHERE).await;
    assert!(seen.contains("seen-by-children"), "children get what is passed on");
    for program in ["atoll serve", "atoll-keeper", "ipykernel", "chrom", "jupyter", "node"] {
        assert!(seen.contains(program), "{program} was not looked at");
    }
    planted.assert_hidden("what processes show", &seen);
    // The kernel's view of the server itself, also for whoever looks from outside.
    let environ = std::fs::read(format!("/proc/{}/environ", server.pid())).unwrap_or_default();
    planted.assert_hidden("the server's environment", &String::from_utf8_lossy(&environ));

    tell_mistakes(&mut line, &planted).await;
    drop(client);
    let log = server.log();
    assert!(log.contains("request"), "{log}");
    planted.assert_hidden("the log", &log);
    let audit = std::fs::read_to_string(audit).expect("an audit log");
    assert!(audit.contains("SANDBOX_API_KEY"), "{audit}");
    planted.assert_hidden("the audit log", &audit);
}

/// Makes every route answer with an error, and every document answer, with secrets all over the request.
async fn tell_mistakes(line: &mut Line, planted: &Planted) {
    let Planted { key, token, .. } = planted;
    for header in [
        format!("Authorization: Bearer {key}x\r\n"),
        format!("X-API-Key: {key}\r\nX-AIO-API-Key: {token}\r\n"),
        format!("Cookie: atoll_page={key}\r\n"),
        format!("Authorization: {key}\r\n"),
        planted.bearer(),
    ] {
        for target in [
            format!("/v1/limits?api_key={key}"),
            format!("/x?ticket={key}"),
            "/v1/sandbox".to_owned(),
            "/v1/openapi.json".to_owned(),
            "/v1/docs".to_owned(),
            "/metrics".to_owned(),
            "/llms.txt".to_owned(),
            "/auth".to_owned(),
        ] {
            let answer = line.ask("GET", &target, &header).await;
            planted.assert_hidden(&target, &answer.text);
        }
    }
    // A window to the browser tells the credential in an address back: the sockets it names need it.
    let told = |spec: &&Spec| spec.shape != Shape::Window;
    for spec in atoll_api::operations().map(|declaration| &declaration.spec).filter(told) {
        let path = spec.path.replace(['{', '}'], "");
        let target = format!("{path}?api_key={key}&ticket={key}&wrong=%ff");
        // Broken JSON: whatever it would do is not done.
        let answer = line.send(spec.method.as_str(), &target, &planted.bearer(), "{\"").await;
        planted.assert_hidden(spec.id, &answer.text);
    }
}

#[tokio::test]
async fn keys_in_files_are_good_and_none_is_printed() {
    let builder = Server::builder(PROGRAM);
    let (key, secret) =
        (builder.home().with_extension("key"), builder.home().with_extension("jwt"));
    std::fs::write(&key, format!("{KEY}\n")).expect("a key");
    std::fs::write(&secret, SECRET).expect("a secret");
    for more in [&[][..], &["--log-level", "trace"]] {
        let printed = std::process::Command::new(PROGRAM)
            .args(["serve", "--print-config", "--api-key-file"])
            .arg(&key)
            .args(more)
            .env("SANDBOX_API_KEY", KEY)
            .env("AUTH_TOKEN", "canary-auth-token-0123456789")
            .env("JWT_SECRET", SECRET)
            .output()
            .expect("the settings");
        let printed = String::from_utf8_lossy(&printed.stdout).into_owned()
            + &String::from_utf8_lossy(&printed.stderr);
        assert!(printed.contains("api_key_file = "), "{printed}");
        assert_no_secret("the printed configuration", &printed);
    }
    let server = builder
        .argument("--api-key-file")
        .argument(&key)
        .argument("--jwt-secret-file")
        .argument(&secret)
        .start()
        .await;
    assert_eq!(Line::to(&server).ask("GET", "/v1/limits", "").await.status, 401);
    let known = server.client().with_credential(KEY).expect("a key");
    assert_eq!(output(&known, "echo in").await, "in\n");
}

//! Names that callers choose are names: none of them becomes a path, however it is written.

use std::path::Path;

use atoll_testkit::Server;
use serde_json::json;

use crate::PROGRAM;
use crate::wire::Line;

const HOSTILE: [&str; 9] = [
    "../evil",
    "../../../../tmp/evil",
    "/tmp/evil",
    "a/../../evil",
    "..",
    "evil\n",
    "evil/",
    "~/evil",
    "$(touch evil)",
];

/// Everything below a directory that is called like this.
fn called(directory: &Path, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().contains(name) {
            found.push(path.display().to_string());
        }
        if path.is_dir() && !path.is_symlink() {
            found.extend(called(&path, name));
        }
    }
    found
}

#[tokio::test]
async fn no_name_of_a_session_becomes_a_path() {
    let builder = Server::builder(PROGRAM);
    let top = builder.home();
    let builder = builder.argument("--runtime-dir").argument(&top);
    let server = builder.start().await;
    let mut line = Line::to(&server);
    for name in HOSTILE {
        for (path, body) in [
            ("/v1/shell/sessions/create", json!({"id": name})),
            ("/v1/shell/exec", json!({"id": name, "command": "true"})),
            ("/v1/bash/exec", json!({"session_id": name, "command": "true"})),
            ("/v1/nodejs/execute", json!({"session_id": name, "code": "1"})),
        ] {
            let answer = line.send("POST", path, "", &body.to_string()).await;
            assert!(answer.status < 500, "{path} {name}: {answer:?}");
        }
        let found = called(top.parent().expect("a directory"), "evil");
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

#[tokio::test]
async fn the_name_a_sender_gives_a_file_is_only_its_last_part() {
    let server = Server::start(PROGRAM).await;
    let mut line = Line::to(&server);
    let place = server.home().join("place");
    for (number, name) in
        ["../evil", "/tmp/evil", "a/../../evil", "..\\evil", "evil"].iter().enumerate()
    {
        let directory = place.join(number.to_string());
        let body = format!(
            "--b\r\nContent-Disposition: form-data; name=\"path\"\r\n\r\n{}/\r\n\
             --b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\ncontent\r\n--b--\r\n",
            directory.display()
        );
        let form = "Content-Type: multipart/form-data; boundary=b\r\n";
        let answer = line.send("POST", "/v1/file/upload", form, &body).await;
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
        let found = called(server.home().parent().expect("a directory"), "evil");
        let within = directory.display().to_string();
        assert!(found.iter().any(|path| path.starts_with(&within)), "{name}: {found:?}");
        assert!(
            found.iter().all(|path| path.starts_with(&place.display().to_string())),
            "{found:?}"
        );
    }
}

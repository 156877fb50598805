//! The invocations that the documents of others promise, word by word, under the name they use.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Output;

use atoll_testkit::Server;

use crate::{PROGRAM, command, json, name, printed, server};

/// Runs `aio` with these words.
fn aio(server: &Server, directory: &Path, line: &str) -> Output {
    let program = directory.join("aio");
    if !program.exists() {
        symlink(PROGRAM, &program).unwrap();
    }
    let words: Vec<_> = line.split(' ').collect();
    let ready = command(server, &words);
    let mut command = std::process::Command::new(program);
    for (key, value) in ready.get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    command.args(&words).current_dir(directory).output().expect("the program to run")
}

#[tokio::test]
async fn the_documented_invocations_of_the_browser_work() {
    let server = server().await;
    let here = tempfile::tempdir().unwrap();
    let page = here.path().join("page.html");
    std::fs::write(&page, "<title>From the command line</title><h1>Hello</h1>").unwrap();
    let url = format!("file://{}", name(&page));
    let navigated = json(&aio(&server, here.path(), &format!("browser navigate {url}")));
    assert_eq!(navigated["title"], "From the command line", "{navigated}");

    let told = json(&aio(&server, here.path(), "browser screenshot -o page.png"));
    let picture = std::fs::read(here.path().join("page.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG"), "{told}");
    assert_eq!(told["bytes"], picture.len());

    let told = json(&aio(&server, here.path(), "gui screenshot -o screen.png"));
    let picture = std::fs::read(here.path().join("screen.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG"), "{told}");
}

#[tokio::test]
async fn the_documented_invocations_of_lists_work() {
    let server = server().await;
    let here = tempfile::tempdir().unwrap();
    let servers = json(&aio(&server, here.path(), "mcp list"));
    assert_eq!(servers["servers"][0]["name"], "sandbox");
    let information = json(&aio(&server, here.path(), "sandbox info"));
    assert_eq!(information["version"], env!("CARGO_PKG_VERSION"));
    let skills = printed(&aio(&server, here.path(), "skills list"));
    assert!(serde_json::from_str::<serde_json::Value>(&skills).is_ok(), "{skills}");
}

#[tokio::test]
async fn the_address_may_be_given_as_documented() {
    let server = server().await;
    let here = tempfile::tempdir().unwrap();
    for line in
        ["--api-url URL sandbox info", "sandbox info --api-url URL", "sandbox --api-url URL info"]
    {
        let line = line.replace("URL", server.url());
        let program = here.path().join("aio");
        if !program.exists() {
            symlink(PROGRAM, &program).unwrap();
        }
        let output = std::process::Command::new(program)
            .args(line.split(' '))
            .env_clear()
            .output()
            .expect("the program to run");
        assert_eq!(json(&output)["version"], env!("CARGO_PKG_VERSION"), "{line}");
    }
}

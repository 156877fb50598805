//! The program: how it starts, dies, and starts again.

use std::path::Path;
use std::time::Duration;

use atoll_browser::{Browser, Error, Policies, PolicyChange, Restart, RestartMode, Until};
use serde_json::json;

use crate::support::{Bench, LONG, eventually};

fn alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

fn kill(pid: i32) {
    let killed =
        std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
}

#[tokio::test]
async fn it_starts_on_first_need_and_ends_without_a_trace() {
    let bench = Bench::new().await;
    assert!(!bench.browser.is_running());
    assert!(bench.browser.contexts().is_empty() && bench.browser.pid().is_none());
    let (one, two) = tokio::join!(bench.browser.context(None), bench.browser.context(None));
    assert_eq!(one.unwrap().name(), two.unwrap().name());
    let pid = bench.browser.pid().unwrap();
    let version = bench.browser.version().await.unwrap();
    assert!(version.product.contains('/') && version.user_agent.contains("Mozilla"), "{version:?}");
    let endpoint = bench.browser.debug_endpoint().await.unwrap();
    assert!(endpoint.host == "127.0.0.1" && endpoint.path.starts_with("/devtools/browser/"));
    bench.browser.stop().await;
    assert!(!bench.browser.is_running() && !alive(pid));
    let marker = bench.directory.path().display().to_string();
    let left = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&marker)
    });
    assert_eq!(left.count(), 0, "nothing of it may be left");
}

#[tokio::test]
async fn killed_it_fails_what_is_under_way_and_the_next_operation_works() {
    let bench = Bench::new().await;
    for _ in 0..2 {
        let tab = bench.show("<title>x</title>").await;
        let pid = bench.browser.pid().unwrap();
        let waiting = tab.evaluate("new Promise(() => {})", LONG);
        let load = tab.wait_function("false", None, LONG);
        let killing = async {
            tab.command("Page.getLayoutMetrics", json!({})).await.unwrap();
            kill(pid);
        };
        let (waited, loaded, ()) = tokio::join!(waiting, load, killing);
        assert!(matches!(waited, Err(Error::BrowserGone { .. })), "{waited:?}");
        assert!(matches!(loaded, Err(Error::BrowserGone { .. })), "{loaded:?}");
        let late = tab.evaluate("1", LONG).await;
        assert!(matches!(late, Err(Error::BrowserGone { .. })), "{late:?}");
        let tab = bench.show("<title>again</title>").await;
        assert_eq!(tab.title().await.unwrap(), "again");
        assert_ne!(bench.browser.pid(), Some(pid));
    }
}

#[tokio::test]
async fn a_soft_restart_keeps_tabs_and_contexts_and_a_hard_one_does_not() {
    let bench = Bench::new().await;
    bench.show("<title>kept</title>").await;
    let url = bench.site.page("<title>own</title>");
    let own = bench.browser.context(Some("own")).await.unwrap();
    own.new_tab(Some(&url)).await.unwrap();
    let pid = bench.browser.pid();
    let restart = |mode| Restart {
        mode,
        policies: PolicyChange::default(),
        locale: Some("de-DE".to_owned()),
    };
    bench.browser.restart(&restart(RestartMode::Soft)).await.unwrap();
    assert_eq!(bench.browser.pid(), pid);
    assert_eq!(bench.tab().await.title().await.unwrap(), "kept");
    let own = bench.browser.context(Some("own")).await.unwrap();
    assert_eq!(own.active_tab().await.unwrap().title().await.unwrap(), "own");
    assert_eq!(bench.tab().await.evaluate("1 + 1", LONG).await.unwrap(), json!(2));
    bench.browser.restart(&restart(RestartMode::Hard)).await.unwrap();
    assert_ne!(bench.browser.pid(), pid);
    let tab = bench.tab().await;
    assert_eq!(tab.url(), "about:blank");
    assert_eq!(tab.evaluate("navigator.language", LONG).await.unwrap(), json!("de-DE"));
}

#[tokio::test]
async fn options_reach_the_page() {
    let page = "data:text/html,<title>home</title>";
    let bench = Bench::with(|options| {
        options.user_agent = Some("Tester/1.0".to_owned());
        options.locale = Some("fr-FR".to_owned());
        options.homepage = Some(page.to_owned());
        options.window = (900, 700);
    })
    .await;
    let tab = bench.tab().await;
    // What a browser starts with may be the blank page for a moment.
    eventually("the home page", async || tab.title().await.is_ok_and(|title| title == "home"))
        .await;
    let seen =
        tab.evaluate("[navigator.userAgent, navigator.language, outerWidth, outerHeight]", LONG);
    assert_eq!(seen.await.unwrap(), json!(["Tester/1.0", "fr-FR", 900, 700]));
    tab.navigate(&bench.site.url("/echo"), Until::Load, LONG).await.unwrap();
    let head = tab.evaluate("document.body.innerText", LONG).await.unwrap();
    let head = head.as_str().unwrap().to_lowercase();
    assert!(
        head.contains("user-agent: tester/1.0") && head.contains("accept-language: fr-fr"),
        "{head}"
    );
}

#[tokio::test]
async fn a_missing_or_broken_program_is_named() {
    for (program, is_missing) in
        [("/nowhere/chromium", true), ("/bin/false", false), ("/bin/true", false)]
    {
        let bench = Bench::with(|options| options.executable = Some(program.into())).await;
        let error = bench.browser.context(None).await.unwrap_err();
        match error {
            Error::NotInstalled { .. } => assert!(is_missing, "{program}"),
            Error::NotReady { .. } => assert!(!is_missing, "{program}"),
            other => panic!("{program}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn running_without_its_own_sandbox_is_told() {
    let bench = Bench::with(|options| options.sandbox = Some(false)).await;
    bench.tab().await;
    assert!(bench.browser.warning().unwrap().contains("without its own sandbox"));
}

#[tokio::test]
async fn a_lock_left_by_a_killed_browser_on_another_machine_is_no_obstacle() {
    let bench = Bench::new().await;
    let profile = bench.directory.path().join("profile");
    std::fs::create_dir_all(&profile).unwrap();
    std::os::unix::fs::symlink("another-host-12345", profile.join("SingletonLock")).unwrap();
    bench.tab().await;
}

#[tokio::test]
async fn it_sends_nothing_anywhere_by_itself() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let path = log.path().display().to_string();
    let bench = Bench::with(|options| {
        options.extra_arguments.push(format!("--log-net-log={path}"));
        options.extra_arguments.push("--net-log-capture-mode=Everything".to_owned());
    })
    .await;
    let tab = bench
        .show("<title>x</title><input type=password><form action=/><input name=q></form>")
        .await;
    tab.wait_network_idle(LONG).await.unwrap();
    // Time for whatever is done a little after the start.
    tab.evaluate("new Promise(done => setTimeout(done, 3000))", LONG).await.unwrap();
    bench.browser.stop().await;
    let written = std::fs::read_to_string(log.path()).unwrap();
    let asked = regex::Regex::new(r#""url":"https?://([^/:"]+)"#).unwrap();
    let mut hosts: Vec<_> =
        asked.captures_iter(&written).map(|found| found[1].to_owned()).collect();
    hosts.retain(|host| !matches!(host.as_str(), "127.0.0.1" | "localhost"));
    hosts.sort_unstable();
    hosts.dedup();
    assert!(written.contains("127.0.0.1"), "the log is empty");
    assert!(hosts.is_empty(), "{hosts:?}");
}

#[tokio::test]
async fn policies_are_written_where_the_browser_looks_for_them() {
    let directory = tempfile::tempdir().unwrap();
    let managed = directory.path().join("managed");
    let bench = Bench::with(|options| {
        options.policy_directory = Some(managed.clone());
        options.policies.url_blocklist = Some(vec!["blocked.invalid".to_owned()]);
        options.policies.allow_file_selection_dialogs = Some(false);
    })
    .await;
    bench.tab().await;
    let read = || std::fs::read_to_string(managed.join("atoll.json")).unwrap();
    assert!(read().contains("blocked.invalid") && read().contains("AllowFileSelectionDialogs"));
    let change =
        PolicyChange { allow_file_selection_dialogs: Some(None), ..PolicyChange::default() };
    let restart = Restart { mode: RestartMode::Soft, policies: change, locale: None };
    bench.browser.restart(&restart).await.unwrap();
    assert!(read().contains("blocked.invalid") && !read().contains("AllowFileSelectionDialogs"));
    bench.browser.stop().await;
    assert!(!managed.join("atoll.json").exists(), "it binds other browsers of this machine");
}

#[tokio::test]
async fn policies_that_cannot_be_written_change_nothing() {
    let bench = Bench::with(|options| {
        options.policy_directory = Some(Path::new("/dev/null/managed").to_owned());
    })
    .await;
    let tab = bench.tab().await;
    let change = PolicyChange {
        url_blocklist: Some(Some(vec!["blocked.invalid".to_owned()])),
        ..PolicyChange::default()
    };
    for mode in [RestartMode::Soft, RestartMode::Hard] {
        let restart = Restart { mode, policies: change.clone(), locale: Some("de".to_owned()) };
        let refused = bench.browser.restart(&restart).await.unwrap_err();
        assert!(matches!(refused, Error::Policies { .. }), "{refused}");
        assert_eq!(bench.browser.options().policies, Policies::default());
        assert_eq!(bench.browser.options().locale, None);
    }
    assert_eq!(tab.evaluate("1 + 1", LONG).await.unwrap(), 2);
}

#[tokio::test]
async fn dropped_it_takes_the_program_with_it() {
    let bench = Bench::new().await;
    bench.tab().await;
    let pid = bench.browser.pid().unwrap();
    let browser: std::sync::Weak<Browser> = std::sync::Arc::downgrade(&bench.browser);
    drop(bench);
    assert!(browser.upgrade().is_none());
    eventually("the program to end", async || !alive(pid)).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
}

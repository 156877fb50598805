//! A browser of its own, and a site on loopback, per test.

#![allow(
    dead_code,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test binary uses its own part, and a test fails by panicking"
)]

pub(crate) mod site;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use atoll_browser::{Browser, Context, Limits, Options, Policies, Tab, Until};
use atoll_process::Spawner;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

pub(crate) use site::Site;

/// Long enough for anything that works at all.
pub(crate) const LONG: Duration = Duration::from_mins(1);

pub(crate) struct Bench {
    pub(crate) browser: Arc<Browser>,
    pub(crate) site: Site,
    pub(crate) directory: tempfile::TempDir,
    pub(crate) tasks: TaskTracker,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// A browser with other options than the usual.
    pub(crate) async fn with(change: impl FnOnce(&mut Options)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_atoll-browser-spawner"));
        let spawner = Spawner::launch_program(program).unwrap();
        let tasks = TaskTracker::new();
        let mut options = options(directory.path());
        change(&mut options);
        let browser = Browser::new(spawner, tasks.clone(), options);
        Self { browser, site: Site::open().await, directory, tasks }
    }

    pub(crate) async fn context(&self) -> Arc<Context> {
        self.browser.context(None).await.unwrap()
    }

    pub(crate) async fn tab(&self) -> Arc<Tab> {
        self.context().await.active_tab().await.unwrap()
    }

    /// The active tab, with this page in it.
    pub(crate) async fn show(&self, body: &str) -> Arc<Tab> {
        let tab = self.tab().await;
        let url = self.site.page(body);
        tab.navigate(&url, Until::Load, LONG).await.unwrap();
        tab
    }
}

pub(crate) fn options(directory: &Path) -> Options {
    let path = std::env::var("PATH").unwrap_or_default();
    Options {
        executable: None,
        display: None,
        stage: None,
        window: (1280, 800),
        user_data: directory.join("profile"),
        downloads: directory.join("Downloads"),
        directory: directory.join("logs"),
        environment: BTreeMap::from([
            ("PATH".to_owned(), format!("{path}:/usr/local/bin:/usr/bin:/bin")),
            ("HOME".to_owned(), directory.display().to_string()),
        ]),
        sandbox: None,
        locale: None,
        user_agent: None,
        extra_arguments: vec![],
        homepage: None,
        policies: Policies::default(),
        policy_directory: None,
        limits: Limits::default(),
    }
}

pub(crate) async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !condition().await {
        assert!(Instant::now() < deadline, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

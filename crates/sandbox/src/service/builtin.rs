//! The sandbox's own parts as services: thin adapters over what each capability tells of itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atoll_api::service::ServiceState;
use atoll_operation::Error;
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;

use super::part::{Page, Part, PartState};
use crate::browser::Browsers;
use crate::desktop::Desktops;
use crate::window::{CodeServer, Guest, Host, Lab, ResidentState, Standing};

/// Every part, in the order in which people see them.
pub(crate) fn parts(
    browsers: &Arc<Browsers>,
    desktops: &Arc<Desktops>,
    lab: &Arc<Lab>,
    code_server: &Arc<CodeServer>,
) -> Vec<Arc<dyn Part>> {
    vec![
        Arc::new(BrowserPart { browsers: Arc::clone(browsers), record: Record::default() }),
        Arc::new(DesktopPart { desktops: Arc::clone(desktops), record: Record::default() }),
        Arc::new(WindowPart {
            name: "jupyter",
            title: "JupyterLab",
            page: "/jupyter/lab",
            host: Arc::clone(lab),
        }),
        Arc::new(WindowPart {
            name: "code-server",
            title: "VS Code",
            page: "/code-server/",
            host: Arc::clone(code_server),
        }),
    ]
}

/// What was seen of a part that does not tell when it changes.
#[derive(Debug, Default)]
struct Record(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    starting: bool,
    /// Why the last start failed.
    failure: Option<String>,
    /// The state last told, and when it was first told.
    told: Option<(ServiceState, Timestamp)>,
}

impl Record {
    /// How a part stands whose process is this, when it runs.
    fn state(&self, pid: Option<i32>) -> PartState {
        let mut seen = self.seen();
        let state = match pid {
            Some(_) => ServiceState::Running,
            None if seen.starting => ServiceState::Starting,
            None if seen.failure.is_some() => ServiceState::Failed,
            None => ServiceState::Off,
        };
        let since = match seen.told {
            Some((told, since)) if told == state => since,
            _ => Timestamp::now(),
        };
        seen.told = Some((state, since));
        let detail = seen.failure.clone().filter(|_| state == ServiceState::Failed);
        // Nobody saw when it was last stopped before anybody looked.
        let since = Some(since).filter(|_| state != ServiceState::Off);
        PartState { state, detail, pid, since }
    }

    async fn start(&self, start: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
        self.seen().starting = true;
        // Told whatever ends the start, be it that the caller leaves.
        let _starting = Starting(self);
        let started = start.await;
        self.seen().failure = started.as_ref().err().map(ToString::to_string);
        started
    }

    fn forget(&self) {
        self.seen().failure = None;
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Starting<'a>(&'a Record);

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.0.seen().starting = false;
    }
}

#[derive(Debug)]
struct BrowserPart {
    browsers: Arc<Browsers>,
    record: Record,
}

impl Part for BrowserPart {
    fn name(&self) -> &'static str {
        "browser"
    }

    fn title(&self) -> &'static str {
        "Browser"
    }

    fn page(&self) -> Page {
        ("/browser-ui", &[])
    }

    fn state(&self) -> PartState {
        if self.browsers.is_disabled() {
            return PartState::of(ServiceState::Disabled)
                .because("the browser is switched off in this sandbox (DISABLE_BROWSER)");
        }
        let pid = self.browsers.pid();
        if pid.is_none() && !self.browsers.is_installed() {
            return PartState::of(ServiceState::Missing)
                .because("Chromium is not installed; install it with: apt-get install chromium");
        }
        self.record.state(pid)
    }

    fn start(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.record.start(self.browsers.start()).boxed()
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        async {
            self.record.forget();
            self.browsers.close().await;
        }
        .boxed()
    }
}

#[derive(Debug)]
struct DesktopPart {
    desktops: Arc<Desktops>,
    record: Record,
}

impl Part for DesktopPart {
    fn name(&self) -> &'static str {
        "desktop"
    }

    fn title(&self) -> &'static str {
        "Desktop (VNC)"
    }

    fn page(&self) -> Page {
        ("/vnc/index.html", &[("autoconnect", "true")])
    }

    fn state(&self) -> PartState {
        if self.desktops.is_disabled() {
            return PartState::of(ServiceState::Disabled)
                .because("the desktop is switched off in this sandbox (DISABLE_VNC)");
        }
        let pid = self.desktops.pid();
        if pid.is_none() && !self.desktops.is_available() {
            return PartState::of(ServiceState::Missing).because(
                "Xvnc is not installed; install it with: apt-get install tigervnc-standalone-server",
            );
        }
        self.record.state(pid)
    }

    fn start(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.record.start(self.desktops.start()).boxed()
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        async {
            self.record.forget();
            self.desktops.close().await;
        }
        .boxed()
    }
}

/// A program behind a window.
#[derive(Debug)]
struct WindowPart<G> {
    name: &'static str,
    title: &'static str,
    page: &'static str,
    host: Arc<Host<G>>,
}

impl<G: Guest> Part for WindowPart<G> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn page(&self) -> Page {
        (self.page, &[])
    }

    fn state(&self) -> PartState {
        resident(self.host.state())
    }

    fn start(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.host.start().boxed()
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        self.host.close().boxed()
    }
}

fn resident(state: ResidentState) -> PartState {
    let word = match state.standing {
        Standing::Disabled => ServiceState::Disabled,
        Standing::Missing => ServiceState::Missing,
        Standing::Off => ServiceState::Off,
        Standing::Starting => ServiceState::Starting,
        Standing::Running => ServiceState::Running,
        Standing::Failed => ServiceState::Failed,
    };
    let told = matches!(state.standing, Standing::Starting | Standing::Running | Standing::Failed);
    let since = Timestamp::try_from(state.since).ok().filter(|_| told);
    PartState { state: word, detail: state.reason, pid: state.pid, since }
}

//! One run of the desktop, from its start to its end, and everything that can be done with it.
//!
//! X11 is spoken by blocking calls on threads of their own. Each has a deadline; a server that misses one is taken for
//! dead and ended, which frees the thread that waits for it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use atoll_process::Spawner;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clipboard::Clipboard;
use crate::error::Error;
use crate::input::{Action, Hands, Performed, Plan};
use crate::link::Link;
use crate::manager;
use crate::options::{Options, Point, Size};
use crate::screen::{Eyes, Format, Picture};
use crate::server::Server;
use crate::windows::{self, WindowInfo};

/// How long the X server may take for anything.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the window manager may take to be there, after which the desktop is used without it.
const MANAGER: Duration = Duration::from_secs(10);
/// Pause between what is done with a button and the next of several actions.
const AFTER_CLICK: Duration = Duration::from_millis(30);
/// How long a program may take to fetch a text that is pasted.
const PASTE: Duration = Duration::from_secs(8);

/// One run of the desktop.
#[derive(Debug)]
pub struct Session {
    server: Arc<Server>,
    display: String,
    eyes: Arc<Mutex<Eyes>>,
    hands: Arc<Mutex<Hands>>,
    clipboard: Clipboard,
    /// One action at a time: there is one mouse and one keyboard.
    acting: tokio::sync::Mutex<()>,
    size: Mutex<Size>,
    /// Why it is gone, once it is.
    gone: watch::Sender<Option<String>>,
    stop: CancellationToken,
}

impl Session {
    pub(crate) async fn start(
        spawner: &Spawner,
        tasks: &TaskTracker,
        options: &Arc<Options>,
        size: Size,
    ) -> Result<Arc<Self>, Error> {
        let server = Arc::new(Server::launch(spawner, options, size).await?);
        let connected = Self::connect(&server).await;
        let (eyes, hands, clipboard) = match connected {
            Ok(connected) => connected,
            Err(error) => {
                server.kill().await;
                return Err(error);
            }
        };
        let session = Arc::new(Self {
            display: server.address.display(),
            server,
            eyes: Arc::new(Mutex::new(eyes)),
            hands: Arc::new(Mutex::new(hands)),
            clipboard,
            acting: tokio::sync::Mutex::default(),
            size: Mutex::new(size),
            gone: watch::channel(None).0,
            stop: CancellationToken::new(),
        });
        let mut environment = options.environment.clone();
        environment.extend(session.environment());
        let stop = session.stop.clone();
        manager::keep_running(spawner.clone(), Arc::clone(options), environment, stop, tasks);
        if options.find("openbox").is_some() {
            session.wait_for_manager().await;
        }
        session.watch_over(tasks);
        Ok(session)
    }

    async fn connect(server: &Arc<Server>) -> Result<(Eyes, Hands, Clipboard), Error> {
        let address = server.address.clone();
        let open = tokio::task::spawn_blocking(move || {
            Ok::<_, Error>((
                Eyes::new(Link::open(&address)?)?,
                Hands::new(Link::open(&address)?)?,
                Clipboard::open(Link::open(&address)?)?,
            ))
        });
        match tokio::time::timeout(PATIENCE, open).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(error)) => Err(Error::Gone { reason: error.to_string() }),
            Err(_) => Err(Error::Timeout { seconds: PATIENCE.as_secs() }),
        }
    }

    async fn wait_for_manager(&self) {
        let ready = async {
            while !matches!(self.look(|eyes| windows::is_managed(eyes.link())).await, Ok(true)) {
                if self.why_gone().is_some() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        if tokio::time::timeout(MANAGER, ready).await.is_err() {
            tracing::warn!("the window manager is late; the desktop is used without it");
        }
    }

    fn watch_over(self: &Arc<Self>, tasks: &TaskTracker) {
        let (session, server) = (Arc::downgrade(self), Arc::clone(&self.server));
        tasks.spawn(async move {
            let why = server.ended().await;
            if let Some(session) = session.upgrade()
                && session.why_gone().is_none()
            {
                tracing::warn!(why, "the X server ended");
                session.close(&format!("its X server {why}")).await;
            }
        });
    }

    /// Its name for programs: the value of `DISPLAY`.
    pub fn display(&self) -> &str {
        &self.display
    }

    /// The file that lets programs in: the value of `XAUTHORITY`.
    pub fn authority(&self) -> &Path {
        &self.server.authority
    }

    /// What a program must be told to show itself here.
    pub fn environment(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("DISPLAY".to_owned(), self.display.clone()),
            ("XAUTHORITY".to_owned(), self.authority().display().to_string()),
        ])
    }

    /// The socket on which it speaks RFB. Whoever may connect to it sees and controls everything.
    pub fn rfb_socket(&self) -> &Path {
        &self.server.rfb
    }

    /// Process of the X server.
    pub fn pid(&self) -> i32 {
        self.server.pid()
    }

    /// Why it is gone, if it is.
    pub fn why_gone(&self) -> Option<String> {
        self.gone.borrow().clone()
    }

    pub(crate) fn last_size(&self) -> Size {
        *self.size.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Size of the screen.
    pub async fn size(&self) -> Result<Size, Error> {
        let size = self.look(|eyes| eyes.link().size()).await?;
        *self.size.lock().unwrap_or_else(PoisonError::into_inner) = size;
        Ok(size)
    }

    /// Makes the screen another size. Maximised windows follow.
    pub async fn resize(&self, size: Size) -> Result<(), Error> {
        self.look(move |eyes| eyes.resize(size)).await?;
        *self.size.lock().unwrap_or_else(PoisonError::into_inner) = size;
        Ok(())
    }

    /// A picture of the whole screen with the pointer on it.
    pub async fn screenshot(&self, format: Format) -> Result<Picture, Error> {
        let frame = self.look(Eyes::capture).await?;
        // The screen is free for the next picture while this one is packed.
        let packed = tokio::task::spawn_blocking(move || frame.encode(format)).await;
        packed.map_err(|error| Error::Picture { reason: error.to_string() })?
    }

    /// Where the pointer is.
    pub async fn pointer(&self) -> Result<Point, Error> {
        self.look(|eyes| eyes.pointer()).await
    }

    /// The windows programs have opened, the lowest first.
    pub async fn windows(&self) -> Result<Vec<WindowInfo>, Error> {
        self.look(|eyes| windows::list(eyes.link())).await
    }

    /// Brings a window to the front and gives it the keyboard.
    pub async fn focus(&self, id: u32) -> Result<WindowInfo, Error> {
        self.look(move |eyes| windows::focus(eyes.link(), id)).await
    }

    /// The text on the clipboard; empty when there is none.
    pub async fn clipboard(&self) -> Result<String, Error> {
        self.unless_gone(self.clipboard.text()).await
    }

    /// Puts a text on the clipboard.
    pub async fn set_clipboard(&self, text: String) -> Result<(), Error> {
        self.unless_gone(self.clipboard.set(text)).await
    }

    /// Performs an action. One that fails leaves no key and no button down that was not down before.
    pub async fn perform(&self, action: Action) -> Result<Performed, Error> {
        let action = match action {
            Action::Wait(duration) => {
                tokio::time::sleep(duration).await;
                return Ok(Performed::default());
            }
            other => other,
        };
        let _one_at_a_time = self.acting.lock().await;
        let mut performed = Performed::default();
        for step in Plan::of(action) {
            match step {
                Plan::Do(action) => {
                    let patience = PATIENCE + action.duration();
                    self.act(patience, move |hands| hands.perform(&action)).await?;
                }
                Plan::Paste(text) => {
                    let mut served = self.clipboard.served();
                    let before = *served.borrow_and_update();
                    self.set_clipboard(text).await?;
                    self.act(PATIENCE, Hands::paste).await?;
                    let fetched = async { served.wait_for(|count| *count > before).await.is_ok() };
                    performed.unpasted |=
                        !tokio::time::timeout(PASTE, fetched).await.unwrap_or(false);
                    // It has the text, and now puts it where it belongs.
                    tokio::time::sleep(Duration::from_millis(30)).await;
                }
            }
        }
        Ok(performed)
    }

    /// Performs actions one after the other, up to the first that fails or until `stop`. Then keys and buttons that they
    /// pressed are let go of. What each of those performed came to, and the failure.
    pub async fn perform_all(
        &self,
        actions: Vec<Action>,
        stop: &CancellationToken,
    ) -> (Vec<Performed>, Option<Error>) {
        let Ok(before) = self.act(PATIENCE, |hands| Ok(hands.held())).await else {
            let reason = self.why_gone().unwrap_or_default();
            return (Vec::new(), Some(Error::Gone { reason }));
        };
        let mut performed = Vec::new();
        let mut clicked = false;
        for action in actions {
            if clicked {
                // What a click is for, such as giving a field the keyboard, takes programs a moment.
                tokio::time::sleep(AFTER_CLICK).await;
            }
            clicked = action.is_of_buttons();
            let done = match action {
                // What only waits can be left at any moment.
                Action::Wait(_) => stop.run_until_cancelled(self.perform(action)).await,
                _ if stop.is_cancelled() => None,
                _ => Some(self.perform(action).await),
            };
            let left = || Err(Error::Gone { reason: "nobody waits for it any more".to_owned() });
            match done.unwrap_or_else(left) {
                Ok(done) => performed.push(done),
                Err(error) => {
                    // A desktop that is gone holds nothing down.
                    drop(self.act(PATIENCE, move |hands| hands.release_since(&before)).await);
                    return (performed, Some(error));
                }
            }
        }
        (performed, None)
    }

    pub(crate) async fn close(&self, why: &str) {
        self.gone.send_if_modified(|gone| {
            let first = gone.is_none();
            gone.get_or_insert_with(|| why.to_owned());
            first
        });
        self.stop.cancel();
        self.server.kill().await;
    }

    async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Eyes) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let eyes = Arc::clone(&self.eyes);
        let work = move || work(&mut eyes.lock().unwrap_or_else(PoisonError::into_inner));
        self.on_a_thread(PATIENCE, work).await
    }

    async fn act<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce(&mut Hands) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let hands = Arc::clone(&self.hands);
        let work = move || work(&mut hands.lock().unwrap_or_else(PoisonError::into_inner));
        self.on_a_thread(patience, work).await
    }

    async fn on_a_thread<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let work = tokio::task::spawn_blocking(work);
        match tokio::time::timeout(patience, work).await {
            Ok(Ok(Err(Error::Gone { reason }))) => {
                Err(Error::Gone { reason: self.why_gone().unwrap_or(reason) })
            }
            Ok(Ok(done)) => done,
            Ok(Err(error)) => Err(Error::Gone { reason: error.to_string() }),
            Err(_) => {
                self.close("its X server did not answer").await;
                Err(Error::Timeout { seconds: patience.as_secs() })
            }
        }
    }

    async fn unless_gone<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let mut gone = self.gone.subscribe();
        tokio::select! {
            done = work => done,
            gone = gone.wait_for(Option::is_some) => {
                let reason = gone.ok().and_then(|why| why.clone()).unwrap_or_default();
                Err(Error::Gone { reason })
            }
        }
    }
}

//! The clipboard: a text of ours that programs may paste, and the text another program has copied.
//!
//! In X a clipboard is a conversation between the program that has something and the one that wants it, so a thread
//! answers for ours as long as the desktop lives. The text is offered as the selection too: terminals paste that one.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use tokio::sync::{oneshot, watch};
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, CreateWindowAux, EventMask,
    PropMode, Property, SELECTION_NOTIFY_EVENT, SelectionNotifyEvent, SelectionRequestEvent,
    Window, WindowClass,
};
use x11rb::wrapper::ConnectionExt as _;

use crate::error::Error;
use crate::link::Link;

/// Bytes of a text on the clipboard.
const LIMIT: usize = 8 << 20;
/// How long the program that has something may take to hand it over.
const HAND_OVER: Duration = Duration::from_secs(10);
/// Requests that may wait.
const QUEUE: usize = 64;
/// Windows of programs have ids from here on; below are the server's own, which asks on behalf of its viewers.
const FIRST_CLIENT: Window = 0x0020_0000;

/// The way to the clipboard.
#[derive(Debug)]
pub(crate) struct Clipboard {
    orders: SyncSender<Order>,
    bell: Arc<OwnedFd>,
    served: watch::Receiver<u64>,
}

#[derive(Debug)]
enum Order {
    Set(Arc<str>, oneshot::Sender<Result<(), Error>>),
    Get(oneshot::Sender<Result<String, Error>>),
}

impl Clipboard {
    pub(crate) fn open(link: Link) -> Result<Self, Error> {
        let refused = |error: std::io::Error| Error::Clipboard { reason: error.to_string() };
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let bell = Arc::new(bell.map_err(|error| refused(error.into()))?);
        let (orders, queue) = sync_channel(QUEUE);
        let (counter, served) = watch::channel(0);
        let holder = Holder::new(link, queue, Arc::clone(&bell), counter)?;
        std::thread::Builder::new()
            .name("clipboard".to_owned())
            .spawn(move || holder.run())
            .map_err(refused)?;
        Ok(Self { orders, bell, served })
    }

    /// Counts how often a program has fetched our text.
    pub(crate) fn served(&self) -> watch::Receiver<u64> {
        self.served.clone()
    }

    pub(crate) async fn set(&self, text: String) -> Result<(), Error> {
        if text.len() > LIMIT {
            return Err(Error::ClipboardSize { bytes: text.len(), limit: LIMIT });
        }
        let (done, answer) = oneshot::channel();
        self.order(Order::Set(text.into(), done))?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    pub(crate) async fn text(&self) -> Result<String, Error> {
        let (done, answer) = oneshot::channel();
        self.order(Order::Get(done))?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    fn order(&self, order: Order) -> Result<(), Error> {
        self.orders.try_send(order).map_err(|error| match error {
            TrySendError::Full(_) => {
                Error::Clipboard { reason: "too many ask for it at once".to_owned() }
            }
            TrySendError::Disconnected(_) => gone(),
        })?;
        self.ring();
        Ok(())
    }

    fn ring(&self) {
        // It can only be full of rings that were not heard yet.
        let _rung = rustix::io::write(&*self.bell, &1_u64.to_ne_bytes());
    }
}

impl Drop for Clipboard {
    fn drop(&mut self) {
        // The thread finds the queue closed when it wakes; replacing the sender closes it.
        self.orders = sync_channel(0).0;
        self.ring();
    }
}

fn gone() -> Error {
    Error::Gone { reason: "nobody answers for the clipboard".to_owned() }
}

/// Names of selections, forms and properties.
struct Names {
    clipboard: Atom,
    targets: Atom,
    utf8: Atom,
    plain: Atom,
    plain_utf8: Atom,
    text: Atom,
    incremental: Atom,
    ours: Atom,
}

/// The thread's side.
struct Holder {
    link: Link,
    names: Names,
    window: Window,
    queue: Receiver<Order>,
    bell: Arc<OwnedFd>,
    served: watch::Sender<u64>,
    /// Our text, while it is what is on the clipboard.
    text: Option<Arc<str>>,
    /// Our text, while it is the selection.
    selected: Option<Arc<str>>,
    waiting: VecDeque<oneshot::Sender<Result<String, Error>>>,
    fetch: Option<Fetch>,
}

/// A text that is being handed over to us.
struct Fetch {
    deadline: Instant,
    /// In pieces, of which these have come.
    pieces: Option<Vec<u8>>,
}

impl Holder {
    fn new(
        link: Link,
        queue: Receiver<Order>,
        bell: Arc<OwnedFd>,
        served: watch::Sender<u64>,
    ) -> Result<Self, Error> {
        let names = Names {
            clipboard: link.atom("CLIPBOARD")?,
            targets: link.atom("TARGETS")?,
            utf8: link.atom("UTF8_STRING")?,
            plain: link.atom("text/plain")?,
            plain_utf8: link.atom("text/plain;charset=utf-8")?,
            text: link.atom("TEXT")?,
            incremental: link.atom("INCR")?,
            ours: link.atom("ATOLL_CLIPBOARD")?,
        };
        let window = link.connection.generate_id()?;
        let kind = WindowClass::INPUT_ONLY;
        let looks = CreateWindowAux::new();
        link.connection.create_window(0, window, link.root, 0, 0, 1, 1, 0, kind, 0, &looks)?;
        let watch = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        link.connection.change_window_attributes(window, &watch)?;
        link.sync()?;
        Ok(Self {
            link,
            names,
            window,
            queue,
            bell,
            served,
            text: None,
            selected: None,
            waiting: VecDeque::new(),
            fetch: None,
        })
    }

    fn run(mut self) {
        // Ends with the desktop's last handle, or with its X server; those who wait are told by their channel.
        while let Ok(true) = self.turn() {}
    }

    /// Does what there is to do, then waits for more. Whether to go on.
    fn turn(&mut self) -> Result<bool, Error> {
        loop {
            match self.queue.try_recv() {
                Ok(Order::Set(text, done)) => {
                    let _nobody_waits = done.send(self.set(text));
                }
                Ok(Order::Get(done)) => self.waiting.push_back(done),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(false),
            }
        }
        self.begin_fetch()?;
        while let Some(event) = self.link.connection.poll_for_event()? {
            self.event(&event)?;
        }
        if self.fetch.as_ref().is_some_and(|fetch| Instant::now() > fetch.deadline) {
            let reason = format!("it took longer than {} seconds", HAND_OVER.as_secs());
            self.finish(|| Err(Error::Clipboard { reason: reason.clone() }));
        }
        self.begin_fetch()?;
        self.link.connection.flush()?;
        self.wait();
        Ok(true)
    }

    fn wait(&self) {
        let stream = self.link.connection.stream().as_fd();
        let bell = self.bell.as_fd();
        let mut watched = [
            PollFd::from_borrowed_fd(stream, PollFlags::IN),
            PollFd::from_borrowed_fd(bell, PollFlags::IN),
        ];
        let timeout = self.fetch.as_ref().map(|_| Timespec { tv_sec: 0, tv_nsec: 100_000_000 });
        // Interrupted or not: what there is to do is looked for anew.
        let _ready = poll(&mut watched, timeout.as_ref());
        let mut rings = [0; 8];
        let _silent = rustix::io::read(&*self.bell, &mut rings);
    }

    fn set(&mut self, text: Arc<str>) -> Result<(), Error> {
        let primary = AtomEnum::PRIMARY.into();
        for selection in [self.names.clipboard, primary] {
            self.link.connection.set_selection_owner(
                self.window,
                selection,
                x11rb::CURRENT_TIME,
            )?;
        }
        self.link.sync()?;
        self.text = Some(Arc::clone(&text));
        self.selected = Some(text);
        Ok(())
    }

    /// Asks for the clipboard when somebody wants it and nobody was asked yet.
    fn begin_fetch(&mut self) -> Result<(), Error> {
        if self.waiting.is_empty() || self.fetch.is_some() {
            return Ok(());
        }
        if let Some(text) = self.text.clone() {
            self.finish(|| Ok(text.to_string()));
            return Ok(());
        }
        let Names { clipboard, utf8, ours, .. } = self.names;
        let now = x11rb::CURRENT_TIME;
        self.link.connection.convert_selection(self.window, clipboard, utf8, ours, now)?;
        self.link.connection.flush()?;
        self.fetch = Some(Fetch { deadline: Instant::now() + HAND_OVER, pieces: None });
        Ok(())
    }

    /// Answers everybody who waits.
    fn finish(&mut self, answer: impl Fn() -> Result<String, Error>) {
        self.fetch = None;
        for done in self.waiting.drain(..) {
            let _nobody_waits = done.send(answer());
        }
    }

    fn event(&mut self, event: &Event) -> Result<(), Error> {
        match event {
            Event::SelectionRequest(request) => self.serve(request),
            Event::SelectionClear(cleared) => {
                // Somebody else has copied something.
                if cleared.selection == self.names.clipboard {
                    self.text = None;
                } else {
                    self.selected = None;
                }
                Ok(())
            }
            Event::SelectionNotify(notice) if self.fetch.is_some() => {
                if notice.property == x11rb::NONE {
                    // Nobody has anything, or nothing that is text.
                    self.finish(|| Ok(String::new()));
                    return Ok(());
                }
                self.take()
            }
            Event::PropertyNotify(change)
                if change.state == Property::NEW_VALUE
                    && change.atom == self.names.ours
                    && self.fetch.as_ref().is_some_and(|fetch| fetch.pieces.is_some()) =>
            {
                self.take()
            }
            _ => Ok(()),
        }
    }

    /// Takes what was laid down for us: all, the announcement of pieces, or a piece.
    fn take(&mut self) -> Result<(), Error> {
        let words = u32::try_from(LIMIT / 4).unwrap_or(u32::MAX);
        let laid = self.link.connection.get_property(
            true,
            self.window,
            self.names.ours,
            AtomEnum::ANY,
            0,
            words,
        )?;
        let laid = laid.reply()?;
        let Some(fetch) = &mut self.fetch else { return Ok(()) };
        let whole = match &mut fetch.pieces {
            None if laid.type_ == self.names.incremental => {
                fetch.pieces = Some(Vec::new());
                return Ok(());
            }
            None => laid.value,
            Some(pieces) if laid.value.is_empty() => std::mem::take(pieces),
            Some(pieces) if pieces.len() + laid.value.len() > LIMIT => {
                let bytes = pieces.len() + laid.value.len();
                self.finish(|| Err(Error::ClipboardSize { bytes, limit: LIMIT }));
                return Ok(());
            }
            Some(pieces) => {
                pieces.extend(laid.value);
                return Ok(());
            }
        };
        let text = String::from_utf8_lossy(&whole).into_owned();
        self.finish(|| Ok(text.clone()));
        Ok(())
    }

    /// Gives our text to a program that wants to paste it.
    fn serve(&self, request: &SelectionRequestEvent) -> Result<(), Error> {
        let names = &self.names;
        let text = if request.selection == names.clipboard { &self.text } else { &self.selected };
        let string = Atom::from(AtomEnum::STRING);
        let forms = [names.utf8, names.plain_utf8, names.plain, names.text, string];
        // Programs of old leave it to us where to put it.
        let property =
            if request.property == x11rb::NONE { request.target } else { request.property };
        let connection = &self.link.connection;
        let (replace, requestor) = (PropMode::REPLACE, request.requestor);
        let given = match text {
            Some(_) if request.target == names.targets => {
                let all: Vec<_> = [names.targets].into_iter().chain(forms).collect();
                connection.change_property32(replace, requestor, property, AtomEnum::ATOM, &all)?;
                true
            }
            Some(text) if forms.contains(&request.target) => {
                let form = if request.target == names.text { names.utf8 } else { request.target };
                connection.change_property8(replace, requestor, property, form, text.as_bytes())?;
                if requestor >= FIRST_CLIENT {
                    self.served.send_modify(|count| *count += 1);
                }
                true
            }
            _ => false,
        };
        let notice = SelectionNotifyEvent {
            response_type: SELECTION_NOTIFY_EVENT,
            sequence: 0,
            time: request.time,
            requestor,
            selection: request.selection,
            target: request.target,
            property: if given { property } else { x11rb::NONE },
        };
        connection.send_event(false, requestor, EventMask::NO_EVENT, notice)?;
        connection.flush()?;
        Ok(())
    }
}

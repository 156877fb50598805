//! Carries a kernel's messages to the request they answer. The readers run as long as the kernel does, request or not: a
//! kernel whose messages nobody takes would drop them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::message::{Message, Signer};
use crate::output::OutputLimits;
use crate::progress::Progress;
use crate::zmtp::{FrameReader, Keep};

/// What a message's content may take beyond the results in it.
const CONTENT_SLACK: usize = 1 << 20;

/// Where messages go.
#[derive(Debug)]
pub(crate) struct Router {
    attended: Mutex<Vec<Arc<Progress>>>,
    /// Bytes printed on behalf of requests that were over.
    late: AtomicU64,
    /// Whether something was heard of what is published: nothing will be missed from then on.
    heard: watch::Sender<bool>,
    /// Cancelled when the kernel publishes nothing any more.
    silent: CancellationToken,
    limits: OutputLimits,
}

impl Router {
    pub(crate) fn new(limits: OutputLimits) -> Arc<Self> {
        let (heard, _) = watch::channel(false);
        Arc::new(Self {
            attended: Mutex::default(),
            late: AtomicU64::new(0),
            heard,
            silent: CancellationToken::new(),
            limits,
        })
    }

    /// Delivers to this request too from now on.
    pub(crate) fn attend(&self, progress: &Arc<Progress>) {
        self.requests().push(Arc::clone(progress));
    }

    /// Delivers to none from now on.
    pub(crate) fn dismiss(&self) {
        self.requests().clear();
    }

    /// Bytes printed for requests that were over, since this was asked last.
    pub(crate) fn take_late(&self) -> u64 {
        self.late.swap(0, Ordering::Relaxed)
    }

    /// Waits until something published was heard.
    pub(crate) async fn heard(&self) {
        let mut heard = self.heard.subscribe();
        let _sender_gone = heard.wait_for(|heard| *heard).await.map(|_| ());
    }

    /// Waits until the kernel will publish nothing any more.
    pub(crate) async fn silent(&self) {
        self.silent.cancelled().await;
    }

    /// Reads what the kernel publishes until it is gone or `stop`.
    pub(crate) fn follow_published(
        self: &Arc<Self>,
        tasks: &TaskTracker,
        stop: CancellationToken,
        signer: Signer,
        mut reader: FrameReader,
    ) {
        let router = Arc::clone(self);
        tasks.spawn(async move {
            let following = async {
                while let Some(message) = router.next(&signer, &mut reader).await {
                    router.heard.send_if_modified(|heard| !std::mem::replace(heard, true));
                    router.deliver(&message);
                }
            };
            stop.run_until_cancelled(following).await;
            router.silent.cancel();
        });
    }

    /// Reads the kernel's answers until it is gone or `stop`.
    pub(crate) fn follow_answers(
        self: &Arc<Self>,
        tasks: &TaskTracker,
        stop: CancellationToken,
        signer: Signer,
        mut reader: FrameReader,
    ) {
        let router = Arc::clone(self);
        tasks.spawn(async move {
            let following = async {
                while let Some(message) = router.next(&signer, &mut reader).await {
                    router.deliver(&message);
                }
            };
            stop.run_until_cancelled(following).await;
        });
    }

    async fn next(&self, signer: &Signer, reader: &mut FrameReader) -> Option<Message> {
        let keep = |kind: &str, parent: &str| match kind {
            _ if self.attended(parent).is_none() => Keep::NOTHING,
            "stream" => Keep { head: self.limits.text_bytes, tail: self.limits.text_bytes },
            _ => Keep::head(self.limits.rich_bytes.saturating_add(CONTENT_SLACK)),
        };
        signer.read(reader, keep).await.ok()
    }

    fn deliver(&self, message: &Message) {
        match self.attended(&message.parent) {
            Some(progress) => progress.deliver(message),
            // What a kernel prints of itself has no parent.
            None if message.kind == "stream" && !message.parent.is_empty() => {
                self.late.fetch_add(message.length, Ordering::Relaxed);
            }
            None => {}
        }
    }

    fn attended(&self, parent: &str) -> Option<Arc<Progress>> {
        self.requests().iter().find(|progress| progress.id() == parent).cloned()
    }

    fn requests(&self) -> MutexGuard<'_, Vec<Arc<Progress>>> {
        self.attended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Who is told when the list of tools, or that of skills, has changed: every client with a session, and every subscription.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::service::{Peer, RoleServer};
use tokio::sync::watch;

/// Told of changes. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Notices(Arc<Inner>);

struct Inner {
    peers: Mutex<Vec<Peer<RoleServer>>>,
    changes: watch::Sender<Changes>,
}

/// How often each list has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) tools: u64,
    /// Prompts, and resources beside files.
    pub(crate) skills: u64,
}

impl Default for Notices {
    fn default() -> Self {
        let (changes, _) = watch::channel(Changes::default());
        Self(Arc::new(Inner { peers: Mutex::default(), changes }))
    }
}

impl Notices {
    /// A client that wants to be told. Those that have left are forgotten.
    pub(crate) fn join(&self, peer: Peer<RoleServer>) {
        let mut peers = self.0.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.retain(|peer| !peer.is_transport_closed());
        peers.push(peer);
    }

    /// Counts changes, for those who wait for the next.
    pub(crate) fn watch(&self) -> watch::Receiver<Changes> {
        self.0.changes.subscribe()
    }

    /// Tells everybody that the list of tools has changed.
    pub(crate) fn tools_changed(&self) {
        self.0.changes.send_modify(|changes| changes.tools += 1);
        for peer in self.peers() {
            // Each on its own: a client that does not read must not keep the others waiting.
            tokio::spawn(async move {
                if let Err(error) = peer.notify_tool_list_changed().await {
                    tracing::debug!(%error, "a client could not be told of new tools");
                }
            });
        }
    }

    /// Tells everybody that the lists of prompts and of resources have changed.
    pub(crate) fn skills_changed(&self) {
        self.0.changes.send_modify(|changes| changes.skills += 1);
        for peer in self.peers() {
            tokio::spawn(async move {
                let prompts = peer.notify_prompt_list_changed().await;
                if let Err(error) = prompts.and(peer.notify_resource_list_changed().await) {
                    tracing::debug!(%error, "a client could not be told of new skills");
                }
            });
        }
    }

    fn peers(&self) -> Vec<Peer<RoleServer>> {
        let mut peers = self.0.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.retain(|peer| !peer.is_transport_closed());
        peers.clone()
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notices").finish_non_exhaustive()
    }
}

//! Creating, listing, changing and closing sessions.

use std::sync::Arc;
use std::time::Duration;

use atoll_api::nodejs::{
    CreateNodeSession, CreatedNodeSession, DeleteNodeSession, DeletedNodeSession, FoundNodeSession,
    GetNodeSession, ListNodeSessions, NodeSessions, UpdateNodeSession, UpdatedNodeSession,
};
use atoll_operation::{Context, Error, Handle};

use super::service::{Asked, Nodes};
use super::session::Session;
use crate::session::{Entry, Session as _};

/// How long a session may be unused when nobody says.
pub(super) const MAX_IDLE: Duration = Duration::from_hours(24);

impl Nodes {
    /// The session with this id, whatever its version unless one is asked for. Looking at it is not using it.
    async fn look_up(
        &self,
        id: &str,
        version: Option<&String>,
    ) -> Result<Arc<Entry<Session>>, Error> {
        let wish = self.wish(version).await?;
        let found = self.table.entries().into_iter().find(|entry| entry.id == id);
        let Some(entry) = found else {
            return Err(self.table.not_found(id, format!("Session {id} not found")));
        };
        let runs = entry.session.installation().version;
        if wish.is_none_or(|wish| wish.fits(runs)) {
            return Ok(entry);
        }
        let message = format!("Session {id} not found: the one with this id runs {}", runs.name());
        Err(self.table.not_found(id, message).with_hint("omit version to find it"))
    }
}

impl Handle<CreateNodeSession> for Nodes {
    async fn handle(
        &self,
        _cx: &Context,
        input: CreateNodeSession,
    ) -> Result<CreatedNodeSession, Error> {
        let directory = Self::directory(input.cwd.as_ref())?;
        let max_idle = input.max_idle_time.map_or(MAX_IDLE, Duration::from_secs);
        let (id, version) = (input.session_id.as_ref(), input.version.as_ref());
        let asked = self.find_or_make(id, version, directory.as_deref(), max_idle).await?;
        let Asked { entry, pending: _pending, is_new } = asked;
        if is_new {
            let started = {
                let _turn = entry.session.turn.lock().await;
                self.worker(&entry, &self.programs.foundation().stop).await
            };
            if let Err(error) = started {
                self.table.remove(&entry.id, "could not be started");
                entry.session.close().await;
                return Err(error);
            }
        }
        let message = (!is_new).then(|| format!("Session {} exists already", entry.id));
        Ok(CreatedNodeSession {
            session_id: entry.id.clone(),
            created: is_new,
            message,
            session: Some(entry.session.describe(&entry)),
        })
    }
}

impl Handle<ListNodeSessions> for Nodes {
    async fn handle(&self, _cx: &Context, input: ListNodeSessions) -> Result<NodeSessions, Error> {
        let wish = self.wish(input.version.as_ref()).await?;
        let fits = |entry: &Arc<Entry<Session>>| {
            wish.as_ref().is_none_or(|wish| wish.fits(entry.session.installation().version))
        };
        let entries = self.table.entries().into_iter().filter(fits);
        let sessions = entries.map(|entry| (entry.id.clone(), entry.session.describe(&entry)));
        Ok(NodeSessions { sessions: sessions.collect() })
    }
}

impl Handle<GetNodeSession> for Nodes {
    async fn handle(
        &self,
        _cx: &Context,
        input: GetNodeSession,
    ) -> Result<FoundNodeSession, Error> {
        let entry = self.look_up(&input.session_id, input.version.as_ref()).await?;
        Ok(FoundNodeSession { session: entry.session.describe(&entry) })
    }
}

impl Handle<UpdateNodeSession> for Nodes {
    async fn handle(
        &self,
        _cx: &Context,
        input: UpdateNodeSession,
    ) -> Result<UpdatedNodeSession, Error> {
        let entry = self.look_up(&input.session_id, input.version.as_ref()).await?;
        let directory = Self::directory(input.cwd.as_ref())?;
        entry.touch();
        if let Some(seconds) = input.max_idle_time {
            entry.session.set_max_idle(Duration::from_secs(seconds));
        }
        if let Some(directory) = directory {
            entry.session.enter(&directory);
        }
        Ok(UpdatedNodeSession { updated: true, session: entry.session.describe(&entry) })
    }
}

impl Handle<DeleteNodeSession> for Nodes {
    async fn handle(
        &self,
        _cx: &Context,
        input: DeleteNodeSession,
    ) -> Result<DeletedNodeSession, Error> {
        let entry = self.look_up(&input.session_id, input.version.as_ref()).await?;
        let removed = self.table.remove(&entry.id, "was closed");
        entry.session.close().await;
        Ok(DeletedNodeSession { deleted: removed.is_some() })
    }
}

//! Sessions listed, created and closed.

use atoll_api::jupyter::{
    CreateJupyterSession, CreatedJupyterSession, DeleteJupyterSession, DeleteJupyterSessions,
    JupyterSession, JupyterSessions, ListJupyterSessions,
};
use atoll_operation::{Context, Error, Handle};

use super::error::failure;
use super::service::{Asked, Jupyters};
use crate::session::Session as _;

impl Handle<ListJupyterSessions> for Jupyters {
    async fn handle(
        &self,
        _cx: &Context,
        _input: ListJupyterSessions,
    ) -> Result<JupyterSessions, Error> {
        let sessions = self.table.entries().into_iter().map(|entry| {
            let session = JupyterSession {
                kernel_name: entry.session.kernel_name().to_owned(),
                last_used: entry.last_used().as_duration().as_secs_f64(),
                age_seconds: entry.unused().as_secs(),
            };
            (entry.id.clone(), session)
        });
        Ok(JupyterSessions { sessions: sessions.collect() })
    }
}

impl Handle<CreateJupyterSession> for Jupyters {
    async fn handle(
        &self,
        _cx: &Context,
        input: CreateJupyterSession,
    ) -> Result<CreatedJupyterSession, Error> {
        let directory = Self::directory(input.cwd.as_ref())?;
        let (id, kernel) = (input.session_id.as_ref(), input.kernel_name.as_ref());
        let Asked { entry, hold, is_new } =
            self.find_or_make(id, kernel, directory.as_deref()).await?;
        // An existing session may be busy, and has its kernel or gets one with its next execution.
        let started = if is_new { entry.session.0.start().await } else { Ok(()) };
        drop(hold);
        if let Err(error) = started {
            if !entry.session.0.busy() {
                self.discard(&entry, "had a kernel that could not be started");
            }
            return Err(failure(&entry.id, error));
        }
        entry.touch();
        let (id, kernel) = (entry.id.clone(), entry.session.kernel_name().to_owned());
        let message = if is_new {
            format!("Session {id} was created with the kernel {kernel}")
        } else {
            format!("Session {id} existed already, with the kernel {kernel}")
        };
        Ok(CreatedJupyterSession { session_id: id, kernel_name: kernel, message })
    }
}

impl Handle<DeleteJupyterSession> for Jupyters {
    async fn handle(&self, _cx: &Context, input: DeleteJupyterSession) -> Result<(), Error> {
        let id = &input.session_id;
        let Some(entry) = self.table.remove(id, "was closed") else {
            return Err(self.table.not_found(id, format!("Session {id} not found")));
        };
        entry.session.close().await;
        Ok(())
    }
}

impl Handle<DeleteJupyterSessions> for Jupyters {
    async fn handle(&self, cx: &Context, _input: DeleteJupyterSessions) -> Result<(), Error> {
        let count = self.count();
        self.table.close_all("was closed").await;
        cx.hint(format!("{count} sessions were closed"));
        Ok(())
    }
}

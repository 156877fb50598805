//! A way to a server on which notices of progress are heard in the order they come, before whatever comes after them.
//! rmcp hands each notice to a task of its own, so that one may overtake another, or come after the answer it was to
//! precede.

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, JsonRpcMessage, JsonRpcNotification, ProgressNotificationParam,
    ServerJsonRpcMessage, ServerNotification,
};
use rmcp::transport::Transport;
use tokio::sync::broadcast;

/// A way to a server, and who hears of progress.
pub(super) struct Hearing<T> {
    way: T,
    progress: broadcast::Sender<ProgressNotificationParam>,
}

impl<T> Hearing<T> {
    pub(super) fn new(way: T, progress: broadcast::Sender<ProgressNotificationParam>) -> Self {
        Self { way, progress }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Hearing<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.way.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let message = self.way.receive().await?;
        if let JsonRpcMessage::Notification(JsonRpcNotification {
            notification: ServerNotification::ProgressNotification(notice),
            ..
        }) = &message
        {
            // Nobody may be waiting for it.
            let _heard = self.progress.send(notice.params.clone());
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.way.close().await
    }
}

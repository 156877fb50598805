//! The socket at `/v1/ws`, which says only that the server is there. It belongs to this face: no capability is behind it.

use std::sync::Arc;

use atoll_api::terminal::{OpenSocket, SocketAnswer, SocketMessage};
use atoll_operation::{Context, Converse, Error, Registry};
use futures::StreamExt;
use futures::stream::BoxStream;

/// Answers pings.
#[derive(Debug)]
struct Pulse;

/// Binds it.
pub(crate) fn bind(registry: &mut Registry) {
    registry.bind_conversation::<OpenSocket, _>(&Arc::new(Pulse));
}

impl Converse<OpenSocket> for Pulse {
    async fn converse(
        &self,
        _cx: &Context,
        _input: OpenSocket,
        up: BoxStream<'static, Result<SocketMessage, String>>,
    ) -> Result<BoxStream<'static, SocketAnswer>, Error> {
        Ok(up.map(answer).boxed())
    }
}

fn answer(message: Result<SocketMessage, String>) -> SocketAnswer {
    let wrong = |data: &str| SocketAnswer::Error { data: data.to_owned() };
    match message {
        Ok(message) if message.kind == "ping" => SocketAnswer::Pong {},
        Ok(_) => wrong("unknown message type"),
        Err(_) => wrong("invalid message format"),
    }
}

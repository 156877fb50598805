//! A conversation: typed messages both ways over a WebSocket; or texts, for whoever knows its types only at run time.
//!
//! The handshake goes through the ordinary HTTP client, so that a refusal comes back whole, over any kind of address.

use std::marker::PhantomData;

use atoll_operation::Conversation;
use futures::sink::SinkExt;
use futures::stream::{SplitSink, SplitStream, StreamExt};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::upgrade::Upgraded;
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Message, Role};

use crate::error::ClientError;

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Both ends of a conversation.
#[derive(Debug)]
pub struct Talk<C: Conversation> {
    speaking: Speaking<C>,
    hearing: Hearing<C>,
}

/// The end that sends.
#[derive(Debug)]
pub struct Speaking<C: Conversation> {
    texts: TextSpeaking,
    kind: PhantomData<fn(C)>,
}

/// The end that receives.
#[derive(Debug)]
pub struct Hearing<C: Conversation> {
    texts: TextHearing,
    kind: PhantomData<fn() -> C>,
}

/// The end that sends texts.
#[derive(Debug)]
pub struct TextSpeaking(SplitSink<Socket, Message>);

/// The end that receives texts.
#[derive(Debug)]
pub struct TextHearing(SplitStream<Socket>);

/// Both ends of the conversation an answer opens.
pub(crate) async fn open(
    response: Response<Incoming>,
) -> Result<(TextSpeaking, TextHearing), ClientError> {
    let upgraded = hyper::upgrade::on(response).await.map_err(|error| {
        ClientError::transport("the connection did not become a WebSocket", error)
    })?;
    let socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Client, None).await;
    let (speaking, hearing) = socket.split();
    Ok((TextSpeaking(speaking), TextHearing(hearing)))
}

impl<C: Conversation> Talk<C> {
    pub(crate) async fn open(response: Response<Incoming>) -> Result<Self, ClientError> {
        let (speaking, hearing) = open(response).await?;
        Ok(Self {
            speaking: Speaking { texts: speaking, kind: PhantomData },
            hearing: Hearing { texts: hearing, kind: PhantomData },
        })
    }

    /// Sends a message.
    pub async fn send(&mut self, message: &C::Up) -> Result<(), ClientError> {
        self.speaking.send(message).await
    }

    /// The next message; none when the conversation is over.
    pub async fn receive(&mut self) -> Option<Result<C::Down, ClientError>> {
        self.hearing.receive().await
    }

    /// Takes the ends apart, to send and receive at the same time.
    pub fn split(self) -> (Speaking<C>, Hearing<C>) {
        (self.speaking, self.hearing)
    }
}

impl<C: Conversation> Speaking<C> {
    /// Sends a message.
    pub async fn send(&mut self, message: &C::Up) -> Result<(), ClientError> {
        let text = serde_json::to_string(message)
            .map_err(|error| ClientError::Input(error.to_string()))?;
        self.texts.send(text).await
    }

    /// Ends the conversation.
    pub async fn close(self) -> Result<(), ClientError> {
        self.texts.close().await
    }
}

impl<C: Conversation> Hearing<C> {
    /// The next message; none when the conversation is over.
    pub async fn receive(&mut self) -> Option<Result<C::Down, ClientError>> {
        let text = match self.texts.receive().await? {
            Ok(text) => text,
            Err(error) => return Some(Err(error)),
        };
        Some(serde_json::from_str(&text).map_err(|error| ClientError::Answer {
            status: StatusCode::SWITCHING_PROTOCOLS.as_u16(),
            message: error.to_string(),
        }))
    }
}

impl TextSpeaking {
    /// Sends a message.
    pub async fn send(&mut self, text: String) -> Result<(), ClientError> {
        let sent = self.0.send(Message::text(text)).await;
        sent.map_err(|error| ClientError::transport("the message could not be sent", error))
    }

    /// Ends the conversation.
    pub async fn close(mut self) -> Result<(), ClientError> {
        let closed = self.0.close().await;
        closed.map_err(|error| ClientError::transport("the conversation did not end well", error))
    }
}

impl TextHearing {
    /// The next message; none when the conversation is over.
    pub async fn receive(&mut self) -> Option<Result<String, ClientError>> {
        loop {
            match self.0.next().await? {
                Ok(Message::Text(text)) => return Some(Ok(text.as_str().to_owned())),
                Ok(Message::Close(_)) => return None,
                Ok(_) => {}
                Err(error) => {
                    return Some(Err(ClientError::transport("the conversation broke off", error)));
                }
            }
        }
    }
}

/// A key, and the headers that ask for a WebSocket with it.
pub(crate) fn handshake() -> (String, HeaderMap) {
    let key = generate_key();
    let mut headers = HeaderMap::new();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    if let Ok(value) = HeaderValue::from_str(&key) {
        headers.insert(header::SEC_WEBSOCKET_KEY, value);
    }
    (key, headers)
}

/// Whether the server agreed, and to our request.
pub(crate) fn is_accepted(response: &Response<Incoming>, key: &str) -> bool {
    let accept = response.headers().get(header::SEC_WEBSOCKET_ACCEPT);
    response.status() == StatusCode::SWITCHING_PROTOCOLS
        && accept
            .is_some_and(|accept| accept.as_bytes() == derive_accept_key(key.as_bytes()).as_bytes())
}

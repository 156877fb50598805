//! A client that speaks on standard streams, put through to a server that speaks HTTP: messages both ways, unread.

use std::collections::{HashMap, HashSet};

use http::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use rmcp::{RoleClient, RoleServer};

/// Why a bridge ended.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// A header cannot be sent.
    #[error("{0:?} is no header: write Name: value")]
    Header(String),
    /// The server could not be reached, or went away.
    #[error("the MCP server at {url} does not answer: {why}")]
    Server {
        /// Its address.
        url: String,
        /// What went wrong.
        why: String,
    },
    /// The client's streams broke.
    #[error("the client's streams broke: {0}")]
    Client(String),
}

/// A bridge from standard streams to an address.
#[derive(Debug)]
pub struct Bridge {
    url: String,
    headers: HashMap<HeaderName, HeaderValue>,
}

impl Bridge {
    /// A bridge to the MCP endpoint at this address, with headers written `Name: value`.
    pub fn new(url: &str, headers: &[String]) -> Result<Self, BridgeError> {
        let wrong = |header: &String| BridgeError::Header(header.clone());
        let mut read = HashMap::new();
        for header in headers {
            let (name, value) = header.split_once(':').ok_or_else(|| wrong(header))?;
            let name = name.trim().parse().map_err(|_| wrong(header))?;
            let value = value.trim().parse().map_err(|_| wrong(header))?;
            read.insert(name, value);
        }
        Ok(Self { url: url.to_owned(), headers: read })
    }

    /// Carries messages between this process's standard streams and the server until the client closes them.
    pub async fn run(self) -> Result<(), BridgeError> {
        self.carry(tokio::io::stdin(), tokio::io::stdout()).await
    }

    /// Carries messages until the client closes its stream, or the server is lost.
    async fn carry(
        self,
        input: impl tokio::io::AsyncRead + Send + Unpin + 'static,
        output: impl tokio::io::AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), BridgeError> {
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.url.as_str());
        config.custom_headers = self.headers;
        let mut server = StreamableHttpClientTransport::from_config(config);
        let mut client = AsyncRwTransport::<RoleServer, _, _>::new(input, output);
        let lost = |why: String| BridgeError::Server { url: self.url.clone(), why };
        // Requests that wait for their answer: a client that has closed its stream still wants those.
        let mut waiting = HashSet::new();
        let mut open = true;
        while open || !waiting.is_empty() {
            tokio::select! {
                message = Transport::<RoleServer>::receive(&mut client), if open => {
                    let Some(message) = message else {
                        open = false;
                        continue;
                    };
                    let message: ClientJsonRpcMessage = message;
                    if let ClientJsonRpcMessage::Request(request) = &message {
                        waiting.insert(request.id.clone());
                    }
                    let sent = Transport::<RoleClient>::send(&mut server, message).await;
                    sent.map_err(|error| lost(error.to_string()))?;
                }
                message = Transport::<RoleClient>::receive(&mut server) => {
                    let message: ServerJsonRpcMessage =
                        message.ok_or_else(|| lost("it closed the connection".to_owned()))?;
                    match &message {
                        ServerJsonRpcMessage::Response(response) => {
                            waiting.remove(&response.id);
                        }
                        ServerJsonRpcMessage::Error(error) => {
                            waiting.retain(|id| Some(id) != error.id.as_ref());
                        }
                        _ => {}
                    }
                    let sent = Transport::<RoleServer>::send(&mut client, message).await;
                    sent.map_err(|error| BridgeError::Client(error.to_string()))?;
                }
            }
        }
        // The client is gone; whether the server hears of it is its own affair.
        drop(Transport::<RoleClient>::close(&mut server).await);
        Ok(())
    }
}

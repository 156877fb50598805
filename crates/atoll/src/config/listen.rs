//! The address to listen on, as configuration holds it: text that reads and prints the way people write it.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// Where the server listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Listen(pub(crate) atoll_http::Listen);

impl Listen {
    fn loopback(port: u16) -> Self {
        Self(atoll_http::Listen::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, port))))
    }

    /// The same address with another port; a unix socket yields to loopback.
    pub(crate) fn with_port(&self, port: u16) -> Self {
        match &self.0 {
            atoll_http::Listen::Tcp(address) => {
                Self(atoll_http::Listen::Tcp(SocketAddr::new(address.ip(), port)))
            }
            atoll_http::Listen::Unix(_) => Self::loopback(port),
        }
    }
}

impl Default for Listen {
    fn default() -> Self {
        Self::loopback(8080)
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self)
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            atoll_http::Listen::Tcp(address) => write!(f, "{address}"),
            atoll_http::Listen::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

impl TryFrom<String> for Listen {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Listen> for String {
    fn from(listen: Listen) -> Self {
        listen.to_string()
    }
}

impl JsonSchema for Listen {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Listen".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_reads_back() {
        for text in ["127.0.0.1:8080", "[::1]:0", "/run/a.sock"] {
            let listen: Listen = text.parse().unwrap();
            assert_eq!(listen.to_string(), text);
        }
    }

    #[test]
    fn another_port_keeps_the_address() {
        let everywhere: Listen = "0.0.0.0:80".parse().unwrap();
        assert_eq!(everywhere.with_port(9).to_string(), "0.0.0.0:9");
        let socket: Listen = "/run/a.sock".parse().unwrap();
        assert_eq!(socket.with_port(9).to_string(), "127.0.0.1:9");
    }
}

//! Who was let in.

use crate::scopes::Scopes;

/// How somebody showed who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Not at all: the server asks for nothing.
    Anonymous,
    /// By an API key.
    ApiKey,
    /// By a signed token.
    Token,
    /// By a ticket.
    Ticket,
    /// By the cookie a page got in exchange for a ticket or key in its address.
    Page,
}

impl How {
    /// A word for logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::ApiKey => "api_key",
            Self::Token => "token",
            Self::Ticket => "ticket",
            Self::Page => "page",
        }
    }
}

/// Somebody who was let in. Nothing in it is secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// How they showed it.
    pub how: How,
    /// Name of the key or subject of the token; for tickets and pages that of whoever asked for them.
    pub id: String,
    /// What they may do.
    pub scopes: Scopes,
}

impl Principal {
    /// Whoever comes to a server that asks for nothing.
    pub(crate) fn anonymous() -> Self {
        Self { how: How::Anonymous, id: "anonymous".to_owned(), scopes: Scopes::ALL }
    }
}

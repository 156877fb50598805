//! The one place that decides whether a credential is good.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::keys::ApiKeys;
use crate::principal::{How, Principal};
use crate::refusal::Refusal;
use crate::tickets::{Issued, Tickets, TicketsExhausted};
use crate::token::{TokenKeyError, TokenKeys, TokenRules, Tokens};

/// What the operator configured.
#[derive(Debug)]
pub struct Settings {
    /// Keys that are accepted.
    pub api_keys: ApiKeys,
    /// Keys that tokens may be signed with.
    pub token_keys: TokenKeys,
    /// What is asked of tokens.
    pub token_rules: TokenRules,
    /// Whether a request without a credential is refused even where only a shared secret for tokens is configured.
    pub required: bool,
    /// How long a ticket is good for.
    pub ticket_lasts: Duration,
    /// How many tickets and pages there may be at once.
    pub most_tickets: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            api_keys: ApiKeys::default(),
            token_keys: TokenKeys::default(),
            token_rules: TokenRules::default(),
            required: false,
            ticket_lasts: Duration::from_secs(30),
            most_tickets: 10_000,
        }
    }
}

/// What becomes of a request without a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Nothing is configured: everybody is let in, and credentials are not looked at.
    Open,
    /// It is let in, but a bad credential is refused. A family of clients expects this of a shared secret alone.
    Optional,
    /// It is refused.
    Required,
}

/// A credential as a request carries it.
#[derive(Clone, Copy)]
pub enum Presented<'a> {
    /// What follows `Bearer `: a token or a key.
    Bearer(&'a str),
    /// A key.
    Key(&'a str),
    /// A ticket.
    Ticket(&'a str),
    /// A page's cookie, sent with a request for this path.
    Page {
        /// Its value.
        text: &'a str,
        /// The path asked for.
        path: &'a str,
    },
}

impl fmt::Debug for Presented<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bearer(_) => "Bearer(…)",
            Self::Key(_) => "Key(…)",
            Self::Ticket(_) => "Ticket(…)",
            Self::Page { .. } => "Page(…)",
        })
    }
}

/// Knows every credential that is good.
#[derive(Debug)]
pub struct Authenticator {
    keys: ApiKeys,
    tokens: Tokens,
    tickets: Tickets,
    policy: Policy,
    anonymous: Arc<Principal>,
}

impl Default for Authenticator {
    /// One that lets everybody in.
    fn default() -> Self {
        let Settings { ticket_lasts, most_tickets, .. } = Settings::default();
        Self {
            keys: ApiKeys::default(),
            tokens: Tokens::none(),
            tickets: Tickets::new(ticket_lasts, most_tickets),
            policy: Policy::Open,
            anonymous: Arc::new(Principal::anonymous()),
        }
    }
}

impl Authenticator {
    /// Makes one from what is configured.
    pub fn new(settings: Settings) -> Result<Self, TokenKeyError> {
        let Settings { api_keys, token_keys, token_rules, required, .. } = &settings;
        let nothing = api_keys.is_empty() && token_keys.is_empty();
        let secret_alone = api_keys.is_empty() && token_keys.are_secrets();
        let policy = match (nothing, secret_alone && !required) {
            (true, _) if !required => Policy::Open,
            (false, true) => Policy::Optional,
            _ => Policy::Required,
        };
        let tokens = if token_keys.is_empty() {
            Tokens::none()
        } else {
            Tokens::new(token_keys.clone(), token_rules)?
        };
        Ok(Self {
            keys: settings.api_keys,
            tokens,
            tickets: Tickets::new(settings.ticket_lasts, settings.most_tickets),
            policy,
            anonymous: Arc::new(Principal::anonymous()),
        })
    }

    /// What becomes of a request without a credential.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Who comes without a credential.
    pub fn without(&self) -> Result<Arc<Principal>, Refusal> {
        match self.policy {
            Policy::Open | Policy::Optional => Ok(Arc::clone(&self.anonymous)),
            Policy::Required if self.keys.is_empty() && self.tokens.is_empty() => {
                Err(Refusal::Unconfigured)
            }
            Policy::Required => Err(Refusal::Missing),
        }
    }

    /// Whether a shared secret is the only thing asked for.
    pub fn asks_for_a_secret_alone(&self) -> bool {
        self.keys.is_empty() && self.tokens.are_secrets()
    }

    /// Who comes with this credential.
    pub fn check(&self, presented: Presented<'_>) -> Result<Arc<Principal>, Refusal> {
        if let Err(Refusal::Unconfigured) = self.without() {
            return Err(Refusal::Unconfigured);
        }
        let found = match presented {
            Presented::Bearer(text) => match self.keys.find(text) {
                None if !self.tokens.is_empty() => return self.tokens.find(text),
                found => found,
            },
            Presented::Key(text) => self.keys.find(text),
            Presented::Ticket(text) => self.tickets.find(text),
            Presented::Page { text, path } => self.tickets.find_page(text, path),
        };
        found.ok_or(Refusal::Unknown)
    }

    /// Makes a ticket for somebody. Nobody gets one for a ticket or a page: it would never end.
    pub fn issue(&self, to: &Principal) -> Result<Option<Issued>, TicketsExhausted> {
        match to.how {
            How::Ticket | How::Page => Ok(None),
            How::Anonymous | How::ApiKey | How::Token => self.tickets.issue(to).map(Some),
        }
    }

    /// Makes a page for somebody who showed a credential in an address, good below `path`.
    pub fn issue_page(&self, to: &Principal, path: &str) -> Result<Issued, TicketsExhausted> {
        self.tickets.issue_page(to, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scopes::Scopes;
    use crate::secret::Secret;

    fn settings() -> Settings {
        Settings::default()
    }

    fn key() -> ApiKeys {
        let mut keys = ApiKeys::default();
        keys.add("one", &Secret::new("the-key"), Scopes::ALL);
        keys
    }

    fn secret() -> TokenKeys {
        let mut keys = TokenKeys::default();
        keys.add_secret(&Secret::new("the-secret")).unwrap();
        keys
    }

    #[test]
    fn a_missing_credential_is_let_in_only_where_nothing_but_a_shared_secret_asks() {
        let policy = |settings| Authenticator::new(settings).unwrap().policy();
        assert_eq!(policy(settings()), Policy::Open);
        assert_eq!(Authenticator::default().policy(), Policy::Open);
        assert_eq!(policy(Settings { required: true, ..settings() }), Policy::Required);
        assert_eq!(policy(Settings { token_keys: secret(), ..settings() }), Policy::Optional);
        assert_eq!(
            policy(Settings { token_keys: secret(), required: true, ..settings() }),
            Policy::Required
        );
        assert_eq!(policy(Settings { api_keys: key(), ..settings() }), Policy::Required);
        assert_eq!(
            policy(Settings { api_keys: key(), token_keys: secret(), ..settings() }),
            Policy::Required
        );
    }

    #[test]
    fn whoever_asks_for_what_nobody_can_have_is_told_so() {
        let auth = Authenticator::new(Settings { required: true, ..settings() }).unwrap();
        assert_eq!(auth.without(), Err(Refusal::Unconfigured));
        assert_eq!(auth.check(Presented::Bearer("any")), Err(Refusal::Unconfigured));
        assert_eq!(Refusal::Unconfigured.message(), "authentication required but not configured");
    }

    #[test]
    fn a_secret_is_alone_only_where_nothing_else_is_good() {
        let alone = |settings| Authenticator::new(settings).unwrap().asks_for_a_secret_alone();
        assert!(!alone(settings()));
        assert!(alone(Settings { token_keys: secret(), ..settings() }));
        assert!(alone(Settings { token_keys: secret(), required: true, ..settings() }));
        assert!(!alone(Settings { token_keys: secret(), api_keys: key(), ..settings() }));
        assert!(!alone(Settings { api_keys: key(), ..settings() }));
    }

    #[test]
    fn each_credential_is_good_in_its_own_place_only() {
        let auth = Authenticator::new(Settings { api_keys: key(), ..settings() }).unwrap();
        let who = auth.check(Presented::Bearer("the-key")).unwrap();
        assert_eq!(who.id, "one");
        assert!(auth.check(Presented::Key("the-key")).is_ok());
        assert_eq!(auth.check(Presented::Ticket("the-key")), Err(Refusal::Unknown));
        assert_eq!(auth.without(), Err(Refusal::Missing));

        let ticket = auth.issue(&who).unwrap().unwrap().text;
        let guest = auth.check(Presented::Ticket(&ticket)).unwrap();
        assert_eq!((guest.how, guest.id.as_str()), (How::Ticket, "one"));
        assert!(auth.check(Presented::Bearer(&ticket)).is_err());
        assert!(auth.check(Presented::Key(&ticket)).is_err());
        assert!(auth.check(Presented::Page { text: &ticket, path: "/" }).is_err());
        assert!(auth.issue(&guest).unwrap().is_none(), "a ticket does not renew itself");

        let page = auth.issue_page(&guest, "/lab").unwrap().text;
        let visitor = auth.check(Presented::Page { text: &page, path: "/lab/x" }).unwrap();
        assert!(auth.check(Presented::Ticket(&page)).is_err());
        assert!(auth.issue(&visitor).unwrap().is_none());
    }

    #[test]
    fn nothing_secret_is_in_what_is_printed() {
        let all = Settings { api_keys: key(), token_keys: secret(), ..settings() };
        let before = format!("{all:?}");
        let after = format!("{:?}", Authenticator::new(all).unwrap());
        for text in [before, after] {
            assert!(!text.contains("the-key") && !text.contains("the-secret"), "{text}");
        }
    }
}

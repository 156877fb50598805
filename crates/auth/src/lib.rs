//! Who may come in: API keys, signed tokens and tickets, and what each of them allows.
//!
//! An [`Authenticator`] is made once from what the operator configured and then asked about every request. It keeps
//! fingerprints instead of secrets wherever it can, compares in constant time, and has a bound on everything it
//! remembers. It knows nothing of HTTP: the face finds the credentials in a request and says what kind each one is.

mod audit;
mod authenticator;
mod cache;
mod fingerprint;
mod keys;
mod principal;
mod refusal;
mod scopes;
mod secret;
mod tickets;
mod token;

pub use audit::{AuditLog, AuditRecord};
pub use authenticator::{Authenticator, Policy, Presented, Settings};
pub use keys::{ApiKeys, KeyFileError};
pub use principal::{How, Principal};
pub use refusal::Refusal;
pub use scopes::Scopes;
pub use secret::Secret;
pub use tickets::{Issued, TicketsExhausted};
pub use token::{TokenKeyError, TokenKeys, TokenRules};

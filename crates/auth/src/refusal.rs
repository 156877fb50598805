//! Why somebody was not let in.
//!
//! The texts are the same for every client. What they tell about a token beyond "invalid" is told only when its
//! signature was right, so that nobody learns anything by trying.

/// Why a request without a good credential is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// A credential is asked for, and none could be good: nothing is configured.
    Unconfigured,
    /// There is no credential.
    Missing,
    /// There is something, but not in the form of a credential.
    Format,
    /// Nobody knows it, or its signature is wrong.
    Unknown,
    /// Signed by one of ours, but without a time at which it ends.
    NoExpiry,
    /// Signed by one of ours, but a claim has the wrong form.
    Claims,
    /// Signed by one of ours, but by another issuer than expected.
    Issuer,
    /// Signed by one of ours, but meant for somebody else.
    Audience,
    /// Signed by one of ours, but not valid yet.
    Early,
    /// Signed by one of ours, but expired.
    Expired,
}

impl Refusal {
    /// What happened, in the words existing clients know.
    pub const fn message(self) -> &'static str {
        match self {
            Self::Unconfigured => "authentication required but not configured",
            Self::Missing => "missing authorization header",
            Self::Format => "invalid authorization format",
            _ => "invalid token",
        }
    }

    /// What to do.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Unconfigured => {
                "Give the server a key, a public key or a secret, as docs/auth.md tells, and start it again."
            }
            Self::Missing => {
                "Send a credential as `Authorization: Bearer …` or `X-AIO-API-Key: …`, or a ticket as `?ticket=…`."
            }
            Self::Format => {
                "Send one credential, once, and nothing around it: `Authorization: Bearer <token or key>`."
            }
            Self::Unknown => {
                "It is no key, token or ticket this server knows; tickets end after a short time and with the server."
            }
            Self::NoExpiry => "The token must have an `exp` claim: a time at which it ends.",
            Self::Claims => "A claim of the token has the wrong form.",
            Self::Issuer => "The token is from another issuer (`iss`) than this server accepts.",
            Self::Audience => "The token is meant for another audience (`aud`) than this server.",
            Self::Early => "The token is not valid yet (`nbf`); compare the clocks.",
            Self::Expired => "The token has expired; sign or fetch a new one.",
        }
    }
}

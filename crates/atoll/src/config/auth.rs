//! Who may come in: the `[auth]` table of the file, its flags, and the variables existing deployments set. Secrets
//! themselves are no settings: they come from the environment or from files, and are never printed.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigError, Variables, absolute};

/// Seconds a ticket is good for.
const TICKET_SECONDS: u64 = 30;
const LONGEST_TICKET_SECONDS: u64 = 86_400;

/// Who may come in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct AuthConfig {
    /// File that holds one API key.
    pub(crate) api_key_file: Option<PathBuf>,
    /// File that lists API keys: on each line a name, the SHA-256 of the key, and its scopes if it is not for everything.
    pub(crate) api_keys_file: Option<PathBuf>,
    /// File with the public keys tokens may be signed with: PEM (RS256), or a JSON Web Key Set.
    pub(crate) jwt_keys_file: Option<PathBuf>,
    /// File that holds the secret tokens may be signed with (HS256, HS384, HS512).
    pub(crate) jwt_secret_file: Option<PathBuf>,
    /// Whether a request without a credential is refused where only a secret for tokens is configured; else it always is.
    pub(crate) jwt_auth_required: bool,
    /// Accept only tokens for one of these audiences (`aud`); none given: only tokens that name none.
    pub(crate) jwt_audiences: Vec<String>,
    /// Accept only tokens of one of these issuers (`iss`); none given: of any.
    pub(crate) jwt_issuers: Vec<String>,
    /// Seconds a ticket is good for.
    pub(crate) ticket_seconds: u64,
    /// Whether to listen beyond this machine although anybody who comes is let in.
    pub(crate) allow_unauthenticated: bool,
    /// File in which every request is recorded: who, what, when, from where, with which outcome.
    pub(crate) audit_log: Option<PathBuf>,
}

/// Where each setting can be made beside the file.
pub(super) const PLACES: &[(&str, &str, &str)] = &[
    ("api_key_file", "--api-key-file", "ATOLL_API_KEY_FILE"),
    ("api_keys_file", "--api-keys-file", "ATOLL_API_KEYS_FILE"),
    ("jwt_keys_file", "--jwt-keys-file", "ATOLL_JWT_KEYS_FILE"),
    ("jwt_secret_file", "--jwt-secret-file", "ATOLL_JWT_SECRET_FILE"),
    ("jwt_auth_required", "--jwt-auth-required", "JWT_AUTH_REQUIRED"),
    ("jwt_audiences", "--jwt-audience", "JWT_AUDIENCE"),
    ("jwt_issuers", "--jwt-issuer", "JWT_ISSUER"),
    ("ticket_seconds", "--ticket-seconds", "TICKET_TTL_SECONDS"),
    ("allow_unauthenticated", "--allow-unauthenticated", "ATOLL_ALLOW_UNAUTHENTICATED"),
    ("audit_log", "--audit-log", "ATOLL_AUDIT_LOG"),
];

/// What one source says about it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AuthLayer {
    pub(crate) api_key_file: Option<PathBuf>,
    pub(crate) api_keys_file: Option<PathBuf>,
    pub(crate) jwt_keys_file: Option<PathBuf>,
    pub(crate) jwt_secret_file: Option<PathBuf>,
    pub(crate) jwt_auth_required: Option<bool>,
    pub(crate) jwt_audiences: Option<Vec<String>>,
    pub(crate) jwt_issuers: Option<Vec<String>>,
    pub(crate) ticket_seconds: Option<u64>,
    pub(crate) allow_unauthenticated: Option<bool>,
    pub(crate) audit_log: Option<PathBuf>,
}

impl AuthLayer {
    /// This layer, and where it says nothing the one below.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            api_key_file: self.api_key_file.or(below.api_key_file),
            api_keys_file: self.api_keys_file.or(below.api_keys_file),
            jwt_keys_file: self.jwt_keys_file.or(below.jwt_keys_file),
            jwt_secret_file: self.jwt_secret_file.or(below.jwt_secret_file),
            jwt_auth_required: self.jwt_auth_required.or(below.jwt_auth_required),
            jwt_audiences: self.jwt_audiences.or(below.jwt_audiences),
            jwt_issuers: self.jwt_issuers.or(below.jwt_issuers),
            ticket_seconds: self.ticket_seconds.or(below.ticket_seconds),
            allow_unauthenticated: self.allow_unauthenticated.or(below.allow_unauthenticated),
            audit_log: self.audit_log.or(below.audit_log),
        }
    }

    /// Its paths, which a file means from where it lies.
    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let files = [
            &mut self.api_key_file,
            &mut self.api_keys_file,
            &mut self.jwt_keys_file,
            &mut self.jwt_secret_file,
            &mut self.audit_log,
        ];
        files.into_iter().flatten()
    }

    /// What comes out.
    pub(super) fn resolve(self) -> AuthConfig {
        let seconds = self.ticket_seconds.unwrap_or(TICKET_SECONDS);
        AuthConfig {
            api_key_file: self.api_key_file.map(absolute),
            api_keys_file: self.api_keys_file.map(absolute),
            jwt_keys_file: self.jwt_keys_file.map(absolute),
            jwt_secret_file: self.jwt_secret_file.map(absolute),
            jwt_auth_required: self.jwt_auth_required.unwrap_or_default(),
            jwt_audiences: self.jwt_audiences.unwrap_or_default(),
            jwt_issuers: self.jwt_issuers.unwrap_or_default(),
            ticket_seconds: seconds.clamp(1, LONGEST_TICKET_SECONDS),
            allow_unauthenticated: self.allow_unauthenticated.unwrap_or_default(),
            audit_log: self.audit_log.map(absolute),
        }
    }
}

impl Variables {
    /// What the environment says about it.
    pub(super) fn auth(&self) -> Result<AuthLayer, ConfigError> {
        let path = |name: &str| self.get(name).map(PathBuf::from);
        let seconds = |_| "write a number of seconds, 1 to 86400".to_owned();
        Ok(AuthLayer {
            api_key_file: path("ATOLL_API_KEY_FILE"),
            api_keys_file: path("ATOLL_API_KEYS_FILE"),
            jwt_keys_file: path("ATOLL_JWT_KEYS_FILE"),
            jwt_secret_file: path("ATOLL_JWT_SECRET_FILE"),
            jwt_auth_required: self.switch("JWT_AUTH_REQUIRED")?,
            jwt_audiences: self.list("JWT_AUDIENCE"),
            jwt_issuers: self.list("JWT_ISSUER"),
            ticket_seconds: self.parse("TICKET_TTL_SECONDS", seconds)?,
            allow_unauthenticated: self.switch("ATOLL_ALLOW_UNAUTHENTICATED")?,
            audit_log: path("ATOLL_AUDIT_LOG"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auth(list: &[(&str, &str)]) -> AuthConfig {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let variables: Variables = list.iter().map(owned).collect();
        variables.auth().unwrap().resolve()
    }

    #[test]
    fn variables_of_existing_deployments_mean_what_they_always_meant() {
        let config = auth(&[
            ("JWT_AUTH_REQUIRED", "yes"),
            ("TICKET_TTL_SECONDS", "60"),
            ("JWT_AUDIENCE", "a, b"),
            ("ATOLL_API_KEYS_FILE", "/keys"),
        ]);
        assert!(config.jwt_auth_required && !config.allow_unauthenticated);
        assert_eq!(config.ticket_seconds, 60);
        assert_eq!(config.jwt_audiences, ["a", "b"]);
        assert_eq!(config.api_keys_file, Some(PathBuf::from("/keys")));
        assert_eq!(auth(&[]).ticket_seconds, TICKET_SECONDS);
        assert_eq!(auth(&[("TICKET_TTL_SECONDS", "0")]).ticket_seconds, 1);
    }

    #[test]
    fn an_earlier_layer_wins() {
        let flags = AuthLayer { ticket_seconds: Some(1), ..AuthLayer::default() };
        let file = AuthLayer {
            ticket_seconds: Some(2),
            audit_log: Some("/audit".into()),
            ..AuthLayer::default()
        };
        let config = flags.over(file).resolve();
        assert_eq!(config.ticket_seconds, 1);
        assert_eq!(config.audit_log, Some(PathBuf::from("/audit")));
    }
}

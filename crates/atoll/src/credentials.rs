//! Puts together who may come in: from the settings, the secrets and the files they name. What cannot be used stops the
//! start, and so does listening beyond this machine without asking anybody who they are.

use std::path::{Path, PathBuf};
use std::time::Duration;

use atoll_auth::{
    ApiKeys, Authenticator, KeyFileError, Policy, Scopes, Secret, Settings, TokenKeyError,
    TokenKeys, TokenRules,
};

use crate::config::{Config, Listen, Variables};
use crate::secrets::Secrets;

/// A key shorter than this could be guessed.
const SHORT_KEY: usize = 16;
/// A secret for signatures shorter than this could be found by trying, by anybody who has a token.
const SHORT_SECRET: usize = 32;
/// Variables that hold a public key.
const PUBLIC_KEYS: [&str; 2] = ["JWT_PUBLIC_KEY", "SANDBOX_JWT_PUBLIC_KEY"];
/// Variables that hold a key of their own name.
const API_KEYS: [&str; 2] = ["SANDBOX_API_KEY", "AUTH_TOKEN"];

/// Credentials that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CredentialError {
    /// A file cannot be read.
    #[error("cannot read {path}, which {setting} names: {source}", path = path.display())]
    Unreadable { setting: &'static str, path: PathBuf, source: std::io::Error },
    /// A file that should hold a secret holds nothing.
    #[error("{path}, which {setting} names, is empty", path = path.display())]
    Empty { setting: &'static str, path: PathBuf },
    /// A line of the list of keys is wrong.
    #[error("in {path}, which --api-keys-file names: {source}", path = path.display())]
    KeyFile { path: PathBuf, source: KeyFileError },
    /// A key for tokens cannot be used.
    #[error("{place} holds no key for tokens that can be used: {source}")]
    TokenKey { place: String, source: TokenKeyError },
    /// Everybody would be refused.
    #[error(
        "JWT_AUTH_REQUIRED is set, but no credential is: nobody could ever come in; set JWT_SECRET, JWT_PUBLIC_KEY or \
         SANDBOX_API_KEY"
    )]
    NoneAtAll,
    /// Everybody would be let in.
    #[error(
        "refusing to listen on {0}, where other machines can reach it, without asking for credentials: whoever comes \
         could run commands here. Set SANDBOX_API_KEY (or --api-keys-file, JWT_PUBLIC_KEY, or JWT_SECRET with \
         JWT_AUTH_REQUIRED), listen on 127.0.0.1, or say --allow-unauthenticated if something in front keeps others out"
    )]
    Open(Listen),
}

/// Makes the authenticator this configuration asks for.
pub(crate) fn authenticator(
    config: &Config,
    secrets: &Secrets,
    variables: &Variables,
) -> Result<Authenticator, CredentialError> {
    let auth = &config.auth;
    let mut api_keys = ApiKeys::default();
    for name in API_KEYS {
        if let Some(key) = secrets.get(name) {
            accept_key(&mut api_keys, name, key);
        }
    }
    if let Some(key) = secret_in("--api-key-file", auth.api_key_file.as_deref())? {
        accept_key(&mut api_keys, "api-key-file", &key);
    }
    if let Some(path) = &auth.api_keys_file {
        let text = read("--api-keys-file", path)?;
        let wrong = |source| CredentialError::KeyFile { path: path.clone(), source };
        api_keys.add_file(&text).map_err(wrong)?;
    }

    let mut token_keys = TokenKeys::default();
    let unusable = |place: String| move |source| CredentialError::TokenKey { place, source };
    for name in PUBLIC_KEYS {
        if let Some(text) = variables.get(name) {
            token_keys.add_public(text).map_err(unusable(name.to_owned()))?;
        }
    }
    if let Some(path) = &auth.jwt_keys_file {
        let text = read("--jwt-keys-file", path)?;
        token_keys.add_public(&text).map_err(unusable(path.display().to_string()))?;
    }
    let in_file = secret_in("--jwt-secret-file", auth.jwt_secret_file.as_deref())?;
    for secret in secrets.get("JWT_SECRET").into_iter().chain(&in_file) {
        if secret.expose().len() < SHORT_SECRET {
            eprintln!(
                "atoll: WARNING: the secret for tokens has less than {SHORT_SECRET} characters; whoever has a token \
                 can find it by trying"
            );
        }
        token_keys.add_secret(secret).map_err(unusable("JWT_SECRET".to_owned()))?;
    }
    if auth.jwt_auth_required && api_keys.is_empty() && token_keys.is_empty() {
        return Err(CredentialError::NoneAtAll);
    }
    let settings = Settings {
        api_keys,
        token_keys,
        token_rules: TokenRules {
            audiences: auth.jwt_audiences.clone(),
            issuers: auth.jwt_issuers.clone(),
        },
        required: auth.jwt_auth_required,
        ticket_lasts: Duration::from_secs(auth.ticket_seconds),
        most_tickets: usize::try_from(config.limits.tickets).unwrap_or(usize::MAX),
    };
    let authenticator =
        Authenticator::new(settings).map_err(unusable("this configuration".to_owned()))?;
    let reachable = match &config.listen.0 {
        atoll_http::Listen::Tcp(address) => !address.ip().is_loopback(),
        atoll_http::Listen::Unix(_) => false,
    };
    if reachable && authenticator.policy() != Policy::Required && !auth.allow_unauthenticated {
        return Err(CredentialError::Open(config.listen.clone()));
    }
    Ok(authenticator)
}

fn accept_key(keys: &mut ApiKeys, name: &str, key: &Secret) {
    if key.expose().len() < SHORT_KEY {
        eprintln!(
            "atoll: WARNING: the API key {name} has less than {SHORT_KEY} characters and could be guessed; \
             `openssl rand -hex 32` makes a good one"
        );
    }
    keys.add(name, key, Scopes::ALL);
}

fn secret_in(
    setting: &'static str,
    path: Option<&Path>,
) -> Result<Option<Secret>, CredentialError> {
    let Some(path) = path else {
        return Ok(None);
    };
    let secret = Secret::new(&read(setting, path)?);
    if secret.expose().is_empty() {
        return Err(CredentialError::Empty { setting, path: path.to_owned() });
    }
    Ok(Some(secret))
}

fn read(setting: &'static str, path: &Path) -> Result<String, CredentialError> {
    std::fs::read_to_string(path).map_err(|source| CredentialError::Unreadable {
        setting,
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Account;
    use crate::config::Layer;

    fn make(secrets: &[(&str, &str)], list: &[(&str, &str)]) -> Result<Policy, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let variables: Variables = list.iter().map(owned).collect();
        let account = Account { name: "gem".to_owned(), home: None };
        let config = Config::resolve(Layer::default(), None, &variables, &account).unwrap();
        let made = authenticator(&config, &Secrets::of(secrets), &variables);
        made.map(|made| made.policy()).map_err(|error| error.to_string())
    }

    #[test]
    fn listening_beyond_this_machine_needs_a_credential_or_a_clear_word() {
        let everywhere = ("ATOLL_LISTEN", "0.0.0.0:8080");
        let key = ("SANDBOX_API_KEY", "0123456789abcdef");
        let secret = ("JWT_SECRET", "0123456789abcdef0123456789abcdef");
        assert_eq!(make(&[], &[]), Ok(Policy::Open));
        assert_eq!(make(&[], &[("ATOLL_LISTEN", "/run/socket")]), Ok(Policy::Open));
        assert_eq!(make(&[], &[("ATOLL_LISTEN", "[::1]:80")]), Ok(Policy::Open));
        for listen in ["0.0.0.0:8080", "[::]:8080", "192.0.2.1:80"] {
            let error = make(&[], &[("ATOLL_LISTEN", listen)]).unwrap_err();
            assert!(error.contains("--allow-unauthenticated"), "{error}");
        }
        assert_eq!(make(&[key], &[everywhere]), Ok(Policy::Required));
        assert!(make(&[secret], &[everywhere]).is_err(), "optional is not asking");
        assert_eq!(
            make(&[secret], &[everywhere, ("JWT_AUTH_REQUIRED", "1")]),
            Ok(Policy::Required)
        );
        assert_eq!(
            make(&[], &[everywhere, ("ATOLL_ALLOW_UNAUTHENTICATED", "true")]),
            Ok(Policy::Open)
        );
    }

    #[test]
    fn what_cannot_be_used_is_named_without_its_content() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let broken = file("keys", "ci canary-hash");
        let empty = file("empty", "\n");
        for (list, named) in [
            (("ATOLL_API_KEYS_FILE", broken.as_str()), "line 1"),
            (("ATOLL_API_KEYS_FILE", "/nonexistent/keys"), "/nonexistent/keys"),
            (("ATOLL_API_KEY_FILE", empty.as_str()), "empty"),
            (("ATOLL_JWT_SECRET_FILE", empty.as_str()), "empty"),
            (("JWT_PUBLIC_KEY", "canary-key"), "JWT_PUBLIC_KEY"),
            (("JWT_AUTH_REQUIRED", "true"), "nobody could ever come in"),
        ] {
            let error = make(&[], &[list]).unwrap_err();
            assert!(error.contains(named) && !error.contains("canary"), "{error}");
        }
    }
}

//! What goes wrong, in words for people and an exit code for scripts.

use std::fmt;

use atoll_client::ClientError;

/// The operation was refused or failed.
const FAILED: u8 = 1;
/// The command line cannot be understood or carried out as it is.
const WRONG_USE: u8 = 2;
/// The server cannot be reached, or does not let us in.
const NO_SERVER: u8 = 3;
/// The reader of the output went away: what a shell reports of a command that died of it.
const NO_READER: u8 = 141;

/// Why a command did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// The operation was refused or failed.
    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self { code: FAILED, message: message.to_string() }
    }

    /// The command line cannot be carried out as it is.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self { code: WRONG_USE, message: message.to_string() }
    }

    /// The server cannot be reached, or does not let us in.
    pub(crate) fn no_server(message: impl fmt::Display) -> Self {
        Self { code: NO_SERVER, message: message.to_string() }
    }

    /// Nobody reads what is printed any more, which needs no words.
    pub(crate) fn no_reader() -> Self {
        Self { code: NO_READER, message: String::new() }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// Puts what was being done before what went wrong.
    pub(crate) fn while_doing(mut self, action: impl fmt::Display) -> Self {
        self.message = format!("{action}: {}", self.message);
        self
    }

    /// What a client's error means here, of the server at this address.
    pub(crate) fn of_client(error: &ClientError, url: &str) -> Self {
        let mut message = match error {
            ClientError::Transport { source, .. } => {
                return Self::no_server(format!(
                    "the sandbox at {url} cannot be reached: {}\n  start one with `atoll serve`, or say where it is \
                     with --api-url, ATOLL_URL or a profile",
                    root_cause(source.as_ref())
                ));
            }
            ClientError::Address(_) | ClientError::Header(_) | ClientError::Input(_) => {
                return Self::usage(error);
            }
            ClientError::Answer { .. } => {
                return Self::failed(format!("{error}\n  is {url} the address of a sandbox?"));
            }
            ClientError::Refused(refusal) => refusal.message.clone(),
        };
        if let Some(refusal) = error.refusal() {
            if !refusal.error_code.is_empty() {
                message.push_str(&format!(" [{}]", refusal.error_code));
            }
            if refusal.fields.len() > 1 {
                for field in &refusal.fields {
                    message.push_str(&format!("\n  {}: {}", field.location, field.message));
                }
            }
            if let Some(hint) = &refusal.hint {
                message.push_str(&format!("\n  {hint}"));
            }
        }
        match error.status() {
            Some(401) => Self::no_server(format!(
                "{message}\n  put the key of {url} into the variable ATOLL_API_KEY, or into a profile"
            )),
            Some(403) if is_about_who_asks(error) => Self::no_server(message),
            _ => Self::failed(message),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Whether a refusal is about who asks, rather than about rights in the sandbox such as those of a file.
fn is_about_who_asks(error: &ClientError) -> bool {
    let code = error.error_code().unwrap_or_default();
    code.is_empty() || code.starts_with("auth.") || code.starts_with("request.")
}

/// What lies at the bottom of an error: the layers above it only say that something failed.
fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use atoll_client::Refusal;

    use super::*;

    fn refusal(status: u16, error_code: &str) -> Failure {
        let error = ClientError::Refused(Box::new(Refusal {
            status,
            error_code: error_code.to_owned(),
            message: "no".to_owned(),
            hint: Some("try this".to_owned()),
            details: None,
            fields: Vec::new(),
        }));
        Failure::of_client(&error, "http://h")
    }

    #[test]
    fn who_is_not_let_in_is_told_apart_from_what_is_not_allowed_inside() {
        assert_eq!(refusal(401, "auth.missing").code(), NO_SERVER);
        assert!(refusal(401, "auth.missing").to_string().contains("ATOLL_API_KEY"));
        assert_eq!(refusal(403, "auth.scope").code(), NO_SERVER);
        assert_eq!(refusal(403, "file.permission_denied").code(), FAILED);
        assert_eq!(refusal(404, "file.not_found").code(), FAILED);
    }

    #[test]
    fn a_refusal_is_told_with_its_hint_and_its_code() {
        assert_eq!(refusal(404, "a.b").to_string(), "no [a.b]\n  try this");
    }
}

//! Which sandbox is meant, and what it is shown: flags, variables and profiles made into a client.

use atoll_client::{Client, ClientError};

use crate::failure::Failure;
use crate::globals::Globals;
use crate::profile;

const DEFAULT: &str = "http://127.0.0.1:8080";

/// A sandbox and what it is shown with every request.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    /// Its address.
    pub(crate) url: String,
    credential: Option<String>,
    headers: Vec<(String, String)>,
}

impl Connection {
    /// The sandbox that is meant: by the flags, else the variables, else the profile `default`, else the one here.
    pub(crate) fn find(globals: &Globals) -> Result<Self, Failure> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let named = globals.profile.clone().or_else(|| {
            let nothing_else = globals.api_url.is_none() && set("ATOLL_URL").is_none();
            nothing_else.then(|| set("ATOLL_PROFILE")).flatten()
        });
        let said = globals.api_url.clone();
        let by_variable = || set("ATOLL_URL").or_else(|| set("AIO_BASE_URL"));
        let profile = match (&named, &said) {
            (Some(name), _) => profile::find(Some(name))?,
            (None, None) if by_variable().is_none() => profile::find(None)?,
            _ => None,
        };
        let url = match &profile {
            Some(profile) => said.unwrap_or_else(|| profile.url.clone()),
            None => said.or_else(by_variable).unwrap_or_else(|| DEFAULT.to_owned()),
        };
        let own = profile.as_ref().map(profile::Profile::key).transpose()?.flatten();
        let credential = own.or_else(|| set("ATOLL_API_KEY"));
        let headers = globals.header.iter().map(|header| split_header(header));
        let headers = headers.collect::<Result<_, _>>()?;
        Ok(Self { url: whole_address(&url), credential, headers })
    }

    /// A client of it.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        let client = || {
            let mut client = Client::new(&self.url)?;
            if let Some(credential) = &self.credential {
                // A token is taken from the one, a key of any characters from the other; one good one suffices.
                client =
                    client.with_credential(credential)?.with_header("X-API-Key", credential)?;
            }
            for (name, value) in &self.headers {
                client = client.with_header(name, value)?;
            }
            Ok(client)
        };
        client().map_err(|error| self.explain(&error))
    }

    /// Whether a credential is shown.
    pub(crate) fn is_authenticated(&self) -> bool {
        self.credential.is_some()
    }

    /// The headers to show, each in a line of its own.
    pub(crate) fn header_lines(&self) -> Vec<String> {
        let credential = self
            .credential
            .iter()
            .flat_map(|key| [format!("X-API-Key: {key}"), format!("Authorization: Bearer {key}")]);
        let headers = self.headers.iter().map(|(name, value)| format!("{name}: {value}"));
        credential.chain(headers).collect()
    }

    /// What a client's error means.
    pub(crate) fn explain(&self, error: &ClientError) -> Failure {
        Failure::of_client(error, &self.url)
    }
}

fn split_header(header: &str) -> Result<(String, String), Failure> {
    let (name, value) = header
        .split_once(':')
        .ok_or_else(|| Failure::usage(format!("{header:?} is no header: write `Name: value`")))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// An address with its scheme; of an MCP endpoint, the server it belongs to.
fn whole_address(url: &str) -> String {
    if url.starts_with("unix:") {
        return url.to_owned();
    }
    if url.starts_with('/') {
        return format!("unix:{url}");
    }
    let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let place = url.split('?').next().unwrap_or(&url).trim_end_matches('/');
    let place = place.strip_suffix("/mcp").unwrap_or(place);
    place.strip_suffix("/v1").unwrap_or(place).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_be_short() {
        assert_eq!(whole_address("box:8080"), "http://box:8080");
        assert_eq!(whole_address("/run/a.sock"), "unix:/run/a.sock");
        assert_eq!(whole_address("https://h/p/"), "https://h/p");
        assert_eq!(whole_address("a:8080/v1/mcp?profile=all"), "http://a:8080");
    }

    #[test]
    fn a_header_has_a_name_and_a_value() {
        assert_eq!(split_header("A: b: c").unwrap(), ("A".to_owned(), "b: c".to_owned()));
        assert_eq!(split_header("nonsense").unwrap_err().code(), 2);
    }
}

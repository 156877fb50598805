//! What a URI means: an address of the web, a file, or the document itself.

use std::path::{Component, Path, PathBuf};

use atoll_operation::{Error, Kind};
use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::GeneralPurpose;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};
use bytes::Bytes;

use crate::foundation::Foundation;

/// Where a document is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Web(String),
    File(PathBuf),
    Data { media_type: Option<String>, bytes: Bytes },
}

/// Padding at the end is often forgotten.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What a URI means.
pub(super) fn locate(uri: &str, foundation: &Foundation) -> Result<Place, Error> {
    let uri = uri.trim();
    if uri.is_empty() {
        return Err(wrong("it is empty"));
    }
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        Some("http" | "https") => Ok(Place::Web(uri.to_owned())),
        Some("data") => data(uri.get(5..).unwrap_or_default()),
        Some("file") => {
            let rest = uri.get(5..).unwrap_or_default();
            let path = match rest.strip_prefix("//") {
                // The host of a file, if one is given at all, is this one.
                Some(rest) => match rest.split_once('/') {
                    Some(("" | "localhost" | "127.0.0.1", path)) => format!("/{path}"),
                    Some((host, _)) => {
                        return Err(wrong(&format!(
                            "files of the host {host} cannot be read here"
                        )));
                    }
                    None => return Err(wrong("it names no path: write file:///path")),
                },
                None => rest.to_owned(),
            };
            let end = path.find(['?', '#']).filter(|_| !Path::new(&path).exists());
            let path = path.get(..end.unwrap_or(path.len())).unwrap_or_default();
            let path = String::from_utf8(percent_decoded(path))
                .map_err(|_| wrong("its path is no UTF-8"))?;
            file(&path, foundation)
        }
        Some(scheme) if is_scheme(scheme) && uri.contains("://") => Err(wrong(&format!(
            "{scheme}: is not known here; use http:, https:, file:, data: or a path"
        ))),
        _ => file(uri, foundation),
    }
}

fn wrong(reason: &str) -> Error {
    let message = format!("this URI cannot be converted: {reason}");
    Error::new(Kind::InvalidArgument, "convert.invalid_uri", message)
}

fn is_scheme(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(fits)
}

/// A path from the root, from home or from the workspace.
fn file(path: &str, foundation: &Foundation) -> Result<Place, Error> {
    if path.is_empty() || path.contains('\0') {
        return Err(wrong("it names no path"));
    }
    let path = match path.strip_prefix('~') {
        Some("") => foundation.home.clone(),
        Some(rest) if rest.starts_with('/') => foundation.home.join(rest.trim_start_matches('/')),
        _ => foundation.workspace.join(path),
    };
    Ok(Place::File(path.components().filter(|part| *part != Component::CurDir).collect()))
}

/// `data:[type][;base64],content`.
fn data(rest: &str) -> Result<Place, Error> {
    let (head, content) = rest.split_once(',').ok_or_else(|| wrong("data: needs a comma"))?;
    let (media_type, encoded) = match head.strip_suffix(";base64") {
        Some(media_type) => (media_type, true),
        None => (head, false),
    };
    let content = percent_decoded(content);
    let bytes = if encoded {
        let content: Vec<u8> =
            content.into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect();
        BASE64.decode(content).map_err(|error| wrong(&format!("its base64 is broken: {error}")))?
    } else {
        content
    };
    let media_type = Some(media_type.trim()).filter(|given| !given.is_empty());
    Ok(Place::Data { media_type: media_type.map(str::to_owned), bytes: bytes.into() })
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let hex = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if let (b'%', [high, low, tail @ ..]) = (*first, tail)
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
            rest = tail;
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use atoll_api::system::Limits;

    use super::*;
    use crate::environment::Environment;

    fn located(uri: &str) -> Result<Place, Error> {
        let (home, workspace) = (PathBuf::from("/home/me"), PathBuf::from("/place"));
        let environment = Environment::build(std::iter::empty(), &home, &workspace, "me", &[]);
        let foundation = Foundation {
            runtime_dir: home.clone(),
            home,
            workspace,
            environment: Arc::new(environment),
            limits: Arc::new(Limits::default()),
            version: "0",
            stop: tokio_util::sync::CancellationToken::new(),
        };
        locate(uri, &foundation)
    }

    #[test]
    fn files_are_found_by_path_and_by_uri() {
        for (uri, path) in [
            ("/a/b.pdf", "/a/b.pdf"),
            ("b.pdf", "/place/b.pdf"),
            ("./b.pdf", "/place/b.pdf"),
            ("~/b.pdf", "/home/me/b.pdf"),
            ("file:///a/b%20c.pdf", "/a/b c.pdf"),
            ("file://localhost/a", "/a"),
            ("file:/a", "/a"),
            ("FILE:///a#page=2", "/a"),
            ("odd:name.txt", "/place/odd:name.txt"),
        ] {
            assert_eq!(located(uri).unwrap(), Place::File(path.into()), "{uri}");
        }
    }

    #[test]
    fn data_is_decoded() {
        let place = |media_type: Option<&str>, bytes: &'static [u8]| Place::Data {
            media_type: media_type.map(str::to_owned),
            bytes: Bytes::from_static(bytes),
        };
        assert_eq!(located("data:text/html,%3Cp%3Ex").unwrap(), place(Some("text/html"), b"<p>x"));
        assert_eq!(located("data:;base64,aGk=").unwrap(), place(None, b"hi"));
        assert_eq!(
            located("data:a/b;charset=x;base64,aGk").unwrap(),
            place(Some("a/b;charset=x"), b"hi")
        );
        assert_eq!(located("data:,100%").unwrap(), place(None, b"100%"));
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for uri in [
            "",
            "ftp://a/b",
            "data:nothing",
            "data:;base64,*",
            "file://other/a",
            "file://",
            "gopher://x",
        ] {
            assert_eq!(located(uri).unwrap_err().code(), "convert.invalid_uri", "{uri}");
        }
    }
}

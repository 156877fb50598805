//! Which URLs are opened.

use crate::error::Error;

/// Schemes a page can be opened by.
const SCHEMES: &[&str] =
    &["http", "https", "file", "data", "blob", "about", "chrome", "view-source"];

/// Pages of the browser that are there to break it, by the first word of their address.
const HARMFUL: &[&str] = &[
    "badcastcrash",
    "checkcrash",
    "crash",
    "crashdump",
    "dcheckcrash",
    "delayeduithreadhang",
    "gpu-java-crash",
    "gpuclean",
    "gpucrash",
    "gpuhang",
    "hang",
    "heapcorruptioncrash",
    "inducebrowsercrashforrealz",
    "inducebrowserdcheckforrealz",
    "inducebrowserheapcorruption",
    "java-crash",
    "kill",
    "memory-exhaust",
    "memory-pressure-critical",
    "memory-pressure-moderate",
    "ppapiflashcrash",
    "ppapiflashhang",
    "quit",
    "restart",
    "rust-crash",
    "shorthang",
    "uithreadhang",
    "webuijserror",
];

/// Characters of a URL; Chromium takes no more.
const LENGTH: usize = 2 << 20;

/// Refuses what is no URL, and what would do harm.
pub(crate) fn check_url(url: &str) -> Result<(), Error> {
    let shown = || url.chars().take(200).collect::<String>();
    let invalid = |reason: &str| Err(Error::InvalidUrl { url: shown(), reason: reason.to_owned() });
    let refused = |reason: &str| Err(Error::RefusedUrl { url: shown(), reason: reason.to_owned() });
    let trimmed = url.trim();
    if trimmed.is_empty() {
        return invalid("it is empty");
    }
    if trimmed.len() > LENGTH {
        return invalid("it is longer than 2 MiB");
    }
    let Some((scheme, rest)) = trimmed.split_once(':') else {
        return invalid("it has no scheme; write https:// before it");
    };
    let scheme = scheme.to_ascii_lowercase();
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|part| part.is_ascii_alphanumeric() || "+-.".contains(part));
    if !is_scheme {
        return invalid("it has no scheme; write https:// before it");
    }
    match scheme.as_str() {
        "javascript" => return refused("code is run by evaluate, not by navigating"),
        "http" | "https" => {
            if let Some(reason) = fault_of_host(rest) {
                return invalid(&reason);
            }
        }
        "view-source" => return check_url(rest),
        "chrome" | "about" => {
            let word = rest.trim_start_matches('/');
            let word = word.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase();
            if HARMFUL.contains(&word.as_str()) {
                return refused("this page exists to break the browser");
            }
        }
        _ => {}
    }
    if SCHEMES.contains(&scheme.as_str()) {
        Ok(())
    } else if rest.starts_with(|first: char| first.is_ascii_digit()) {
        invalid("it has no scheme; write http:// before it")
    } else {
        refused("pages are opened by http, https, file, data, about and chrome URLs only")
    }
}

/// Characters no host's name has, besides those that end it.
const NOT_IN_HOSTS: &str = " \t\r\n<>^|\"{}`";

/// What is wrong with the host that follows `http:`, if anything is. The browser would look for a name it made up.
fn fault_of_host(rest: &str) -> Option<String> {
    let rest = rest.trim_start_matches(['/', '\\']);
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    if place.starts_with('[') {
        // An IPv6 address; the browser names what is wrong with one.
        return None;
    }
    let (host, port) = place.split_once(':').unwrap_or((place, ""));
    if host.is_empty() {
        return Some("it names no host".to_owned());
    }
    if let Some(letter) = host.chars().find(|letter| NOT_IN_HOSTS.contains(*letter)) {
        return Some(format!("its host {host:?} holds {letter:?}, which no name has"));
    }
    if !port.is_empty() && port.parse::<u16>().is_err() {
        return Some(format!("its port {port:?} is no number from 0 to 65535"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_urls_are_opened() {
        for url in [
            "http://localhost:80/",
            "https://example.org",
            "about:blank",
            "data:text/html,hello",
            "file:///tmp/a.html",
            "chrome://version",
            " HTTP://HOST/ ",
            "http://user:secret@host:8080/a b?c d#e f",
            "http://[::1]:8080/",
            "https://bücher.example/",
        ] {
            assert!(check_url(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn what_is_no_url_is_refused_by_name() {
        for url in [
            "",
            "  ",
            "example.org",
            "localhost:8080/x",
            "http://",
            "http:",
            "http://:80/",
            "http://exa mple/",
            "https://<host>/",
            "http://host:99999/",
            "http://host:port/",
            "/tmp",
            "1:2",
        ] {
            assert!(matches!(check_url(url), Err(Error::InvalidUrl { .. })), "{url}");
        }
    }

    #[test]
    fn what_would_do_harm_is_refused_by_name() {
        for url in [
            "chrome://crash",
            "chrome://CRASH/",
            "about:crash",
            "about://hang",
            "chrome:kill",
            "view-source:chrome://quit",
            "javascript:alert(1)",
            "ftp://host/",
            "devtools://devtools/bundled/inspector.html",
            "chrome-untrusted://terminal",
        ] {
            assert!(matches!(check_url(url), Err(Error::RefusedUrl { .. })), "{url}");
        }
    }
}

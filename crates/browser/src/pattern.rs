//! Patterns for URLs: globs, regular expressions, or just a part of one.

use regex::{Regex, RegexBuilder};

use crate::error::Error;

/// Bytes a compiled pattern may take: a hostile one must not.
const COMPILED_BYTES: usize = 1 << 20;

/// Which URLs are meant.
///
/// * `/…/` with flags `i` after it, or `re:…`, or `regex:…`: a regular expression, found anywhere in the URL;
/// * with `*`, `**` or `{a,b}`: a glob for the whole URL, where `*` stays within a path segment;
/// * else the URL itself, a slash at its end or not, or, when it has no scheme, anything that contains it.
#[derive(Debug, Clone)]
pub struct UrlPattern {
    text: String,
    kind: PatternKind,
}

#[derive(Debug, Clone)]
enum PatternKind {
    Regex(Regex),
    Exact,
    Part,
}

impl UrlPattern {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |reason: String| Error::InvalidPattern { pattern: text.to_owned(), reason };
        let compile = |source: &str, ignore_case| {
            RegexBuilder::new(source)
                .case_insensitive(ignore_case)
                .size_limit(COMPILED_BYTES)
                .build()
                .map(PatternKind::Regex)
                .map_err(|error| invalid(error.to_string()))
        };
        if text.is_empty() {
            return Err(invalid("it is empty".to_owned()));
        }
        let kind = if let Some(source) = text.strip_prefix("re:").or(text.strip_prefix("regex:")) {
            compile(source, false)?
        } else if let Some((source, flags)) = between_slashes(text) {
            compile(source, flags.contains('i'))?
        } else if text.contains(['*', '{']) {
            compile(&glob(text), false)?
        } else if text.contains("://") || text.starts_with("about:") || text.starts_with("data:") {
            PatternKind::Exact
        } else {
            PatternKind::Part
        };
        Ok(Self { text: text.to_owned(), kind })
    }

    /// Whether a URL is meant.
    pub fn matches(&self, url: &str) -> bool {
        match &self.kind {
            PatternKind::Regex(regex) => regex.is_match(url),
            PatternKind::Exact => {
                url.strip_suffix('/').unwrap_or(url)
                    == self.text.strip_suffix('/').unwrap_or(&self.text)
            }
            PatternKind::Part => url.contains(&self.text),
        }
    }

    /// As it was given.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// `/source/flags`. A path such as `/api/users` is none: flags are few letters.
fn between_slashes(text: &str) -> Option<(&str, &str)> {
    let (source, flags) = text.strip_prefix('/')?.rsplit_once('/')?;
    let is_regex = !source.is_empty() && flags.chars().all(|flag| "gimsuy".contains(flag));
    is_regex.then_some((source, flags))
}

/// The regular expression for a glob.
fn glob(text: &str) -> String {
    let mut regex = String::from("^");
    let mut depth = 0_usize;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '*' if characters.peek() == Some(&'*') => {
                while characters.next_if_eq(&'*').is_some() {}
                // `**/` may stand for no segment at all.
                if characters.next_if_eq(&'/').is_some() {
                    regex.push_str("(?:.*/)?");
                } else {
                    regex.push_str(".*");
                }
            }
            '*' => regex.push_str("[^/]*"),
            '{' => {
                depth += 1;
                regex.push_str("(?:");
            }
            '}' if depth > 0 => {
                depth -= 1;
                regex.push(')');
            }
            ',' if depth > 0 => regex.push('|'),
            '\\' => {
                let next = characters.next().unwrap_or('\\');
                regex.push_str(&regex::escape(next.encode_utf8(&mut [0; 4])));
            }
            other => regex.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    for _ in 0..depth {
        regex.push(')');
    }
    regex.push('$');
    regex
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, url: &str) -> bool {
        UrlPattern::parse(pattern).unwrap().matches(url)
    }

    #[test]
    fn each_kind_of_pattern_matches_what_it_means() {
        let url = "http://host:80/api/v1/users?id=7";
        for pattern in [
            "**/api/**",
            "http://host:80/api/v1/users?id=*",
            "**/{users,groups}?id=7",
            "/api\\/V\\d/i",
            "re:users\\?id=\\d$",
            "/api/v1",
            "users?id=7",
            url,
        ] {
            assert!(matches(pattern, url), "{pattern}");
        }
        for pattern in ["*/api/**", "http://host:80/*", "/API/", "http://host:80/api", "**/users"] {
            assert!(!matches(pattern, url), "{pattern}");
        }
        assert!(matches("http://host", "http://host/"));
    }

    #[test]
    fn a_bad_expression_is_refused_by_name() {
        for pattern in ["", "re:(", "/[/"] {
            assert!(matches!(UrlPattern::parse(pattern), Err(Error::InvalidPattern { .. })));
        }
    }
}

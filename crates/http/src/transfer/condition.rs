//! What a conditional or partial request gets, as HTTP has it (RFC 9110, sections 13 and 14): all, a part, word that
//! nothing changed, or a refusal.

use std::ops::Range;

use atoll_operation::Version;
use axum::http::header::{self, HeaderMap, HeaderName};

use super::date;

/// What to answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All of it.
    Whole,
    /// These bytes of it.
    Part(Range<u64>),
    /// The client has it already.
    NotModified,
    /// It is not the version the client insists on.
    Failed,
    /// There are no such bytes.
    Unsatisfiable,
}

/// What is there to be sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) version: Option<&'a Version>,
    /// Its length, where any part of it can be sent.
    pub(super) length: Option<u64>,
    /// Seconds since 1970.
    pub(super) now: i64,
}

impl Subject<'_> {
    /// Judges a `GET` by its headers, in the order the standard prescribes.
    pub(super) fn judge(self, headers: &HeaderMap) -> Verdict {
        let modified = self.version.and_then(|version| version.modified);
        if headers.contains_key(header::IF_MATCH) {
            if !self.has_tag(headers, &header::IF_MATCH, Comparison::Strong) {
                return Verdict::Failed;
            }
        } else if let (Some(then), Some(modified)) =
            (moment(headers, &header::IF_UNMODIFIED_SINCE), modified)
            && modified > then
        {
            return Verdict::Failed;
        }
        if headers.contains_key(header::IF_NONE_MATCH) {
            if self.has_tag(headers, &header::IF_NONE_MATCH, Comparison::Weak) {
                return Verdict::NotModified;
            }
        } else if let (Some(then), Some(modified)) =
            (moment(headers, &header::IF_MODIFIED_SINCE), modified)
            && modified <= then
        {
            return Verdict::NotModified;
        }
        match self.length {
            Some(length) if self.is_range_meant(headers) => part(headers, length),
            _ => Verdict::Whole,
        }
    }

    /// Whether a list of tags names this version; `*` names whatever is there.
    fn has_tag(self, headers: &HeaderMap, name: &HeaderName, comparison: Comparison) -> bool {
        let mut lists = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        lists.any(|list| {
            list.trim() == "*"
                || tags(list).iter().any(|tag| {
                    (comparison == Comparison::Weak || !tag.weak)
                        && self.version.is_some_and(|version| version.tag == tag.text)
                })
        })
    }

    /// Whether a range is to be had of this version rather than of another one, of which the client has a part.
    fn is_range_meant(self, headers: &HeaderMap) -> bool {
        let Some(value) = headers.get(header::IF_RANGE) else {
            return true;
        };
        let Ok(value) = value.to_str() else {
            return false;
        };
        if let Some(then) = date::parse(value) {
            // A second is too coarse to tell versions made within it apart.
            let modified = self.version.and_then(|version| version.modified);
            return modified == Some(then) && then + 1 < self.now;
        }
        self.has_tag(headers, &header::IF_RANGE, Comparison::Strong) && value.trim() != "*"
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    /// Equal to the byte.
    Strong,
    /// As good as equal.
    Weak,
}

struct Tag<'a> {
    text: &'a str,
    weak: bool,
}

fn tags(list: &str) -> Vec<Tag<'_>> {
    let mut tags = Vec::new();
    let mut rest = list;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (weak, quoted) = match rest.strip_prefix("W/") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let Some((text, after)) = quoted.strip_prefix('"').and_then(|text| text.split_once('"'))
        else {
            return tags;
        };
        tags.push(Tag { text, weak });
        rest = after;
    }
}

fn moment(headers: &HeaderMap, name: &HeaderName) -> Option<i64> {
    date::parse(headers.get(name)?.to_str().ok()?)
}

/// The part a request asks for. What cannot be understood is as if it had not been sent, and so are several parts:
/// the standard lets a server answer with the whole.
fn part(headers: &HeaderMap, length: u64) -> Verdict {
    let mut sent = headers.get_all(header::RANGE).iter();
    let (Some(value), None) = (sent.next(), sent.next()) else {
        return Verdict::Whole;
    };
    let range = value.to_str().ok().and_then(|value| value.trim().split_once('='));
    let bounds = match range {
        Some((unit, range)) if unit.eq_ignore_ascii_case("bytes") => range.split_once('-'),
        _ => None,
    };
    let Some((first, last)) = bounds.map(|(first, last)| (first.trim(), last.trim())) else {
        return Verdict::Whole;
    };
    let bytes = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(length),
        (Some(first), None) if last.is_empty() => first..length,
        (None, Some(count)) if first.is_empty() => length.saturating_sub(count)..length,
        _ => return Verdict::Whole,
    };
    if bytes.is_empty() { Verdict::Unsatisfiable } else { Verdict::Part(bytes) }
}

/// A number of any size; one too large to be meant is the largest there is.
fn number(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const MODIFIED: i64 = 784_111_777;
    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const LATER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";
    const EARLIER: &str = "Sun, 06 Nov 1994 08:49:36 GMT";

    fn judge(version: bool, length: Option<u64>, headers: &[(HeaderName, &str)]) -> Verdict {
        let known = Version { tag: "v1".to_owned(), modified: Some(MODIFIED) };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name.clone(), HeaderValue::from_str(value).unwrap());
        }
        let version = version.then_some(&known);
        Subject { version, length, now: MODIFIED + 10 }.judge(&map)
    }

    fn ask(headers: &[(HeaderName, &str)]) -> Verdict {
        judge(true, Some(10), headers)
    }

    #[test]
    fn one_range_is_cut_to_what_is_there() {
        for (range, expected) in [
            ("bytes=0-0", Verdict::Part(0..1)),
            ("bytes=2-4", Verdict::Part(2..5)),
            ("Bytes = 2 - 4", Verdict::Whole),
            ("BYTES=2-4", Verdict::Part(2..5)),
            ("bytes=9-", Verdict::Part(9..10)),
            ("bytes=3-99999999999999999999999", Verdict::Part(3..10)),
            ("bytes=-3", Verdict::Part(7..10)),
            ("bytes=-99", Verdict::Part(0..10)),
            ("bytes=10-", Verdict::Unsatisfiable),
            ("bytes=99999999999999999999999-", Verdict::Unsatisfiable),
            ("bytes=-0", Verdict::Unsatisfiable),
            ("bytes=4-2", Verdict::Whole),
            ("bytes=-", Verdict::Whole),
            ("bytes=a-b", Verdict::Whole),
            ("bytes=+1-2", Verdict::Whole),
            ("bytes=0-1,4-5", Verdict::Whole),
            ("lines=0-1", Verdict::Whole),
            ("", Verdict::Whole),
        ] {
            assert_eq!(ask(&[(header::RANGE, range)]), expected, "{range}");
        }
        let twice = [(header::RANGE, "bytes=0-1"), (header::RANGE, "bytes=2-3")];
        assert_eq!(ask(&twice), Verdict::Whole);
        let range = [(header::RANGE, "bytes=0-")];
        assert_eq!(judge(true, Some(0), &range), Verdict::Unsatisfiable);
        assert_eq!(judge(true, None, &range), Verdict::Whole, "a stream has no parts");
    }

    #[test]
    fn a_range_is_of_the_version_the_client_has_a_part_of() {
        for (if_range, meant) in [
            ("\"v1\"", true),
            ("W/\"v1\"", false),
            ("\"v2\"", false),
            ("*", false),
            (DATE, true),
            (LATER, false),
            (EARLIER, false),
            ("nonsense", false),
        ] {
            let verdict = ask(&[(header::RANGE, "bytes=5-"), (header::IF_RANGE, if_range)]);
            let expected = if meant { Verdict::Part(5..10) } else { Verdict::Whole };
            assert_eq!(verdict, expected, "{if_range}");
        }
        assert_eq!(ask(&[(header::IF_RANGE, "\"v1\"")]), Verdict::Whole);
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, HeaderValue::from_static("bytes=5-"));
        headers.insert(header::IF_RANGE, HeaderValue::from_static(DATE));
        let version = Version { tag: "v1".to_owned(), modified: Some(MODIFIED) };
        let fresh = Subject { version: Some(&version), length: Some(10), now: MODIFIED + 1 };
        assert_eq!(fresh.judge(&headers), Verdict::Whole, "a date so young tells nothing");
    }

    #[test]
    fn what_the_client_has_is_not_sent_again() {
        for (name, value, expected) in [
            (header::IF_NONE_MATCH, "\"v1\"", Verdict::NotModified),
            (header::IF_NONE_MATCH, "\"v0\", W/\"v1\"", Verdict::NotModified),
            (header::IF_NONE_MATCH, "*", Verdict::NotModified),
            (header::IF_NONE_MATCH, "\"v2\"", Verdict::Whole),
            (header::IF_NONE_MATCH, "v1", Verdict::Whole),
            (header::IF_MODIFIED_SINCE, DATE, Verdict::NotModified),
            (header::IF_MODIFIED_SINCE, LATER, Verdict::NotModified),
            (header::IF_MODIFIED_SINCE, EARLIER, Verdict::Whole),
            (header::IF_MODIFIED_SINCE, "soon", Verdict::Whole),
        ] {
            assert_eq!(ask(&[(name, value)]), expected, "{value}");
        }
        let both = [(header::IF_NONE_MATCH, "\"v2\""), (header::IF_MODIFIED_SINCE, LATER)];
        assert_eq!(ask(&both), Verdict::Whole, "a tag says more than a date");
        let lines = [(header::IF_NONE_MATCH, "\"v0\""), (header::IF_NONE_MATCH, "\"v1\"")];
        assert_eq!(ask(&lines), Verdict::NotModified);
        let with_range = [(header::IF_NONE_MATCH, "\"v1\""), (header::RANGE, "bytes=99-")];
        assert_eq!(ask(&with_range), Verdict::NotModified, "conditions come before ranges");
    }

    #[test]
    fn another_version_than_insisted_on_is_refused() {
        for (name, value, expected) in [
            (header::IF_MATCH, "\"v1\"", Verdict::Whole),
            (header::IF_MATCH, "*", Verdict::Whole),
            (header::IF_MATCH, "W/\"v1\"", Verdict::Failed),
            (header::IF_MATCH, "\"v2\", \"v3\"", Verdict::Failed),
            (header::IF_UNMODIFIED_SINCE, DATE, Verdict::Whole),
            (header::IF_UNMODIFIED_SINCE, LATER, Verdict::Whole),
            (header::IF_UNMODIFIED_SINCE, EARLIER, Verdict::Failed),
        ] {
            assert_eq!(ask(&[(name, value)]), expected, "{value}");
        }
        let both = [(header::IF_MATCH, "\"v1\""), (header::IF_UNMODIFIED_SINCE, EARLIER)];
        assert_eq!(ask(&both), Verdict::Whole, "a tag says more than a date");
        assert_eq!(judge(false, Some(10), &[(header::IF_MATCH, "\"v1\"")]), Verdict::Failed);
    }
}

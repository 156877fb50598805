//! Where a request carries credentials: found here, and taken off here before a request is passed on.
//!
//! Names in a query are compared after decoding, in both places alike, so that nothing is found under one spelling and
//! passed on under another.

use std::borrow::Cow;

use atoll_auth::Refusal;
use axum::http::Uri;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::uri::PathAndQuery;

/// Headers that hold a key.
pub(crate) static KEY_HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("x-aio-api-key"), HeaderName::from_static("x-api-key")];
/// Holds the address a proxy asks about.
pub(crate) static ORIGINAL_URI: HeaderName = HeaderName::from_static("x-original-uri");
/// The cookie of a page.
pub(crate) const COOKIE: &str = "atoll_page";
const KEY: &str = "api_key";
const TICKET: &str = "ticket";
/// Exactly this goes before a token.
const BEARER: &str = "Bearer ";
/// Cookies of ours that are looked at: servers under several paths of one host each set their own.
const MOST_COOKIES: usize = 8;

/// A credential in an address.
#[derive(Debug, Default)]
pub(crate) struct InQuery<'a> {
    pub(crate) key: Option<Result<Cow<'a, str>, Refusal>>,
    pub(crate) ticket: Option<Result<Cow<'a, str>, Refusal>>,
}

/// What follows `Bearer ` in the one `Authorization` header.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<Result<&str, Refusal>> {
    let sent = only(headers, &header::AUTHORIZATION)?;
    Some(sent.and_then(|text| {
        let token = text.strip_prefix(BEARER).ok_or(Refusal::Format)?;
        let plain = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        if plain { Ok(token) } else { Err(Refusal::Format) }
    }))
}

/// The value of a header that may be there once.
pub(crate) fn only<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Option<Result<&'a str, Refusal>> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    let readable = first.to_str().ok().filter(|text| !text.is_empty() && values.next().is_none());
    Some(readable.ok_or(Refusal::Format))
}

/// The credentials in a query; the same name twice is none.
pub(crate) fn in_query(query: &str) -> InQuery<'_> {
    let mut found = InQuery::default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let place = match name.as_ref() {
            KEY => &mut found.key,
            TICKET => &mut found.ticket,
            _ => continue,
        };
        *place = Some(if place.is_some() { Err(Refusal::Format) } else { Ok(value) });
    }
    found
}

/// The values of our cookie.
pub(crate) fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).map(str::trim);
    pairs.filter_map(own_cookie).take(MOST_COOKIES)
}

fn own_cookie(pair: &str) -> Option<&str> {
    pair.strip_prefix(COOKIE)?.strip_prefix('=')
}

/// Whether a part of a query is a credential.
pub(crate) fn is_credential(part: &str) -> bool {
    let name = form_urlencoded::parse(part.as_bytes()).next();
    name.is_some_and(|(name, _)| name == KEY || name == TICKET)
}

/// Whether a part of a query is a key, which is good for more than one address and for long.
pub(crate) fn is_key(part: &str) -> bool {
    let name = form_urlencoded::parse(part.as_bytes()).next();
    name.is_some_and(|(name, _)| name == KEY)
}

/// Takes every credential off a request that is passed on to somebody else.
pub(crate) fn take_off(headers: &mut HeaderMap, uri: &mut Uri) {
    headers.remove(header::AUTHORIZATION);
    for name in &KEY_HEADERS {
        headers.remove(name);
    }
    let lines: Vec<_> = headers.get_all(header::COOKIE).iter().cloned().collect();
    headers.remove(header::COOKIE);
    for line in lines {
        let Ok(text) = line.to_str() else {
            // Cannot be searched, so cannot be passed on.
            continue;
        };
        let others: Vec<_> =
            text.split(';').map(str::trim).filter(|pair| own_cookie(pair).is_none()).collect();
        let others = others.join("; ");
        if !others.is_empty()
            && let Ok(others) = HeaderValue::from_str(&others)
        {
            headers.append(header::COOKIE, others);
        }
    }
    if let Some(query) = uri.query().filter(|query| query.split('&').any(is_credential)) {
        let kept: Vec<_> = query.split('&').filter(|part| !is_credential(part)).collect();
        let target = if kept.is_empty() {
            uri.path().to_owned()
        } else {
            format!("{}?{}", uri.path(), kept.join("&"))
        };
        // Parts of a target that was one are one again.
        if let Ok(target) = target.parse::<PathAndQuery>() {
            let mut parts = std::mem::take(uri).into_parts();
            parts.path_and_query = Some(target);
            *uri = Uri::from_parts(parts).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        let mut map = HeaderMap::new();
        for (name, value) in pairs.iter().map(pair) {
            map.append(name, value);
        }
        map
    }

    #[test]
    fn a_bearer_is_written_one_way() {
        let of = |value: &str| {
            let sent = headers(&[("authorization", value)]);
            bearer(&sent).unwrap().map(str::to_owned)
        };
        assert_eq!(of("Bearer abc"), Ok("abc".to_owned()));
        for wrong in [
            "",
            "abc",
            "Bearer",
            "Bearer ",
            "bearer abc",
            "BEARER abc",
            "Bearer  abc",
            "Bearer a b",
            "Bearer\tabc",
            "Basic abc",
            "Bearer abc ",
        ] {
            assert_eq!(of(wrong), Err(Refusal::Format), "{wrong:?}");
        }
        let twice = headers(&[("authorization", "Bearer a"), ("authorization", "Bearer a")]);
        assert_eq!(bearer(&twice), Some(Err(Refusal::Format)));
        assert_eq!(bearer(&HeaderMap::new()), None);
    }

    #[test]
    fn a_query_is_read_as_it_is_taken_off() {
        let found = in_query("x=1&%74icket=a%2Db&api_key=k");
        assert_eq!(found.ticket.unwrap().unwrap(), "a-b");
        assert_eq!(found.key.unwrap().unwrap(), "k");
        assert_eq!(in_query("ticket=a&ticket=a").ticket.unwrap(), Err(Refusal::Format));
        assert!(in_query("Ticket=a&tickets=b&xticket=c&x=ticket=1").ticket.is_none());
    }

    #[test]
    fn nothing_of_ours_is_passed_on_and_all_else_is() {
        let mut sent = headers(&[
            ("authorization", "Bearer s3cret"),
            ("x-api-key", "s3cret"),
            ("x-aio-api-key", "s3cret"),
            ("cookie", "a=1; atoll_page=s3cret; b=2"),
            ("cookie", "atoll_page=s3cret"),
            ("x-other", "kept"),
        ]);
        for (target, left) in [
            ("/lab?ticket=s3cret", "/lab"),
            ("/lab?a=%20&ticket=s3cret&b=1", "/lab?a=%20&b=1"),
            ("/lab?%74%69cket=s3cret&api_key=s3cret&x", "/lab?x"),
            ("/lab?a=1&&b", "/lab?a=1&&b"),
            ("http://h/lab?ticket=s3cret&x=1", "http://h/lab?x=1"),
        ] {
            let mut uri: Uri = target.parse().unwrap();
            take_off(&mut sent, &mut uri);
            assert_eq!(uri.to_string(), left);
        }
        assert!(!format!("{sent:?}").contains("s3cret"));
        assert_eq!(
            (&sent["cookie"], &sent["x-other"]),
            (&"a=1; b=2".parse().unwrap(), &"kept".parse().unwrap())
        );
    }

    /// A part of a query, a credential or not.
    const PART: &str = "(ticket|%74icket|api_key|api%5Fkey|x|tickets|)(=[a-z%2-9&]{0,4})?";

    proptest! {
        /// Whatever is found is taken off, and nothing else is touched.
        #[test]
        fn what_is_found_in_a_query_is_what_is_taken_off(
            parts in prop::collection::vec(PART, 0..6)
        ) {
            let query = parts.join("&");
            prop_assume!(format!("/p?{query}").parse::<Uri>().is_ok());
            let mut uri: Uri = format!("/p?{query}").parse().unwrap();
            take_off(&mut HeaderMap::new(), &mut uri);
            let left = uri.query().unwrap_or_default();
            let found = in_query(left);
            prop_assert!(found.key.is_none() && found.ticket.is_none(), "{query} left {left}");
            let others = |query: &str| {
                form_urlencoded::parse(query.as_bytes())
                    .into_owned()
                    .filter(|(name, _)| name != KEY && name != TICKET)
                    .collect::<Vec<_>>()
            };
            prop_assert_eq!(others(&query), others(left));
        }

        /// No header makes the search for credentials fail in another way than by refusing.
        #[test]
        fn any_header_is_read_or_refused(value in "[ -~]{0,40}") {
            let sent = headers(&[("authorization", &value), ("cookie", &value)]);
            if let Some(Ok(token)) = bearer(&sent) {
                prop_assert!(value.starts_with("Bearer ") && !token.contains(' '));
            }
            for text in cookies(&sent) {
                let pair = format!("atoll_page={text}");
                prop_assert!(value.contains(&pair));
            }
        }
    }

    #[test]
    fn our_cookie_is_found_among_others() {
        let sent = headers(&[
            ("cookie", "x=1; atoll_page=one;atoll_page=two"),
            ("cookie", "atoll_pagex=3"),
        ]);
        assert_eq!(cookies(&sent).collect::<Vec<_>>(), ["one", "two"]);
    }
}

//! Authentication, before anything is routed: who sends a request, or why it goes no further.
//!
//! A request may carry several credentials; the first good one counts. The decision looks at the exact path and the
//! method, never at what a query or an extension looks like. Only what [`PUBLIC`] lists is answered to everybody, and the
//! published scripts that pages of others load from here.

use std::borrow::Cow;
use std::sync::Arc;

use atoll_auth::{Authenticator, How, Policy, Presented, Principal, Refusal};
use atoll_operation::{Error, Kind};
use axum::extract::Request;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, Uri};
use axum::response::Response;

use crate::assets::is_public;
use crate::credential::{self, COOKIE, KEY_HEADERS, ORIGINAL_URI};
use crate::dialect::Failure;
use crate::origin::{prefix, protocol};
use crate::passage::Passage;
use crate::preview::Named;

/// Answered to everybody who asks with `GET` or `HEAD`: that the server lives, and its version.
pub(crate) const PUBLIC: [&str; 2] = ["/health", "/v1/ping"];
/// The API's description, which clients that know nothing but a shared secret expect to read without it.
const DESCRIPTION: [&str; 3] = ["/docs", "/v1/docs", "/v1/openapi.json"];
/// Asks about another request.
const ASKING: &str = "/auth";

/// As whom a request goes on.
#[derive(Debug, Clone)]
pub(crate) enum Standing {
    /// For something that is answered to everybody.
    Public,
    /// As this one.
    Known(Arc<Principal>),
}

/// A request that goes on.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) standing: Standing,
    /// A browser shows a page for which the address held the credential; its files need another.
    pub(crate) visit: Option<Visit>,
}

/// A browser's visit to a page.
#[derive(Debug)]
pub(crate) struct Visit {
    prefix: String,
    secure: bool,
}

/// Decides who a request is from. `own` says that a browser sent it from one of our own pages, if a browser sent it.
pub(crate) fn admit<B>(
    authenticator: &Authenticator,
    request: &Request<B>,
    own: bool,
) -> Result<Admitted, Failure> {
    let (uri, headers) = (request.uri(), request.headers());
    let asked = matches!(*request.method(), Method::GET | Method::HEAD);
    let described = DESCRIPTION.contains(&uri.path()) || uri.path().starts_with("/v1/docs/");
    let public =
        PUBLIC.contains(&uri.path()) || described && authenticator.asks_for_a_secret_alone();
    // What is public here is not so in an app that happens to have the same path.
    let ours = request.extensions().get::<Named>().is_none();
    if ours && (asked && public || is_public(request.method(), uri.path())) {
        return Ok(Admitted { standing: Standing::Public, visit: None });
    }
    let known = |principal| Admitted { standing: Standing::Known(principal), visit: None };
    if authenticator.policy() == Policy::Open {
        return authenticator.without().map(known).map_err(refuse);
    }
    if let Err(reason @ Refusal::Unconfigured) = authenticator.without() {
        return Err(refuse(reason));
    }
    let mut refusal = None;
    let mut check = |presented: Option<Result<Presented<'_>, Refusal>>| {
        let checked = presented?.and_then(|presented| authenticator.check(presented));
        checked.map_err(|reason| refusal.get_or_insert(reason)).ok()
    };

    let by_header = check(credential::bearer(headers).map(|sent| sent.map(Presented::Bearer)))
        .or_else(|| {
            KEY_HEADERS.iter().find_map(|name| {
                check(credential::only(headers, name).map(|sent| sent.map(Presented::Key)))
            })
        });
    if let Some(principal) = by_header {
        return Ok(known(principal));
    }

    let original = original(uri, headers).filter(|_| ours);
    let meant = original.as_ref().unwrap_or(uri);
    let sent = credential::in_query(meant.query().unwrap_or_default());
    let by_query = check(as_sent(sent.key.as_ref(), Presented::Key))
        .or_else(|| check(as_sent(sent.ticket.as_ref(), Presented::Ticket)));
    if let Some(principal) = by_query {
        let visit = is_visit(request).then(|| Visit {
            prefix: prefix(headers).to_owned(),
            secure: protocol(headers) == "https",
        });
        return Ok(Admitted { visit, ..known(principal) });
    }

    // A cookie comes by itself, whoever made the browser ask: it counts only for our own pages.
    let mut pages = credential::cookies(headers);
    let by_cookie = pages
        .find_map(|text| authenticator.check(Presented::Page { text, path: meant.path() }).ok());
    match (by_cookie, refusal) {
        (Some(principal), _) if own => Ok(known(principal)),
        (Some(_), None) => Err(foreign_cookie()),
        (_, Some(reason)) => Err(refuse(reason)),
        (None, None) => authenticator.without().map(known).map_err(refuse),
    }
}

/// A credential in an address as a kind of credential.
fn as_sent<'a>(
    sent: Option<&'a Result<Cow<'_, str>, Refusal>>,
    kind: fn(&'a str) -> Presented<'a>,
) -> Option<Result<Presented<'a>, Refusal>> {
    sent.map(|sent| sent.as_deref().map(kind).map_err(|reason| *reason))
}

/// The address a proxy asks about.
fn original(uri: &Uri, headers: &HeaderMap) -> Option<Uri> {
    let asking = uri.path() == ASKING;
    let address = headers.get(&ORIGINAL_URI).filter(|_| asking)?;
    address.to_str().ok()?.parse().ok()
}

/// Whether a browser asks for a page to show.
fn is_visit<B>(request: &Request<B>) -> bool {
    static DESTINATION: HeaderName = HeaderName::from_static("sec-fetch-dest");
    let headers = request.headers();
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let shown = match text(&DESTINATION) {
        Some(destination) => ["document", "iframe", "frame"].contains(&destination),
        None => text(&header::ACCEPT).is_some_and(|accepted| accepted.contains("text/html")),
    };
    request.method() == Method::GET && !headers.contains_key(header::UPGRADE) && shown
}

impl Visit {
    /// Gives the browser what the files of the page need: a cookie for the page's base and what is below, and nothing
    /// else.
    pub(crate) fn welcome(
        &self,
        authenticator: &Authenticator,
        principal: &Principal,
        passage: &Passage,
        response: &mut Response,
    ) {
        let base = passage.base();
        if response.status().is_client_error() || response.status().is_server_error() {
            return;
        }
        let page = match authenticator.issue_page(principal, base) {
            Ok(page) => page.text,
            Err(error) => {
                tracing::warn!(%error, "a page gets no cookie");
                return;
            }
        };
        let Self { prefix, secure } = self;
        let path = match format!("{prefix}{base}").trim_end_matches('/') {
            "" => "/".to_owned(),
            path => path.to_owned(),
        };
        let secure = if *secure { "; Secure" } else { "" };
        // A browser that follows a link to an app is sent round once, and must bring the cookie then.
        let site = if passage.is_for_app() { "Lax" } else { "Strict" };
        let cookie = format!("{COOKIE}={page}; Path={path}; HttpOnly; SameSite={site}{secure}");
        if let Ok(mut cookie) = HeaderValue::from_str(&cookie) {
            cookie.set_sensitive(true);
            let headers = response.headers_mut();
            headers.append(header::SET_COOKIE, cookie);
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
    }
}

fn refuse(reason: Refusal) -> Failure {
    let code = match reason {
        Refusal::Unconfigured => "auth.unconfigured",
        Refusal::Missing => "auth.missing",
        Refusal::Format => "auth.format",
        _ => "auth.invalid",
    };
    Error::new(Kind::Unauthenticated, code, reason.message()).with_hint(reason.advice()).into()
}

fn foreign_cookie() -> Failure {
    let message = "a page of another origin may not use this server's cookie";
    Error::new(Kind::Unauthenticated, "auth.origin", message)
        .with_hint("Send a credential in a header instead.")
        .into()
}

/// Whether somebody of this standing may do what needs this scope.
pub(crate) fn permit(standing: Option<&Standing>, scope: &str) -> Result<(), Failure> {
    match standing {
        Some(Standing::Public) => Ok(()),
        Some(Standing::Known(principal)) if principal.scopes.permit(scope) => Ok(()),
        Some(Standing::Known(principal)) => {
            let what = match principal.how {
                How::Ticket | How::Page => "whoever asked for this ticket",
                _ => "this credential",
            };
            let message = format!("{what} lacks the scope {scope}");
            let area = scope.split(':').next().unwrap_or_default();
            Err(Error::new(Kind::PermissionDenied, "auth.scope", message)
                .with_hint(format!("Use a credential with the scope {scope} or {area}."))
                .into())
        }
        // Nothing reaches a route without one; if it did, it must not go on.
        None => Err(refuse(Refusal::Missing)),
    }
}

/// Adds what an answer to somebody who was not let in must say.
pub(crate) fn challenge(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

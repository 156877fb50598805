//! What is answered where no app answers: to a person a page that shows the app once it does, to a program an error.

use atoll_proxy::ProxyError;
use axum::body::Body;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use uuid::Uuid;

use crate::dialect::{Failure, aio};

const PAGE: &str = include_str!("absent.html");
/// Tells our page that it is not the app that answers.
static MARK: HeaderName = HeaderName::from_static("x-atoll-preview");

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absence {
    /// Nobody listens on the port.
    Nobody,
    /// Whoever listens broke off, or speaks no HTTP.
    Broken,
    /// No answer came in time.
    Slow,
}

impl From<&ProxyError> for Absence {
    fn from(error: &ProxyError) -> Self {
        match error {
            ProxyError::Unreachable { .. } => Self::Nobody,
            ProxyError::Broken { .. } => Self::Broken,
        }
    }
}

/// Who asked, as far as it decides what is answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asker {
    /// A browser that shows a page.
    pub(super) person: bool,
}

impl Asker {
    pub(super) fn of(method: &Method, headers: &HeaderMap) -> Self {
        let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let page = accepted.is_some_and(|accepted| accepted.contains("text/html"));
        Self { person: page && *method == Method::GET }
    }
}

impl Absence {
    fn told(self, port: u16) -> (StatusCode, &'static str, String) {
        match self {
            Self::Nobody => (
                StatusCode::SERVICE_UNAVAILABLE,
                "preview.nothing_listens",
                format!("nothing listens on port {port}; start the app there"),
            ),
            Self::Broken => (
                StatusCode::BAD_GATEWAY,
                "preview.broken",
                format!(
                    "the program on port {port} broke off without an HTTP answer; look at its log"
                ),
            ),
            Self::Slow => (
                StatusCode::GATEWAY_TIMEOUT,
                "preview.slow",
                format!("the app on port {port} did not answer in time; look at its log"),
            ),
        }
    }

    /// The answer.
    pub(super) fn answer(self, port: u16, asker: Asker) -> Response {
        let (status, code, message) = self.told(port);
        let mut response = if asker.person {
            self.page(port, &message)
        } else {
            aio::failure(&Failure::new(status, code, message), None)
        };
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(&MARK, HeaderValue::from_static(code));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }

    fn page(self, port: u16, message: &str) -> Response {
        let nonce = Uuid::now_v7().simple().to_string();
        let title = match self {
            Self::Nobody => format!("Nothing listens on port {port} yet"),
            Self::Broken | Self::Slow => format!("The app on port {port} does not answer"),
        };
        let text = message[..1].to_uppercase() + &message[1..] + ".";
        let page = PAGE
            .replace("{{title}}", &title)
            .replace("{{text}}", &text)
            .replace("{{next}}", "This page shows the app as soon as it answers.")
            .replace("{{nonce}}", &nonce);
        let policy = format!(
            "default-src 'none'; connect-src 'self'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'"
        );
        let mut response = Response::new(Body::from(page));
        let headers = response.headers_mut();
        let content_type = HeaderValue::from_static("text/html; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, content_type);
        if let Ok(policy) = HeaderValue::from_str(&policy) {
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asker(method: &Method, accept: &'static str) -> Asker {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        Asker::of(method, &headers)
    }

    #[test]
    fn people_get_a_page_and_programs_an_error() {
        let person = asker(&Method::GET, "text/html,*/*;q=0.8");
        let page = Absence::Nobody.answer(3000, person);
        assert_eq!(page.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(page.headers().contains_key(&MARK));
        let policy = page.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("script-src 'nonce-") && !policy.contains("unsafe"));
        for (method, accept) in [
            (Method::GET, "application/json"),
            (Method::GET, "*/*"),
            (Method::POST, "text/html"),
            (Method::HEAD, "text/html"),
        ] {
            let told = Absence::Broken.answer(3000, asker(&method, accept));
            assert_eq!(told.status(), StatusCode::BAD_GATEWAY, "{method} {accept}");
            assert_eq!(told.headers()[header::CONTENT_TYPE], "application/json");
            assert!(told.headers().contains_key(&MARK), "our page must see who answers");
        }
    }
}

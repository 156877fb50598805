//! Routes: which requests are answered here, and how.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::NetworkError;
use super::headers::{HeaderMap, check_answer};
use crate::Result;
use crate::pattern::UrlPattern;

/// Routes one context may have.
const MOST: usize = 1000;

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It passes.
    Pass,
    /// It fails.
    Abort,
    /// It gets this.
    Mock(Mock),
}

/// A made-up answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mock {
    /// Its status.
    pub status: u16,
    /// Its headers; a name given several times has its values on several lines.
    pub headers: HeaderMap,
    /// Its body.
    pub body: String,
    /// Media type of the body, unless the headers name one.
    pub content_type: String,
}

/// Routes, the strongest last.
#[derive(Debug, Default)]
pub(super) struct Routes {
    list: Vec<Route>,
}

#[derive(Debug)]
struct Route {
    text: String,
    pattern: UrlPattern,
    answer: Answer,
}

impl Routes {
    /// Adds one as the strongest, in place of one with the same pattern.
    pub(super) fn add(&mut self, text: &str, answer: Answer) -> Result<()> {
        let pattern = UrlPattern::parse(text)?;
        if let Answer::Mock(mock) = &answer {
            check_answer(&mock.headers)?;
        }
        let others = self.list.iter().filter(|route| route.text != text).count();
        if others >= MOST {
            return Err(NetworkError::TooManyRoutes { max: MOST }.into());
        }
        self.list.retain(|route| route.text != text);
        self.list.push(Route { text: text.to_owned(), pattern, answer });
        Ok(())
    }

    /// Removes the one with this pattern.
    pub(super) fn remove(&mut self, text: &str) -> Result<()> {
        let before = self.list.len();
        self.list.retain(|route| route.text != text);
        if self.list.len() < before {
            return Ok(());
        }
        Err(NetworkError::NoSuchRoute { pattern: text.to_owned(), known: self.patterns() }.into())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Their patterns, the strongest first.
    pub(super) fn patterns(&self) -> Vec<String> {
        self.list.iter().rev().map(|route| route.text.clone()).collect()
    }

    /// The strongest one for this address, by its pattern.
    pub(super) fn find(&self, url: &str) -> Option<(&str, &Answer)> {
        let mut strongest = self.list.iter().rev();
        let route = strongest.find(|route| route.pattern.matches(url))?;
        Some((&route.text, &route.answer))
    }
}

impl Mock {
    /// What the browser is told to take for the answer to this request. A page of another origin may read it: whoever
    /// makes an answer up wants it to arrive.
    pub(super) fn fulfilment(&self, request_id: &str, request: &Value) -> Value {
        let mut headers = self.headers.clone();
        let has = |headers: &HeaderMap, name: &str| {
            headers.keys().any(|known| known.eq_ignore_ascii_case(name))
        };
        if !has(&headers, "content-type") && !self.content_type.is_empty() {
            headers.insert("Content-Type".to_owned(), self.content_type.clone());
        }
        let asked = request["headers"].as_object();
        if let Some(origin) = header(asked, "origin")
            && !has(&headers, "access-control-allow-origin")
        {
            headers.insert("Access-Control-Allow-Origin".to_owned(), origin.to_owned());
            headers.insert("Access-Control-Allow-Credentials".to_owned(), "true".to_owned());
        }
        let mut status = self.status;
        let mut body = self.body.as_str();
        if let Some(method) = header(asked, "access-control-request-method")
            && request["method"] == "OPTIONS"
        {
            // The browser's own question whether the page may ask at all.
            (status, body) = (204, "");
            headers.insert("Access-Control-Allow-Methods".to_owned(), method.to_owned());
            let wanted = header(asked, "access-control-request-headers").unwrap_or("*");
            headers.insert("Access-Control-Allow-Headers".to_owned(), wanted.to_owned());
        }
        let lines = headers.iter().flat_map(|(name, values)| {
            values.split('\n').map(move |value| json!({"name": name, "value": value}))
        });
        json!({
            "requestId": request_id,
            "responseCode": status,
            "responseHeaders": lines.collect::<Vec<_>>(),
            "body": STANDARD.encode(body),
        })
    }
}

fn header<'a>(headers: Option<&'a Map<String, Value>>, name: &str) -> Option<&'a str> {
    let mut entries = headers?.iter();
    entries.find(|(known, _)| known.eq_ignore_ascii_case(name))?.1.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mock(body: &str) -> Answer {
        Answer::Mock(Mock {
            status: 200,
            headers: HeaderMap::new(),
            body: body.to_owned(),
            content_type: "text/plain".to_owned(),
        })
    }

    #[test]
    fn the_route_added_last_wins_and_a_pattern_is_there_once() {
        let mut routes = Routes::default();
        routes.add("**/*", Answer::Abort).unwrap();
        routes.add("**/api/*", mock("1")).unwrap();
        let url = "http://h/api/x";
        assert_eq!(routes.find(url), Some(("**/api/*", &mock("1"))));
        routes.add("**/*", Answer::Pass).unwrap();
        assert_eq!(routes.find(url), Some(("**/*", &Answer::Pass)));
        assert_eq!(routes.patterns(), ["**/*", "**/api/*"]);
        routes.remove("**/*").unwrap();
        assert_eq!(routes.find(url), Some(("**/api/*", &mock("1"))));
        assert_eq!(routes.find("http://h/other"), None);
        let error = routes.remove("**/*").unwrap_err().to_string();
        assert!(error.contains("**/api/*"), "{error}");
    }

    #[test]
    fn a_page_of_another_origin_may_read_what_was_made_up() {
        let Answer::Mock(mock) = mock("x") else { unreachable!() };
        let request = json!({"method": "GET", "headers": {"Origin": "http://page"}});
        let answer = mock.fulfilment("1", &request).to_string();
        assert!(answer.contains(r#""value":"http://page""#), "{answer}");
        let request = json!({"method": "OPTIONS", "headers": {
            "Origin": "http://page", "Access-Control-Request-Method": "PUT",
        }});
        let answer = mock.fulfilment("1", &request);
        assert_eq!((&answer["responseCode"], &answer["body"]), (&json!(204), &json!("")));
        assert!(answer.to_string().contains(r#""value":"PUT""#), "{answer}");
        let plain = mock.fulfilment("1", &json!({"method": "GET", "headers": {}}));
        assert_eq!(
            plain["responseHeaders"],
            json!([{"name": "Content-Type", "value": "text/plain"}])
        );
        assert_eq!(plain["body"], "eA==");
    }
}

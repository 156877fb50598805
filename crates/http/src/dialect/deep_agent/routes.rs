//! The routes this family has beside those both families share, each one of our operations.

use atoll_operation::{Error, FieldError, Method};
use serde_json::{Map, Value, json};

use crate::dialect::Failure;

/// Another way to an operation.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// Id of the operation.
    pub(crate) operation: &'static str,
    /// Fields that must be there, whatever the operation itself asks for.
    required: &'static [&'static str],
    read: fn(&mut Map<String, Value>),
    pub(crate) answer: Answer,
}

/// How a result is told on a route.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    /// As it is.
    Whole,
    /// As the value of this field.
    Under(&'static str),
    /// Only this field of it.
    Only(&'static str),
    /// Bytes in base64, as the value of this field.
    Encoded(&'static str),
    /// As it comes, event by event.
    Stream,
}

const fn get(path: &'static str, operation: &'static str, answer: Answer) -> Route {
    Route { method: Method::Get, path, operation, required: &[], read: as_it_is, answer }
}

const fn post(
    path: &'static str,
    operation: &'static str,
    required: &'static [&'static str],
    answer: Answer,
) -> Route {
    Route { method: Method::Post, path, operation, required, read: as_it_is, answer }
}

impl Route {
    const fn reading(mut self, read: fn(&mut Map<String, Value>)) -> Self {
        self.read = read;
        self
    }

    /// Makes what was sent to this route an input of its operation.
    pub(crate) fn read(&self, input: &mut Map<String, Value>) -> Result<(), Failure> {
        let absent = |name: &&&str| {
            input.get(**name).is_none_or(|value| value.is_null() || *value == json!(""))
        };
        let missing: Vec<_> = self
            .required
            .iter()
            .filter(absent)
            .map(|name| FieldError {
                path: vec![(*name).to_owned()],
                message: "is required".to_owned(),
                rule: "missing",
            })
            .collect();
        if !missing.is_empty() {
            return Err(Error::invalid_input(missing).into());
        }
        (self.read)(input);
        Ok(())
    }

    /// A result as this route tells it.
    pub(crate) fn tell(&self, mut result: Value) -> Value {
        match self.answer {
            Answer::Under(field) => json!({field: result}),
            Answer::Only(field) => json!({field: result[field].take()}),
            Answer::Whole | Answer::Encoded(_) | Answer::Stream => result,
        }
    }
}

/// Every such route. The first spelling of the last pairs is the server's, the second its SDK's.
pub(crate) static ROUTES: &[Route] = &[
    post("/v1/bash/exec/stream", "bash_exec", &["command"], Answer::Stream),
    post("/v1/browser/navigate", "browser_navigate", &["url"], Answer::Whole),
    post("/v1/browser/screenshot", "browser_screenshot", &[], Answer::Encoded("screenshot"))
        .reading(screenshot),
    post("/v1/browser/click", "browser_click", &["selector"], Answer::Whole),
    post("/v1/browser/type", "browser_type", &["selector", "text"], Answer::Whole),
    post("/v1/browser/evaluate", "browser_evaluate", &["expression"], Answer::Under("result")),
    post("/v1/browser/scroll", "browser_scroll_to", &[], Answer::Whole),
    post("/v1/browser/html", "browser_get_html", &["selector"], Answer::Under("html"))
        .reading(outer),
    post("/v1/browser/pdf", "browser_pdf", &[], Answer::Encoded("pdf")),
    get("/v1/browser/url", "browser_page_info", Answer::Only("url")),
    get("/v1/browser/title", "browser_page_info", Answer::Only("title")),
    get("/v1/browser/page", "browser_page_info", Answer::Whole),
    post("/v1/browser/wait", "browser_wait", &["selector"], Answer::Whole).reading(visible),
    post("/v1/browser/wait-visible", "browser_wait", &["selector"], Answer::Whole).reading(visible),
];

fn as_it_is(_: &mut Map<String, Value>) {}

fn screenshot(input: &mut Map<String, Value>) {
    if let Some(full) = input.remove("full") {
        input.insert("full_page".to_owned(), full);
    }
    // Its client sends what nobody chose as an empty text and 0.
    input.retain(|name, value| {
        !(name == "format" && value == "" || name == "quality" && *value == json!(0))
    });
    if let Some(Value::String(format)) = input.get_mut("format") {
        format.make_ascii_lowercase();
    }
}

fn outer(input: &mut Map<String, Value>) {
    input.insert("outer".to_owned(), json!(true));
}

fn visible(input: &mut Map<String, Value>) {
    input.insert("type".to_owned(), json!("selector"));
    input.insert("state".to_owned(), json!("visible"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_route_leads_to_a_declared_operation_and_none_is_taken() {
        let mut taken: BTreeSet<_> = atoll_api::operations()
            .map(|declared| (declared.spec.method.as_str(), declared.spec.path))
            .collect();
        for route in ROUTES {
            let known = atoll_api::operations().any(|known| known.spec.id == route.operation);
            assert!(known, "{} leads nowhere", route.path);
            assert!(taken.insert((route.method.as_str(), route.path)), "{} is taken", route.path);
        }
    }

    #[test]
    fn inputs_are_read_as_meant() {
        let table = [
            (
                "/v1/browser/screenshot",
                json!({"format": "", "quality": 0, "full": true}),
                json!({"full_page": true}),
            ),
            (
                "/v1/browser/screenshot",
                json!({"format": "PNG", "quality": 80}),
                json!({"format": "png", "quality": 80}),
            ),
            ("/v1/browser/html", json!({"selector": "p"}), json!({"selector": "p", "outer": true})),
            (
                "/v1/browser/wait",
                json!({"selector": "p"}),
                json!({"selector": "p", "type": "selector", "state": "visible"}),
            ),
            ("/v1/browser/click", json!({"selector": "p"}), json!({"selector": "p"})),
        ];
        for (path, sent, read) in table {
            let route = ROUTES.iter().find(|route| route.path == path).unwrap();
            let Value::Object(mut input) = sent else { unreachable!("an object") };
            assert!(route.read(&mut input).is_ok());
            assert_eq!(Value::Object(input), read, "{path}");
        }
    }

    #[test]
    fn what_a_route_needs_is_named() {
        for route in ROUTES {
            let Some(first) = route.required.first() else { continue };
            for nothing in [None, Some(Value::Null), Some(json!(""))] {
                let mut input: Map<_, _> =
                    nothing.into_iter().map(|value| ((*first).to_owned(), value)).collect();
                let failure = route.read(&mut input).unwrap_err();
                assert_eq!(failure.error.fields()[0].path, [*first], "{}", route.path);
            }
        }
    }

    #[test]
    fn results_are_told_as_each_route_does() {
        let of = |path: &str| ROUTES.iter().find(|route| route.path == path).unwrap();
        let page = json!({"url": "u", "title": "t"});
        assert_eq!(of("/v1/browser/url").tell(page.clone()), json!({"url": "u"}));
        assert_eq!(of("/v1/browser/page").tell(page.clone()), page);
        assert_eq!(of("/v1/browser/evaluate").tell(json!([1])), json!({"result": [1]}));
    }
}

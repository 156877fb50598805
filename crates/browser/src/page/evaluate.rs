//! Running code in a page.
//!
//! Code may be an expression, a function, several statements, or the inside of a function with a bare `return`. Most
//! of it is an expression, or a function, which is one: that is tried first. What is no expression does not even begin
//! to run, so the other readings can be tried after it without doing anything twice. Most results are a text or a
//! number, which come with the answer; anything else is turned into JSON in the page (see `result.js`), in the same round
//! trip where the code looks like it, else in another one.

use std::sync::Arc;
use std::time::Duration;

use atoll_cdp::CdpError;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::error::Error;
use crate::frame::thrown;
use crate::tab::Tab;

/// Runs code and turns its result into JSON.
const RESULT: &str = include_str!("result.js");
/// Levels of a result: what a JSON parser takes, with room for what is around it.
const DEPTH: usize = 100;
/// How long a page that is not busy takes to answer, even on a slow machine.
const IDLE: Duration = Duration::from_secs(2);
/// How long stopping code may take.
const STOPPED: Duration = Duration::from_secs(5);

impl Tab {
    /// Runs code in the page's main frame and returns what it comes to, as JSON. Code that does not end in time is
    /// stopped; the page lives on.
    pub async fn evaluate(self: &Arc<Self>, code: &str, within: Duration) -> Result<Value, Error> {
        let acts = may_act(code);
        if acts {
            self.begin_action();
        } else {
            self.begin_look();
        }
        let run = Run { tab: self, deadline: Instant::now() + within, within, acts };
        let code = code.trim();
        let expression = code.trim_end_matches(|last: char| last == ';' || last.is_whitespace());
        if expression.is_empty() {
            return Ok(Value::Null);
        }
        let reading = format!("async () => (\n{expression}\n)");
        let done = if yields_an_object(expression) {
            run.wrapped(&reading).await
        } else {
            run.called(&reading).await
        };
        match done {
            Err(Error::Syntax { .. }) => {}
            other => return other,
        }
        let first = match run.statements(code).await {
            Err(Error::Syntax { message }) => message,
            other => return other,
        };
        match run.wrapped(&format!("async () => {{\n{code}\n}}")).await {
            // What is wrong with it as it stands, unless that is only the `return`.
            Err(Error::Syntax { message }) if first.contains("return") => {
                Err(Error::Syntax { message })
            }
            Err(Error::Syntax { .. }) => Err(Error::Syntax { message: first }),
            other => other,
        }
    }

    /// Runs an expression, or a function, again and again until it comes to something true; `None` when the time is
    /// up.
    pub(super) async fn evaluate_until_true(
        self: &Arc<Self>,
        code: &str,
        every: Option<Duration>,
        within: Duration,
    ) -> Result<Option<Value>, Error> {
        let run = Run { tab: self, deadline: Instant::now() + within, within, acts: true };
        let code = code.trim();
        let expression = code.trim_end_matches(|last: char| last == ';' || last.is_whitespace());
        let forms =
            [format!("async () => (\n{expression}\n)"), format!("async () => {{\n{code}\n}}")];
        let mut refused = None;
        for form in forms {
            let every =
                every.map_or_else(|| "null".to_owned(), |every| every.as_millis().to_string());
            let looking = format!("() => ({LOOK})({form}, {every}, {})", within.as_millis());
            match run.wrapped(&looking).await {
                Err(Error::Syntax { message }) => refused.get_or_insert(message),
                Ok(Value::Null) => return Ok(None),
                Ok(found) => return Ok(found.get(0).cloned()),
                Err(error) => return Err(error),
            };
        }
        Err(Error::Syntax { message: refused.unwrap_or_default() })
    }
}

/// Looks until the code comes to something true, which is answered in a list, or the time is up. A page that draws
/// nothing, in the background say, is looked at ten times a second.
const LOOK: &str = "async (code, every, within) => {
  const end = performance.now() + within;
  for (;;) {
    let value = await code();
    if (typeof value === 'function') value = await value();
    if (value) return [value];
    const left = end - performance.now();
    if (left <= 0) return null;
    await new Promise((go) => {
      setTimeout(go, Math.min(left, every ?? 100));
      if (every === null) requestAnimationFrame(go);
    });
  }
}";

/// Whether code probably comes to an object, or to a function, which is called. A wrong guess costs time only.
fn yields_an_object(code: &str) -> bool {
    let beginnings = ["[", "{", "({", "function", "async", "Array.", "Object."];
    code.contains("=>") || beginnings.iter().any(|beginning| code.starts_with(beginning))
}

/// Whether code may do more than look: call something, or set something. What it reads may run code of the page, which
/// can do nothing there that a user would have to ask for.
fn may_act(code: &str) -> bool {
    code.contains(['(', '`', '=']) || code.contains("new") || code.contains("delete")
}

/// What the browser says, now and then, of code that it has ended because its time was up.
const FAILED: &str = "Internal error";

struct Run<'a> {
    tab: &'a Arc<Tab>,
    deadline: Instant,
    within: Duration,
    /// The code runs as if the user had asked for it: pages may open windows and play sounds then. It costs the
    /// browser a message between its processes.
    acts: bool,
}

impl Run<'_> {
    /// Runs a function given as source, with its result turned into JSON.
    async fn wrapped(&self, function: &str) -> Result<Value, Error> {
        let max = self.max()?;
        let expression = format!("({RESULT})({function}, {max}, {DEPTH})");
        let params = json!({ "expression": expression, "returnByValue": true });
        let answer = self.command("Runtime.evaluate", params).await?;
        // Whatever the code threw was caught in the page: this never began to run.
        match answer.get("exceptionDetails") {
            Some(details) => Err(syntax(details)),
            None => Self::unwrapped(&answer["result"]["value"], max),
        }
    }

    /// Calls an asynchronous function given as source.
    async fn called(&self, function: &str) -> Result<Value, Error> {
        let params = json!({ "expression": format!("({function})()") });
        let answer = self.command("Runtime.evaluate", params).await?;
        match answer.get("exceptionDetails") {
            None => self.plain(&answer["result"], "this").await,
            // Whatever such a function throws comes as a promise that was broken: this never began to run.
            Some(details) if !said_of(details).contains("promise") => Err(syntax(details)),
            Some(details) => self.thrown(details).await,
        }
    }

    /// Runs statements as a console does; the last one's value is the result.
    async fn statements(&self, code: &str) -> Result<Value, Error> {
        let params = json!({ "expression": code, "replMode": true });
        let answer = self.command("Runtime.evaluate", params).await?;
        match answer.get("exceptionDetails") {
            None => self.plain(&answer["result"], "this").await,
            Some(details) if never_ran(details) => Err(syntax(details)),
            Some(details) => self.thrown(details).await,
        }
    }

    /// What code threw.
    async fn thrown(&self, details: &Value) -> Result<Value, Error> {
        match details.get("exception") {
            Some(exception) if exception["objectId"].is_string() => {
                self.plain(exception, "{ throw this }").await
            }
            Some(exception) => {
                let value = self.plain(exception, "this").await?;
                let message = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                Err(Error::Script { name: "Thrown".to_owned(), message, stack: String::new() })
            }
            None => Err(thrown(details)),
        }
    }

    /// A remote value as JSON; an object by what a function of this body makes of it.
    async fn plain(&self, remote: &Value, body: &str) -> Result<Value, Error> {
        let max = self.max()?;
        if let Some(object) = remote["objectId"].as_str() {
            // Strict, so that a symbol stays one.
            let function = format!(
                "function() {{ 'use strict'; return ({RESULT})(() => {body}, {max}, {DEPTH}) }}"
            );
            let params = json!({
                "functionDeclaration": function, "objectId": object, "returnByValue": true,
            });
            let answer = self.command("Runtime.callFunctionOn", params).await;
            drop(self.tab.session().start("Runtime.releaseObject", json!({ "objectId": object })));
            return Self::unwrapped(&answer?["result"]["value"], max);
        }
        if let Some(text) = remote["unserializableValue"].as_str() {
            return Ok(unserializable(text));
        }
        match remote.get("value") {
            Some(Value::String(text)) if text.len() > max && text.chars().count() > max => {
                Err(Error::ResultTooLarge { max })
            }
            value => Ok(value.cloned().unwrap_or_default()),
        }
    }

    fn unwrapped(answer: &Value, max: usize) -> Result<Value, Error> {
        if let Some(value) = answer.get("value") {
            return Ok(value.clone());
        }
        if answer["tooLarge"] == true {
            return Err(Error::ResultTooLarge { max });
        }
        let text = |field: &str| answer["thrown"][field].as_str().unwrap_or_default().to_owned();
        let name = Some(text("name")).filter(|name| !name.is_empty());
        Err(Error::Script {
            name: name.unwrap_or_else(|| "Thrown".to_owned()),
            message: text("message"),
            stack: text("stack"),
        })
    }

    /// Whether the time is up, as the page's engine counts it: in whole milliseconds.
    fn is_over(&self) -> bool {
        self.deadline.saturating_duration_since(Instant::now()) <= Duration::from_millis(1)
    }

    fn max(&self) -> Result<usize, Error> {
        Ok(self.tab.context()?.options().limits.result_size)
    }

    async fn command(&self, method: &str, mut params: Value) -> Result<Value, Error> {
        self.tab.check()?;
        let left = self.deadline.saturating_duration_since(Instant::now());
        params["awaitPromise"] = Value::from(true);
        if self.acts {
            params["userGesture"] = Value::from(true);
        }
        if method == "Runtime.evaluate" {
            // An endless loop is ended by the page's own engine.
            params["timeout"] = Value::from(u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        }
        let explain = |error| self.tab.main_frame().explain(error);
        match self.tab.session().command_within(method, params, left).await {
            Err(CdpError::Timeout { .. }) => {
                self.stop().await;
                Err(Error::ScriptTimeout { after: self.within })
            }
            Err(CdpError::Refused { message, .. })
                if message.contains("terminated") || (message == FAILED && self.is_over()) =>
            {
                Err(Error::ScriptTimeout { after: self.within })
            }
            Err(CdpError::Unreadable { .. }) => Err(Error::ResultTooLarge { max: self.max()? }),
            other => other.map_err(explain),
        }
    }

    /// Stops code that runs on. A page that only waits for a promise is left alone: stopping would hit whatever it
    /// does next.
    async fn stop(&self) {
        let session = self.tab.session();
        let asked = json!({ "expression": "0", "timeout": 1000 });
        if session.command_within("Runtime.evaluate", asked, IDLE).await.is_err() {
            // If that does not help, the page has to be reloaded; the next operation on it will say so.
            let _hopeless =
                session.command_within("Runtime.terminateExecution", json!({}), STOPPED).await;
        }
    }
}

/// Whether an exception is about code that could not be read. One that was thrown has been somewhere.
fn never_ran(details: &Value) -> bool {
    let description = details["exception"]["description"].as_str().unwrap_or_default();
    details["exception"]["className"] == "SyntaxError" && !description.contains("\n    at ")
}

/// What the browser says first of an exception.
fn said_of(details: &Value) -> &str {
    details["text"].as_str().unwrap_or_default()
}

fn syntax(details: &Value) -> Error {
    let description = details["exception"]["description"].as_str();
    let text = description.or(details["text"].as_str()).unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    let message = first.trim_start_matches("SyntaxError: ").to_owned();
    Error::Syntax { message }
}

/// What JSON has no word for.
fn unserializable(text: &str) -> Value {
    match text.strip_suffix('n') {
        Some(digits) => match digits.parse::<i64>() {
            Ok(number) if number.unsigned_abs() < 1 << 53 => Value::from(number),
            _ => Value::from(digits),
        },
        None if text == "-0" => Value::from(0),
        None => Value::from(text),
    }
}

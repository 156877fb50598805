//! How one request is to be read and its answer worded.
//!
//! Made once per request from its headers and the route it came by; everything both families' clients expect of the
//! same operation is decided here and nowhere else.

use std::future::ready;
use std::time::SystemTime;

use atoll_operation::{Content, Context, Error, Spec, Stream};
use axum::http::header::HeaderMap;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use futures::StreamExt;
use serde_json::{Map, Value, json};

use super::deep_agent::{self, Answer, Base, Exec, Form, Rooms, Route};
use super::family::Family;
use super::{Failure, Reading, aio};

/// The way one request is read and answered.
#[derive(Debug)]
pub(crate) struct Tongue {
    family: Family,
    route: Option<&'static Route>,
    base: Option<Base>,
}

/// What of an input decides how its result is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Nothing.
    Plainly,
    /// A command in deep-agent's words.
    Exec(Exec),
    /// Files found, in this form.
    Glob(Form),
}

impl Tongue {
    /// The tongue of a request with these headers that came by this route.
    pub(crate) fn of(headers: &HeaderMap, route: Option<&'static Route>) -> Self {
        Self { family: Family::of(headers), route, base: None }
    }

    fn is_theirs(&self) -> bool {
        self.family == Family::DeepAgent
    }

    /// Whether relative paths in a request for this begin somewhere of the caller's choice.
    pub(crate) fn has_base(&self, spec: &Spec) -> bool {
        self.is_theirs() && (runs(spec) || spec.id.starts_with("file_"))
    }

    /// Finds out where the paths of a request that has such a base begin.
    pub(crate) async fn settle(
        &mut self,
        headers: &HeaderMap,
        spec: &Spec,
        rooms: &Rooms,
        cx: &Context,
    ) -> Result<(), Failure> {
        let runs = runs(spec);
        let named = Base::of(headers)?;
        // Whoever may run commands may make directories; whoever may only read makes none.
        let settled = match named {
            None if !runs => None,
            named if runs || cx.permits("file:write") => Some(rooms.settle(named, cx).await?),
            named => named,
        };
        self.base = settled;
        Ok(())
    }

    /// By which names and from where an input is read.
    pub(crate) fn reading(&self, spec: &Spec) -> Reading<'_> {
        let base = self.base.as_ref().filter(|_| spec.id.starts_with("file_"));
        Reading { aliases: aio::aliases(spec.id), base }
    }

    /// Makes an input what the operation takes.
    pub(crate) fn understand(&self, spec: &Spec, input: &mut Value) -> Result<Asked, Failure> {
        if input.is_null() {
            *input = json!({});
        }
        let Some(input) = input.as_object_mut() else {
            return Ok(Asked::Plainly);
        };
        if let Some(route) = self.route {
            route.read(input)?;
        }
        let (theirs, base) = (self.is_theirs(), self.base.as_ref());
        match spec.id {
            "bash_exec" => {
                let theirs = theirs || self.route.is_some();
                let exec = deep_agent::exec(input, theirs, base)?;
                return Ok(exec.map_or(Asked::Plainly, Asked::Exec));
            }
            "file_glob" => {
                let form = deep_agent::glob_form(input, theirs);
                if form == Form::Paths {
                    deep_agent::read_glob(input, base);
                }
                return Ok(Asked::Glob(form));
            }
            "file_grep_text" => deep_agent::read_search(input, base),
            "file_list" if theirs => deep_agent::read_list(input),
            "file_write" | "file_append" => deep_agent::read_content(input),
            // Its client sends what nobody chose as 0.
            "web_search" if theirs => {
                input.retain(|name, value| name != "num" || *value != json!(0));
            }
            _ => {}
        }
        Ok(Asked::Plainly)
    }

    /// The answer to an operation that was carried out.
    pub(crate) fn success(
        &self,
        spec: &Spec,
        asked: Asked,
        mut result: Value,
        hint: Option<&str>,
    ) -> Response {
        if let Some(fields) = result.as_object_mut() {
            self.add_to(spec, asked, fields);
        }
        if spec.id == "sandbox_get_context" && self.is_theirs() {
            deep_agent::describe(&mut result);
        }
        if spec.id == "web_fetch"
            && self.is_theirs()
            && let Some(address) = deep_agent::redirect(&result)
        {
            let data = json!({"redirect_url": address});
            return aio::exception(302, "Redirect detected", &data);
        }
        if let Some(route) = self.route {
            result = route.tell(result);
        }
        if self.is_theirs() {
            aio::success_saying("success", spec, result, hint)
        } else {
            aio::success(spec, result, hint)
        }
    }

    fn add_to(&self, spec: &Spec, asked: Asked, result: &mut Map<String, Value>) {
        match (spec.id, asked) {
            (_, Asked::Exec(exec)) => deep_agent::bash_answer(exec, result),
            (_, Asked::Glob(form)) => deep_agent::answer_glob(form, result),
            ("file_list", _) if self.is_theirs() => deep_agent::answer_list(result),
            ("file_upload", _) if self.family != Family::Aio => deep_agent::answer_upload(result),
            ("browser_get_info", _) if self.family != Family::Aio => {
                deep_agent::describe_browser(result);
            }
            _ => {}
        }
    }

    /// The answer to a request that was not carried out.
    pub(crate) fn failure(&self, failure: &Failure, spec: &Spec) -> Response {
        if self.is_theirs() {
            let (status, message) = deep_agent::wording(failure, spec);
            aio::failure_worded(failure, Some(spec), status, &message)
        } else {
            aio::failure(failure, Some(spec))
        }
    }

    /// Whether the route always answers with a stream.
    pub(crate) fn streams(&self) -> bool {
        self.route.is_some_and(|route| matches!(route.answer, Answer::Stream))
    }

    /// The events of a stream as the route tells them.
    pub(crate) fn events(&self, asked: Asked, events: Stream) -> Stream {
        match asked {
            Asked::Exec(exec) if self.streams() => {
                let begun = SystemTime::now();
                let told = move |event| ready(deep_agent::bash_event(exec, begun, event));
                events.filter_map(told).boxed()
            }
            _ => events,
        }
    }

    /// A stream that only says why there is none; `None` for what is told as an ordinary failure.
    pub(crate) fn failed_stream(&self, failure: &Failure, spec: &Spec) -> Option<Stream> {
        if !self.streams() {
            return None;
        }
        let (status, message) = deep_agent::wording(failure, spec);
        let data = json!({"message": message});
        let event = atoll_operation::Event { name: "error", id: None, data };
        (status == StatusCode::INTERNAL_SERVER_ERROR)
            .then(|| futures::stream::iter([event]).boxed())
    }

    /// The field that is to hold what a download sends, where the route wants it in a JSON answer.
    pub(crate) fn encoded_as(&self) -> Option<&'static str> {
        match self.route?.answer {
            Answer::Encoded(field) => Some(field),
            _ => None,
        }
    }

    /// Has a browser show what it can, for those who ask for a `file` instead of a `path`.
    pub(crate) fn present(spec: &Spec, uri: &Uri, content: &mut Content) {
        if spec.id != "file_download" {
            return;
        }
        let query = uri.query().unwrap_or_default();
        let mut names = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name);
        if !names.any(|name| name == "file") {
            return;
        }
        let shown = content.filename.as_deref().and_then(deep_agent::is_shown);
        if let Some(media_type) = shown {
            media_type.clone_into(&mut content.media_type);
            content.inline = true;
        }
    }
}

/// A failure of ours, not the caller's.
pub(crate) fn unencodable(spec: &Spec) -> Error {
    let message = format!("{} sent no bytes that could be put into an answer", spec.id);
    Error::new(atoll_operation::Kind::Internal, "internal", message)
}

/// Whether this runs a command.
fn runs(spec: &Spec) -> bool {
    spec.id == "bash_exec"
}

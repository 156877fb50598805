//! A small service with every shape of operation, and ways to fail in each.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use atoll_api::system::{GetSandbox, RuntimeEnv, SandboxContext, SandboxDetail, SystemEnv};
use atoll_operation::{
    Context, Conversation, Converse, Error, Event, Handle, Kind, Open, Operation, Registry, Spec,
    Stream, Streaming, Upstream, Window,
};
use futures::stream::{self, BoxStream, StreamExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

/// Say something back.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Echo {
    /// What to say.
    pub(crate) text: String,
    /// How often.
    #[serde(default = "once")]
    pub(crate) times: u64,
    /// Seconds.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub(crate) timeout: Option<f64>,
    /// Loudly?
    #[serde(default)]
    pub(crate) loud: bool,
}

fn once() -> u64 {
    1
}

/// What was said.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Echoed {
    pub(crate) text: String,
    pub(crate) times: u64,
    pub(crate) timeout: Option<f64>,
    pub(crate) loud: bool,
    pub(crate) link: String,
}

impl Operation for Echo {
    type Output = Echoed;
    const SPEC: Spec = Spec::post("test_echo", "/v1/echo", "test:read").streaming();
}

/// Look a thing up.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Lookup {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) limit: Option<u32>,
}

impl Operation for Lookup {
    type Output = Value;
    const SPEC: Spec = Spec::get("test_lookup", "/v1/things/{name}", "test:read");
}

/// Remove a thing.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Remove {
    pub(crate) name: String,
}

impl Operation for Remove {
    type Output = ();
    const SPEC: Spec = Spec::delete("test_remove", "/v1/things/{name}", "test:write");
}

/// Fail in some way.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Fail {
    pub(crate) how: String,
}

impl Operation for Fail {
    type Output = ();
    const SPEC: Spec = Spec::post("test_fail", "/v1/fail", "test:write").streaming();
}

/// Wait until told.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Wait {}

impl Operation for Wait {
    type Output = ();
    const SPEC: Spec = Spec::post("test_wait", "/v1/wait", "test:write");
}

/// Measure a text that may be as large as a file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Measure {
    text: String,
}

impl Operation for Measure {
    type Output = usize;
    const SPEC: Spec = Spec::post("test_measure", "/v1/measure", "test:write").large_body();
}

/// Show how bash fields arrived.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct BashProbe {
    #[serde(default)]
    session_id: Option<String>,
    command: String,
    #[serde(default)]
    exec_dir: Option<String>,
}

impl Operation for BashProbe {
    type Output = Value;
    const SPEC: Spec = Spec::post("bash_probe", "/v1/bash/probe", "test:write");
}

/// Show how shell fields arrived.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ShellProbe {
    id: String,
}

impl Operation for ShellProbe {
    type Output = Value;
    const SPEC: Spec = Spec::post("shell_probe", "/v1/shell/probe", "test:write");
}

/// Talk.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Talk {
    /// `echo`, `flood`, `once`, `panic` or `refuse`.
    pub(crate) mode: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Said {
    pub(crate) say: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Heard {
    pub(crate) heard: String,
}

impl Conversation for Talk {
    type Up = Said;
    type Down = Heard;
    const SPEC: Spec = Spec::conversation("test_talk", "/v1/talk", "test:write");
}

/// A window on another server.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Pane {}

impl Window for Pane {
    const SPEC: Spec = Spec::window("test_pane", "/pane", "test:read");
}

/// Knows the server behind the window.
#[derive(Debug)]
pub(crate) struct Behind(pub(crate) SocketAddr);

impl Open<Pane> for Behind {
    async fn open(&self, _: &Context, _: Pane) -> Result<Upstream, Error> {
        Ok(Upstream::Tcp(self.0))
    }
}

/// The fake service. Its counters let a test wait for what it cannot see from outside.
#[derive(Debug, Default)]
pub(crate) struct Fake {
    pub(crate) waiting: AtomicUsize,
    pub(crate) abandoned: AtomicUsize,
    pub(crate) release: Notify,
}

impl Handle<Echo> for Fake {
    async fn handle(&self, cx: &Context, input: Echo) -> Result<Echoed, Error> {
        if input.loud {
            cx.hint("mind your neighbours");
        }
        Ok(Echoed {
            text: input.text,
            times: input.times,
            timeout: input.timeout,
            loud: input.loud,
            link: cx.link("/page", &[]),
        })
    }
}

impl Streaming<Echo> for Fake {
    /// Counts from the event resumed after; `times` 0 never ends and says nothing.
    async fn stream(&self, cx: &Context, input: Echo) -> Result<Stream, Error> {
        if input.times == 0 {
            return Ok(stream::pending().boxed());
        }
        let after: u64 = cx.resume_after().and_then(|id| id.parse().ok()).unwrap_or(0);
        let events = (after + 1..=input.times).map(move |number| Event {
            name: "said",
            id: Some(number.to_string()),
            data: json!({"text": input.text, "number": number}),
        });
        Ok(stream::iter(events.collect::<Vec<_>>()).boxed())
    }
}

impl Handle<Lookup> for Fake {
    async fn handle(&self, _: &Context, input: Lookup) -> Result<Value, Error> {
        Ok(json!({"name": input.name, "limit": input.limit}))
    }
}

impl Handle<Remove> for Fake {
    async fn handle(&self, _: &Context, _: Remove) -> Result<(), Error> {
        Ok(())
    }
}

impl Handle<Fail> for Fake {
    async fn handle(&self, _: &Context, input: Fail) -> Result<(), Error> {
        match input.how.as_str() {
            "missing" => Err(Error::new(Kind::NotFound, "test.missing", "Session not found")
                .with_hint("create one")
                .with_details(json!({"id": 7}))),
            "internal" => Err(Error::internal("it broke", "the secret cause")),
            _ => panic!("as asked"),
        }
    }
}

impl Streaming<Fail> for Fake {
    async fn stream(&self, _: &Context, input: Fail) -> Result<Stream, Error> {
        if input.how == "missing" {
            return Err(Error::new(Kind::NotFound, "test.missing", "Session not found"));
        }
        Ok(stream::poll_fn(|_| panic!("as asked")).boxed())
    }
}

struct Abandoned<'a>(&'a Fake, bool);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.abandoned.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Handle<Wait> for Fake {
    async fn handle(&self, _: &Context, _: Wait) -> Result<(), Error> {
        let mut guard = Abandoned(self, false);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.release.notified().await;
        guard.1 = true;
        Ok(())
    }
}

impl Handle<Measure> for Fake {
    async fn handle(&self, _: &Context, input: Measure) -> Result<usize, Error> {
        Ok(input.text.len())
    }
}

impl Handle<BashProbe> for Fake {
    async fn handle(&self, _: &Context, input: BashProbe) -> Result<Value, Error> {
        Ok(json!([input.session_id, input.command, input.exec_dir]))
    }
}

impl Handle<ShellProbe> for Fake {
    async fn handle(&self, _: &Context, input: ShellProbe) -> Result<Value, Error> {
        Ok(json!(input.id))
    }
}

impl Handle<GetSandbox> for Fake {
    async fn handle(&self, _: &Context, _: GetSandbox) -> Result<SandboxContext, Error> {
        let text = |text: &str| text.to_owned();
        Ok(SandboxContext {
            text: text("A fake sandbox."),
            home_dir: text("/home/fake"),
            workspace: None,
            version: text("9"),
            detail: SandboxDetail {
                system: SystemEnv {
                    os: text("Fake"),
                    os_version: text("1"),
                    arch: text("pdp11"),
                    user: text("nobody"),
                    home_dir: text("/home/fake"),
                    workspace: None,
                    timezone: text("UTC"),
                    occupied_ports: vec![],
                },
                runtime: RuntimeEnv { python: vec![], nodejs: vec![] },
                utils: vec![],
            },
        })
    }
}

impl Converse<Talk> for Fake {
    async fn converse(
        &self,
        _: &Context,
        input: Talk,
        mut up: BoxStream<'static, Result<Said, String>>,
    ) -> Result<BoxStream<'static, Heard>, Error> {
        let hear = |said: Result<Said, String>| Heard {
            heard: said.map_or_else(|error| format!("error: {error}"), |said| said.say),
        };
        match input.mode.as_str() {
            "refuse" => Err(Error::new(Kind::NotFound, "test.missing", "Session not found")),
            "once" => Ok(up.take(1).map(hear).boxed()),
            "panic" => Ok(stream::poll_fn(|_| panic!("as asked")).boxed()),
            // Floods until the caller says so, whether or not the flood is read.
            "flood" => {
                let (stopper, mut stopped) = mpsc::channel::<()>(1);
                tokio::spawn(async move {
                    let message = up.next().await;
                    drop((stopper, message));
                });
                let water = "w".repeat(16 << 10);
                Ok(stream::poll_fn(move |cx| {
                    let heard =
                        if stopped.poll_recv(cx).is_ready() { None } else { Some(water.clone()) };
                    std::task::Poll::Ready(heard.map(|heard| Heard { heard }))
                })
                .boxed())
            }
            _ => Ok(up.map(hear).boxed()),
        }
    }
}

/// The service with its operations bound.
pub(crate) fn registry(fake: &Arc<Fake>) -> Registry {
    let mut registry = Registry::default();
    registry
        .bind::<GetSandbox, _>(fake)
        .bind::<Echo, _>(fake)
        .bind_stream::<Echo, _>(fake)
        .bind::<Lookup, _>(fake)
        .bind::<Remove, _>(fake)
        .bind::<Fail, _>(fake)
        .bind_stream::<Fail, _>(fake)
        .bind::<Wait, _>(fake)
        .bind::<Measure, _>(fake)
        .bind::<BashProbe, _>(fake)
        .bind::<ShellProbe, _>(fake)
        .bind_conversation::<Talk, _>(fake);
    registry
}

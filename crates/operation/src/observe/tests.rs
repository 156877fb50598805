//! What an observer is told of calls, streams and conversations, and how they end.

use std::sync::Mutex;

use futures::FutureExt;
use futures::stream::{self, BoxStream, StreamExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;
use crate::handle::{Conversation, Converse, Handle, Operation, Stream, Streaming};
use crate::{Kind, Registry};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Bake {
    cake: String,
}

impl Operation for Bake {
    type Output = String;
    const SPEC: Spec = Spec::post("cake_bake", "/v1/cakes", "cake:write").streaming();
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Look {}

impl Operation for Look {
    type Output = String;
    const SPEC: Spec = Spec::get("cake_look", "/v1/cakes", "cake:read").quiet();
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Talk {}

impl Conversation for Talk {
    type Up = String;
    type Down = String;
    const SPEC: Spec = Spec::conversation("cake_talk", "/v1/cakes/ws", "cake:read");
}

struct Kitchen;

impl Handle<Bake> for Kitchen {
    async fn handle(&self, _: &Context, input: Bake) -> Result<String, Error> {
        match input.cake.as_str() {
            "burnt" => Err(Error::new(Kind::Unavailable, "cake.burnt", "it is burnt")),
            "endless" => std::future::pending().await,
            _ => Ok(input.cake),
        }
    }
}

impl Streaming<Bake> for Kitchen {
    async fn stream(&self, _: &Context, input: Bake) -> Result<Stream, Error> {
        let event = |name, data| Event { name, id: None, data };
        let last = match input.cake.as_str() {
            "burnt" => event("error", json!({"error_code": "cake.burnt"})),
            _ => event("result", json!(null)),
        };
        Ok(stream::iter([event("smell", json!(null)), last]).boxed())
    }
}

impl Handle<Look> for Kitchen {
    async fn handle(&self, _: &Context, _: Look) -> Result<String, Error> {
        Ok(String::new())
    }
}

impl Converse<Talk> for Kitchen {
    async fn converse(
        &self,
        _: &Context,
        _: Talk,
        _: BoxStream<'static, Result<String, String>>,
    ) -> Result<BoxStream<'static, String>, Error> {
        Ok(stream::pending().boxed())
    }
}

/// Writes down what it is told.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {
    fn began(&self, spec: &Spec, cx: &Context, input: &Value) -> u64 {
        let mut notes = self.0.lock().unwrap();
        notes.push(format!("{} by {}: {input}", spec.id, cx.face()));
        notes.len() as u64
    }

    fn ended(&self, call: u64, ending: Ending<'_>) {
        self.0.lock().unwrap().push(format!("{call} {ending:?}"));
    }
}

fn kitchen() -> (Registry, Arc<Notes>) {
    let kitchen = Arc::new(Kitchen);
    let mut registry = Registry::default();
    registry.bind::<Bake, _>(&kitchen).bind_stream::<Bake, _>(&kitchen).bind::<Look, _>(&kitchen);
    registry.bind_conversation::<Talk, _>(&kitchen);
    let notes = Arc::new(Notes::default());
    registry.observe(Arc::clone(&notes) as Arc<dyn Observer>);
    (registry, notes)
}

fn cx() -> Context {
    Context::new("r").through("test")
}

fn told(notes: &Notes) -> Vec<String> {
    std::mem::take(&mut *notes.0.lock().unwrap())
}

#[test]
fn calls_are_told_with_how_they_ended() {
    let (registry, notes) = kitchen();
    let bake = registry.get("cake_bake").unwrap();
    bake.call(cx(), json!({"cake": "plum"})).now_or_never().unwrap().unwrap();
    bake.call(cx(), json!({"cake": "burnt"})).now_or_never().unwrap().unwrap_err();
    assert!(bake.call(cx(), json!({"cake": "endless"})).now_or_never().is_none());
    bake.call(cx(), json!({"cake": 7, "more": []})).now_or_never().unwrap().unwrap_err();
    assert_eq!(
        told(&notes),
        [
            r#"cake_bake by test: {"cake":"plum"}"#,
            "1 Done",
            r#"cake_bake by test: {"cake":"burnt"}"#,
            r#"3 Failed("cake.burnt")"#,
            r#"cake_bake by test: {"cake":"endless"}"#,
            "5 Abandoned",
        ],
        "and input that does not fit never becomes a call"
    );
}

#[test]
fn operations_that_only_look_are_not_told() {
    let (registry, notes) = kitchen();
    registry.get("cake_look").unwrap().call(cx(), json!({})).now_or_never().unwrap().unwrap();
    assert!(told(&notes).is_empty());
}

#[test]
fn a_stream_lasts_until_its_result_or_until_it_is_left() {
    let (registry, notes) = kitchen();
    let bake = registry.get("cake_bake").unwrap();
    for (cake, events, ending) in
        [("plum", 2, "Done"), ("burnt", 2, r#"Failed("cake.burnt")"#), ("plum", 1, "Done")]
    {
        let mut stream =
            bake.stream(cx(), json!({ "cake": cake })).now_or_never().unwrap().unwrap();
        for _ in 0..events {
            stream.next().now_or_never().unwrap().unwrap();
        }
        drop(stream);
        assert_eq!(told(&notes)[1..], [format!("1 {ending}")]);
    }
}

#[test]
fn a_conversation_lasts_until_somebody_leaves() {
    let (registry, notes) = kitchen();
    let talk = registry.get("cake_talk").unwrap();
    let down = talk.converse(cx(), json!({}), stream::pending().boxed());
    let down = down.now_or_never().unwrap().unwrap();
    assert_eq!(told(&notes).len(), 1);
    drop(down);
    assert_eq!(told(&notes), ["1 Done"]);
}

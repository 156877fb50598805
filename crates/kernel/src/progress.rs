//! One request to a kernel and what has come of it so far: written by the readers of the kernel's sockets, watched by
//! whoever waits for the request.
//!
//! The readers never wait: outputs are collected in bounded memory, and a follower that reads too slowly finds a mark
//! in place of the events there was no room for.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::collect::Outputs;
use crate::content::{
    Clear, Count, Failure, Payload, Reply, Status, Stream, read, read_ends, rich,
};
use crate::message::Message;
use crate::output::{Event, Output, OutputLimits, Rich};
use crate::queue::Queue;

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Phase {
    /// The code runs, so an interrupt reaches it.
    started: bool,
    /// The kernel has said that it is done with it.
    idle: bool,
    /// The kernel has answered it.
    replied: bool,
    /// Events so far.
    events: u64,
}

impl Phase {
    /// Whether nothing more is to come.
    fn done(self) -> bool {
        self.idle && self.replied
    }
}

/// One request.
#[derive(Debug)]
pub(crate) struct Progress {
    id: String,
    state: Mutex<State>,
    phase: watch::Sender<Phase>,
}

#[derive(Debug)]
struct State {
    outputs: Outputs,
    followed: Option<Queue>,
    reply: Option<Reply>,
    execution_count: Option<u64>,
    failed: bool,
}

/// What a request has come to.
#[derive(Debug)]
pub(crate) struct Result {
    pub(crate) outputs: Vec<Output>,
    pub(crate) left_out: u64,
    pub(crate) reply: Option<Reply>,
    pub(crate) execution_count: Option<u64>,
}

impl Progress {
    pub(crate) fn new(limits: OutputLimits, followed: bool) -> Self {
        let bound = limits.text_bytes.saturating_add(limits.rich_bytes);
        let state = State {
            outputs: Outputs::new(limits),
            followed: followed.then(|| Queue::new(bound)),
            reply: None,
            execution_count: None,
            failed: false,
        };
        let (phase, _) = watch::channel(Phase::default());
        Self { id: new_id(), state: Mutex::new(state), phase }
    }

    /// Id of the request.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Waits until the kernel is done with it.
    pub(crate) async fn done(&self) {
        self.reached(Phase::done).await;
    }

    /// Waits until the kernel has answered it.
    pub(crate) async fn replied(&self) {
        self.reached(|phase| phase.replied).await;
    }

    /// Waits until the kernel has said that it is done with it, answered or not.
    pub(crate) async fn idle(&self) {
        self.reached(|phase| phase.idle).await;
    }

    /// Waits until the code runs.
    pub(crate) async fn started(&self) {
        self.reached(|phase| phase.started).await;
    }

    /// Waits until it has come as far as this.
    async fn reached(&self, far_enough: impl Fn(Phase) -> bool) {
        // The sender lives as long as `self`.
        let mut phase = self.phase.subscribe();
        let _sender_gone = phase.wait_for(|phase| far_enough(*phase)).await.map(|_| ());
    }

    /// Events a follower has not seen; waits for some. Empty when there are no more, or `over` is.
    pub(crate) async fn events(&self, over: impl Future<Output = ()>) -> Vec<Event> {
        let mut phase = self.phase.subscribe();
        let mut over = std::pin::pin!(over);
        loop {
            phase.mark_unchanged();
            let events = self.state().followed.as_mut().map(Queue::take).unwrap_or_default();
            if !events.is_empty() {
                return events;
            }
            tokio::select! {
                biased;
                changed = phase.changed() => if changed.is_err() { return Vec::new() },
                () = &mut over => {
                    return self.state().followed.as_mut().map(Queue::take).unwrap_or_default();
                }
            }
        }
    }

    /// Notes a message that concerns this request.
    pub(crate) fn deliver(&self, message: &Message) {
        let content = message.content.as_slice();
        if message.is_cut() && !message.kind.ends_with("_reply") {
            return self.deliver_cut(message);
        }
        match message.kind.as_str() {
            "status" => {
                let state = read::<Status>(content).execution_state;
                if state == "idle" {
                    self.tell_failure();
                    self.phase.send_modify(|phase| phase.idle = true);
                }
            }
            "execute_input" => {
                self.state().execution_count = read::<Count>(content).execution_count;
                self.phase.send_modify(|phase| phase.started = true);
            }
            "stream" => {
                let Stream { name, text } = read(content);
                if !text.is_empty() {
                    self.happened(Event::Output(Output::Stream { name, text }));
                }
            }
            "execute_result" => self.happened(Event::Output(Output::Result(rich(content)))),
            "display_data" => self.happened(Event::Output(Output::Display(rich(content)))),
            "update_display_data" => self.happened(Event::Update(rich(content))),
            "clear_output" => self.happened(Event::Clear { wait: read::<Clear>(content).wait }),
            "error" => {
                let Failure { ename, evalue, traceback } = read(content);
                self.fail(ename, evalue, traceback);
            }
            kind if kind.ends_with("_reply") => self.reply(read(content)),
            _ => {}
        }
    }

    /// Adds an exception to the outputs.
    pub(crate) fn fail(&self, name: String, value: String, traceback: Vec<String>) {
        self.state().failed = true;
        self.happened(Event::Output(Output::Error { name, value, traceback }));
    }

    /// What has come of it, once.
    pub(crate) fn take(&self) -> Result {
        self.tell_failure();
        let mut state = self.state();
        let nothing = Outputs::new(OutputLimits { text_bytes: 0, rich_bytes: 0 });
        let (outputs, left_out) = std::mem::replace(&mut state.outputs, nothing).finish();
        let reply = state.reply.take();
        let replied = reply.as_ref().and_then(|reply| reply.execution_count);
        Result { outputs, left_out, execution_count: state.execution_count.or(replied), reply }
    }

    fn reply(&self, mut reply: Reply) {
        for Payload { data, .. } in
            reply.payload.drain(..).filter(|payload| payload.source == "page")
        {
            let shown = Rich { data, ..Rich::default() };
            self.happened(Event::Output(Output::Display(shown)));
        }
        self.state().reply = Some(reply);
        if self.phase.borrow().idle {
            self.tell_failure();
        }
        self.phase.send_modify(|phase| phase.replied = true);
    }

    /// Some kernels tell of an error in their answer and nowhere else. Answers and outputs come on two ways, so that
    /// this is certain only once all outputs are here.
    fn tell_failure(&self) {
        let told = {
            let mut state = self.state();
            let failed = state.failed;
            state.reply.as_mut().filter(|reply| reply.status == "error" && !failed).map(|reply| {
                let traceback = std::mem::take(&mut reply.traceback);
                (reply.ename.clone(), reply.evalue.clone(), traceback)
            })
        };
        if let Some((name, value, traceback)) = told {
            self.fail(name, value, traceback);
        }
    }

    /// A message too long to be read whole: of what was printed both ends are kept.
    fn deliver_cut(&self, message: &Message) {
        if message.kind == "stream" {
            let (Stream { name, text }, end) = read_ends(&message.content, &message.tail);
            let kept = message.content.len() + message.tail.len();
            let left_out = message.length.saturating_sub(kept as u64);
            self.happened(Event::Output(Output::Stream { name: name.clone(), text }));
            {
                let mut state = self.state();
                state.outputs.leave_out(left_out);
                if let Some(queue) = &mut state.followed {
                    queue.leave_out(usize::try_from(left_out).unwrap_or(usize::MAX));
                }
            }
            self.happened(Event::Output(Output::Stream { name, text: end }));
        } else {
            let text = format!("[{} of {} bytes left out]", message.kind, message.length);
            let data = Map::from_iter([("text/plain".to_owned(), Value::String(text))]);
            self.happened(Event::Output(Output::Display(Rich { data, ..Rich::default() })));
        }
    }

    fn happened(&self, event: Event) {
        {
            let mut state = self.state();
            if let Some(queue) = &mut state.followed {
                queue.push(&event);
            }
            state.outputs.apply(event);
        }
        self.phase.send_modify(|phase| phase.events += 1);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A new id for a message.
pub(crate) fn new_id() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LIMITS: OutputLimits = OutputLimits { text_bytes: 1_000, rich_bytes: 1_000 };

    fn message(kind: &str, content: &Value) -> Message {
        let content = content.to_string().into_bytes();
        let length = content.len() as u64;
        let (kind, parent, tail) = (kind.to_owned(), String::new(), Vec::new());
        Message { kind, parent, content, tail, length }
    }

    fn texts(events: Vec<Event>) -> Vec<String> {
        let text = |event| match event {
            Event::Output(Output::Stream { text, .. }) => Some(text),
            _ => None,
        };
        events.into_iter().filter_map(text).collect()
    }

    #[tokio::test]
    async fn it_is_done_when_the_kernel_is_idle_and_has_answered() {
        let progress = Progress::new(LIMITS, false);
        progress.deliver(&message("status", &json!({"execution_state": "idle"})));
        assert!(!progress.phase.borrow().done());
        progress.deliver(&message("execute_reply", &json!({"status": "ok", "execution_count": 3})));
        progress.done().await;
        let result = progress.take();
        assert_eq!((result.execution_count, result.outputs.len()), (Some(3), 0));
    }

    #[test]
    fn an_error_told_only_in_the_answer_is_an_output_and_told_twice_is_one() {
        let failure = json!({"status": "error", "ename": "E", "evalue": "v", "traceback": ["t"]});
        let progress = Progress::new(LIMITS, false);
        progress.deliver(&message("execute_reply", &failure));
        let error = Output::Error {
            name: "E".to_owned(),
            value: "v".to_owned(),
            traceback: vec!["t".to_owned()],
        };
        assert_eq!(progress.take().outputs.as_slice(), std::slice::from_ref(&error));
        let progress = Progress::new(LIMITS, false);
        progress.deliver(&message("error", &failure));
        progress.deliver(&message("execute_reply", &failure));
        assert_eq!(progress.take().outputs.as_slice(), std::slice::from_ref(&error));
        // The answer may also come first.
        let progress = Progress::new(LIMITS, false);
        progress.deliver(&message("execute_reply", &failure));
        progress.deliver(&message("error", &failure));
        progress.deliver(&message("status", &json!({"execution_state": "idle"})));
        assert_eq!(progress.take().outputs, [error]);
    }

    #[test]
    fn what_a_pager_would_show_is_an_output() {
        let progress = Progress::new(LIMITS, false);
        let payload = json!([{"source": "page", "data": {"text/plain": "Docstring"}, "start": 0}]);
        progress.deliver(&message("execute_reply", &json!({"status": "ok", "payload": payload})));
        let outputs = progress.take().outputs;
        assert!(
            matches!(&outputs[..], [Output::Display(rich)] if rich.data["text/plain"] == "Docstring")
        );
    }

    #[test]
    fn of_a_message_that_was_cut_the_ends_are_kept_and_the_rest_is_counted() {
        let progress = Progress::new(LIMITS, false);
        let mut cut = message("stream", &json!({"name": "stdout", "text": "abc"}));
        cut.content.truncate(cut.content.len() - 3);
        cut.tail = b"yz\"}".to_vec();
        cut.length = 1_000_000_000;
        progress.deliver(&cut);
        let result = progress.take();
        assert!(matches!(&result.outputs[..], [Output::Stream { text, .. }]
            if text.starts_with("ab\n\n... [") && text.ends_with("] ...\n\nyz")));
        assert!(result.left_out > 999_999_000);
    }

    #[tokio::test]
    async fn a_follower_sees_chunks_as_they_come_and_a_slow_one_sees_a_mark() {
        let progress = Progress::new(LIMITS, true);
        let chunk = |text: &str| message("stream", &json!({"name": "stdout", "text": text}));
        progress.deliver(&chunk("a"));
        progress.deliver(&chunk("b"));
        assert_eq!(texts(progress.events(std::future::pending()).await), ["ab"]);
        for _ in 0..1_000 {
            progress.deliver(&chunk(&"x".repeat(100)));
        }
        let texts = texts(progress.events(std::future::pending()).await);
        assert!(texts.iter().map(String::len).sum::<usize>() < 2_100);
        assert!(texts.last().unwrap().contains("left out"));
        assert!(progress.events(async {}).await.is_empty());
    }

    #[tokio::test]
    async fn nonsense_from_a_kernel_is_passed_over() {
        let progress = Progress::new(LIMITS, false);
        for kind in ["status", "stream", "error", "display_data", "execute_reply", "comm_msg"] {
            progress.deliver(&message(kind, &json!([1, 2])));
        }
        assert!(!progress.phase.borrow().done());
    }
}

//! The log by itself: what it keeps, what it forgets, and what a follower is told.

use super::*;
use serde_json::json;

fn log(most: usize) -> Arc<ActivityLog> {
    Arc::new(ActivityLog { most, inner: Mutex::default(), changed: Notify::new() })
}

fn begin(log: &ActivityLog, command: &str) -> u64 {
    let spec = Spec::post("bash_exec", "/v1/bash/exec", "bash:write");
    log.began(&spec, &Context::new("r").through("rest"), &json!({"command": command}))
}

#[test]
fn a_call_is_listed_while_it_runs_and_when_it_has_ended() {
    let log = log(10);
    let call = begin(&log, "make test");
    let running = log.since(0, 10);
    assert_eq!(running.entries[0].outcome, ActivityOutcome::Running);
    assert_eq!(running.entries[0].duration_ms, None);
    log.ended(call, Ending::Failed("bash.failed"));
    let ended = log.since(running.next, 10);
    let [entry] = &ended.entries[..] else { panic!("{ended:?}") };
    assert_eq!(
        (entry.operation.as_str(), entry.group.as_str(), entry.summary.as_str()),
        ("bash_exec", "bash", "make test")
    );
    assert_eq!(
        (entry.outcome, entry.error_code.as_deref(), entry.via.as_str()),
        (ActivityOutcome::Failed, Some("bash.failed"), "rest")
    );
    assert!(entry.duration_ms.is_some() && log.since(ended.next, 10).entries.is_empty());
}

#[test]
fn what_runs_outlasts_what_has_ended_and_the_log_keeps_its_bound() {
    let log = log(3);
    let first = begin(&log, "first");
    for name in ["a", "b", "c", "d"] {
        log.ended(begin(&log, name), Ending::Done);
    }
    let now = log.since(0, 10);
    let mut shown: Vec<_> = now.entries.iter().map(|entry| entry.summary.as_str()).collect();
    shown.sort_unstable();
    assert_eq!((shown, now.forgotten), (vec!["c", "d", "first"], 2));
    for name in ["x", "y", "z"] {
        begin(&log, name);
    }
    log.ended(first, Ending::Done);
    assert_eq!(log.since(0, 10).entries.len(), 3, "and the end of what is forgotten is nothing");
}

#[tokio::test(start_paused = true)]
async fn a_follower_is_told_each_change_and_can_resume() {
    let log = log(10);
    let call = begin(&log, "one");
    let cx = Context::new("r");
    let mut events =
        Activities(Arc::clone(&log)).stream(&cx, ListActivity::default()).await.unwrap();
    let first = events.next().await.unwrap();
    assert_eq!((first.name, &first.data["outcome"]), ("activity", &json!("running")));
    log.ended(call, Ending::Done);
    let second = events.next().await.unwrap();
    assert_eq!(second.data["outcome"], "ok");
    begin(&log, "two");
    let resumed = cx.resuming_after(second.id);
    let mut events =
        Activities(Arc::clone(&log)).stream(&resumed, ListActivity::default()).await.unwrap();
    assert_eq!(events.next().await.unwrap().data["summary"], "two");
}

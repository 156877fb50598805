use serde_json::json;

use super::*;

fn origin() -> Origin<'static> {
    Origin { session: None, tab: Some("T"), main_frame: Some("T") }
}

fn sent(id: &str, url: &str, kind: &str, frame: &str) -> Value {
    json!({
        "requestId": id, "frameId": frame, "type": kind, "timestamp": 10.0, "wallTime": 1000.5,
        "request": {"url": url, "method": "GET", "headers": {"A": "b"}},
    })
}

fn begin(log: &mut Log, id: &str, url: &str) {
    log.event(origin(), "Network.requestWillBeSent", &sent(id, url, "Fetch", "T"));
}

fn all(log: &Log) -> Vec<Exchange> {
    log.select(|_| true, usize::MAX)
}

#[test]
fn a_request_is_put_together_from_its_events() {
    let mut log = Log::new(10);
    begin(&mut log, "1", "http://h/a");
    let response = json!({"requestId": "1", "response": {
        "status": 201, "statusText": "Created", "mimeType": "text/plain", "headers": {"X": "1\n2"},
    }});
    log.event(origin(), "Network.responseReceived", &response);
    log.event(origin(), "Network.dataReceived", &json!({"requestId": "1", "dataLength": 7}));
    let finished = json!({"requestId": "1", "timestamp": 10.25, "encodedDataLength": 120.0});
    log.event(origin(), "Network.loadingFinished", &finished);
    let exchange = all(&log).remove(0);
    let response = exchange.response.unwrap();
    assert_eq!((response.status, response.mime_type.as_str()), (201, "text/plain"));
    assert_eq!(response.headers, [("X".into(), "1".into()), ("X".into(), "2".into())]);
    let end = exchange.end.unwrap();
    assert_eq!((end.took.as_millis(), end.transferred, end.error), (250, 120, None));
    assert_eq!(exchange.body_bytes, 7);
}

#[test]
fn what_comes_before_the_request_is_not_lost() {
    let mut log = Log::new(10);
    let extra = json!({"requestId": "1", "headers": {"Cookie": "a=1"}});
    log.event(origin(), "Network.requestWillBeSentExtraInfo", &extra);
    let extra = json!({"requestId": "1", "headers": {"Set-Cookie": "a=1"}, "statusCode": 304});
    log.event(origin(), "Network.responseReceivedExtraInfo", &extra);
    log.note_route("1", "**/a");
    begin(&mut log, "1", "http://h/a");
    let response = json!({"requestId": "1", "response": {"status": 200, "headers": {}}});
    log.event(origin(), "Network.responseReceived", &response);
    let exchange = all(&log).remove(0);
    assert_eq!(exchange.headers, [("Cookie".to_owned(), "a=1".to_owned())]);
    assert_eq!(exchange.route.as_deref(), Some("**/a"));
    let response = exchange.response.unwrap();
    assert_eq!(response.status, 304);
    assert_eq!(response.headers, [("Set-Cookie".to_owned(), "a=1".to_owned())]);
}

#[test]
fn a_redirect_ends_one_exchange_and_begins_another() {
    let mut log = Log::new(10);
    begin(&mut log, "1", "http://h/a");
    let mut redirect = sent("1", "http://h/b", "Fetch", "T");
    redirect["timestamp"] = json!(11.0);
    redirect["redirectResponse"] = json!({"status": 302, "headers": {"Location": "/b"}});
    log.event(origin(), "Network.requestWillBeSent", &redirect);
    let exchanges = all(&log);
    let urls: Vec<_> = exchanges.iter().map(|exchange| exchange.url.as_str()).collect();
    assert_eq!(urls, ["http://h/a", "http://h/b"]);
    assert_eq!(exchanges[0].response.as_ref().unwrap().status, 302);
    assert_eq!(exchanges[0].end.as_ref().unwrap().took.as_secs(), 1);
    assert!(exchanges[1].response.is_none() && exchanges[1].end.is_none());
}

#[test]
fn headers_that_come_late_belong_to_their_own_redirect() {
    let mut log = Log::new(10);
    begin(&mut log, "1", "http://h/a");
    let mut redirect = sent("1", "http://h/b", "Fetch", "T");
    redirect["redirectResponse"] = json!({"status": 302, "headers": {}});
    log.event(origin(), "Network.requestWillBeSent", &redirect);
    for (name, event) in
        [("Sent", "requestWillBeSentExtraInfo"), ("Got", "responseReceivedExtraInfo")]
    {
        for hop in 0..2 {
            let extra = json!({"requestId": "1", "headers": {name: hop.to_string()}});
            log.event(origin(), &format!("Network.{event}"), &extra);
        }
    }
    let response = json!({"requestId": "1", "response": {"status": 200, "headers": {}}});
    log.event(origin(), "Network.responseReceived", &response);
    for (hop, exchange) in all(&log).into_iter().enumerate() {
        assert_eq!(exchange.headers, [("Sent".to_owned(), hop.to_string())]);
        assert_eq!(exchange.response.unwrap().headers, [("Got".to_owned(), hop.to_string())]);
    }
}

#[test]
fn a_failure_says_why() {
    let mut log = Log::new(10);
    begin(&mut log, "1", "http://h/a");
    let failed = json!({"requestId": "1", "timestamp": 10.5, "errorText": "net::ERR_FAILED"});
    log.event(origin(), "Network.loadingFailed", &failed);
    let end = all(&log).remove(0).end.unwrap();
    assert_eq!(end.error.as_deref(), Some("net::ERR_FAILED"));
}

#[test]
fn the_latest_requests_are_kept_and_nothing_else() {
    let mut log = Log::new(3);
    for number in 0..100 {
        let url = format!("http://h/{number}");
        let id = number.to_string();
        log.event(origin(), "Network.requestWillBeSent", &sent(&id, &url, "Document", "T"));
        // What comes late for one that is forgotten is no reason to fail.
        let finished = json!({"requestId": "0", "timestamp": 1.0, "encodedDataLength": 1.0});
        log.event(origin(), "Network.loadingFinished", &finished);
    }
    let urls: Vec<_> = all(&log).into_iter().map(|exchange| exchange.url).collect();
    assert_eq!(urls, ["http://h/97", "http://h/98", "http://h/99"]);
    assert_eq!(log.requests.len(), 3);
    assert_eq!(log.pages.len(), 3);
    for number in 0..10_000 {
        log.note_route(&format!("stray {number}"), "x");
    }
    assert!(log.requests.len() <= 3 + STRAY + 1);
    log.clear();
    assert!(all(&log).is_empty() && log.requests.is_empty());
    begin(&mut log, "new", "http://h/new");
    assert_eq!(all(&log).len(), 1);
}

#[test]
fn only_the_main_frames_document_begins_a_page() {
    let mut log = Log::new(10);
    log.event(origin(), "Network.requestWillBeSent", &sent("1", "http://h/a", "Document", "T"));
    log.event(origin(), "Network.requestWillBeSent", &sent("2", "http://h/f", "Document", "F"));
    let frame = Origin { tab: Some("T"), ..Origin::default() };
    log.event(frame, "Network.requestWillBeSent", &sent("3", "http://h/g", "Script", "F"));
    log.event(origin(), "Network.requestWillBeSent", &sent("4", "http://h/b", "Document", "T"));
    let pages: Vec<_> = all(&log).iter().map(|exchange| exchange.page).collect();
    assert_eq!(pages, [Some(1), Some(1), Some(1), Some(2)]);
}

#[test]
fn the_latest_that_fit_come_in_order() {
    let mut log = Log::new(10);
    for (id, url) in
        [("1", "http://h/a1"), ("2", "http://h/b"), ("3", "http://h/a2"), ("4", "http://h/a3")]
    {
        begin(&mut log, id, url);
    }
    let found = log.select(|url| url.contains("/a"), 2);
    let urls: Vec<_> = found.iter().map(|exchange| exchange.url.as_str()).collect();
    assert_eq!(urls, ["http://h/a2", "http://h/a3"]);
}

#[test]
fn an_address_that_carries_its_content_is_cut() {
    let mut log = Log::new(10);
    begin(&mut log, "1", &format!("data:text/plain,{}", "ä".repeat(1 << 20)));
    assert!(all(&log)[0].url.len() < 10_000);
}

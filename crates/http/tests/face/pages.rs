//! Health, metrics, documents.

use serde_json::json;

use crate::support::{locked, start, start_with};

#[tokio::test]
async fn health_says_what_runs() {
    let server = start().await;
    let answer = server.get("/health").await;
    assert_eq!(answer.json(), json!({"status": "ok", "version": "9.9.9"}));
}

#[tokio::test]
async fn metrics_count_by_operation_and_status() {
    let server = start().await;
    server.get("/v1/things/secret-name").await;
    server.get("/v1/things/x?limit=no").await;
    server.get("/random/path").await;
    let answer = server.get("/metrics").await;
    assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
    for line in [
        "atoll_http_requests_total{operation=\"test_lookup\",status=\"200\"} 1",
        "atoll_http_requests_total{operation=\"test_lookup\",status=\"422\"} 1",
        "atoll_http_requests_total{operation=\"none\",status=\"404\"} 1",
        "atoll_http_request_duration_seconds_count{operation=\"test_lookup\"} 2",
        "atoll_http_requests_in_flight 1",
        "atoll_test_gauge 42",
        "atoll_build_info{version=\"9.9.9\"} 1",
    ] {
        assert!(answer.body.lines().any(|known| known == line), "{line} in {}", answer.body);
    }
    assert!(!answer.body.contains("secret-name") && !answer.body.contains("random"));
}

#[tokio::test]
async fn the_document_lists_every_operation_and_is_cached() {
    let server = start().await;
    let answer = server.get("/v1/openapi.json").await;
    let parsed: oas3::OpenApiV3Spec = oas3::from_json(&answer.body).unwrap();
    assert_eq!(parsed.operations().count(), 17);
    assert_eq!(parsed.info.version, "9.9.9");
    let tag = answer.header("etag").unwrap().to_owned();
    let again = server.send("GET", "/v1/openapi.json", &[("If-None-Match", &tag)], "").await;
    assert_eq!((again.status, again.body.as_str()), (304, ""));
}

#[tokio::test]
async fn the_api_page_asks_nothing_of_other_machines() {
    let server = start().await;
    let page = server.get("/v1/docs").await;
    assert_eq!(page.status, 200);
    assert!(!page.body.contains("://"), "{}", page.body);
    assert!(!page.body.contains("<script>"), "no script in the page itself");
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("connect-src 'self'"));
    assert!(!policy.contains("://") && policy.contains("script-src 'self';"));
    let mut files = 0;
    for part in page.body.split('"').filter(|part| part.starts_with("docs/")) {
        let file = server.get(&format!("/v1/{part}")).await;
        assert_eq!(file.status, 200, "{part}");
        assert!(!file.body.is_empty());
        if part.ends_with("initialise.js") {
            assert!(!file.body.contains("://"), "{}", file.body);
            assert!(file.body.contains("validatorUrl: null"));
        }
        files += 1;
    }
    let built = page.body.contains("swagger-ui");
    assert_eq!(files, if built { 3 } else { 0 });
    assert!(built || page.body.contains("npm --prefix web"), "{}", page.body);
}

#[tokio::test]
async fn the_front_page_is_the_dashboard_or_leads_to_the_documentation() {
    let server = start().await;
    let answer = server.get("/").await;
    if answer.status == 307 {
        assert_eq!(answer.header("location"), Some("v1/docs"), "a program built without pages");
    } else {
        assert_eq!((answer.status, &answer.body), (200, &server.get("/index.html").await.body));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert!(!answer.body.contains("<script>") && !answer.body.contains("://"));
        let terminal = server.get("/terminal").await;
        assert_eq!(terminal.status, 200);
        for page in [answer, terminal] {
            let files: Vec<_> =
                page.body.split('"').filter(|part| part.starts_with("./ui/")).collect();
            assert!(files.len() > 2, "{}", page.body);
            for file in files {
                let file = server.get(file.trim_start_matches('.')).await;
                assert_eq!(file.status, 200);
                assert!(file.header("cache-control").unwrap().contains("immutable"));
            }
        }
    }
    assert_eq!(server.get("/favicon.ico").await.status, 204);
}

#[tokio::test]
async fn other_addresses_of_pages_lead_to_them_and_keep_their_query() {
    let server = start().await;
    for (path, to) in [
        ("/docs", "v1/docs"),
        ("/terminal/", "../terminal"),
        ("/terminal/index.html?session_id=s", "../terminal?session_id=s"),
        ("/codex", "terminal?run=codex"),
        ("/opencode?ticket=t", "terminal?run=opencode&ticket=t"),
    ] {
        let answer = server.get(path).await;
        assert_eq!((answer.status, answer.header("location")), (307, Some(to)), "{path}");
    }
}

#[tokio::test]
async fn published_scripts_are_for_pages_of_anybody_and_nothing_beside_them_is() {
    let server = start_with(locked()).await;
    let foreign = [("Origin", "https://elsewhere.test")];
    let script = "/static/sandbox/xterm@5.3.0/lib/xterm.js";
    let answer = server.send("GET", script, &foreign, "").await;
    if answer.status == 200 {
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        assert_eq!(server.send("POST", script, &foreign, "").await.status, 403);
        assert_eq!(server.send("GET", script, &[("Host", "a b")], "").await.status, 400);
    } else {
        assert_eq!(answer.status, 403, "a program built without them knows no such path");
    }
    for beside in ["/static/sandbox/", "/static/sandbox/xterm@5.3.0/lib/../../x", "/ui/x.js"] {
        assert_eq!(server.get(beside).await.status, 401, "{beside}");
    }
}

#[tokio::test]
async fn the_manual_describes_the_sandbox_and_links_the_documentation() {
    let server = start().await;
    let headers = [("X-Forwarded-Host", "box.example"), ("X-Forwarded-Prefix", "/p")];
    let answer = server.send("GET", "/llms.txt", &headers, "").await;
    assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
    assert_eq!(
        answer.body,
        "A fake sandbox.\n\nAPI documentation: http://box.example/p/v1/docs\n\
         OpenAPI document: http://box.example/p/v1/openapi.json\n"
    );
}

//! Health, metrics, documents.

use serde_json::json;

use crate::support::start;

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
    assert_eq!(parsed.operations().count(), 15);
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
async fn the_front_page_leads_to_the_documentation_behind_any_prefix() {
    let server = start().await;
    let answer = server.get("/").await;
    assert_eq!((answer.status, answer.header("location")), (307, Some("v1/docs")));
    assert_eq!(server.get("/favicon.ico").await.status, 204);
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

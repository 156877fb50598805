//! Every route there is, at once: none answers without a credential, none out of scope, none under another spelling,
//! none to a page that is not ours.

use std::collections::BTreeSet;

use atoll_operation::{Shape, Spec};
use atoll_testkit::Server;
use serde_json::json;
use tokio::net::TcpListener;

use crate::PROGRAM;
use crate::wire::{Line, UPGRADE};

const KEY: &str = "canary-key-0123456789abcdef";
/// Its SHA-256 is in the list of keys, without scopes.
const NOBODY: &str = "canary-nobody-0123456789";
const NOBODY_SHA256: &str = "9ed5688530400f5d455f6f50ea8d6fd17a8aeee41a5a1d92932d65a86bc87b09";
/// Its SHA-256 is in the list of keys, for calling tools and nothing else.
const TOOLS: &str = "canary-tools-0123456789";
const TOOLS_SHA256: &str = "76e313900c373749b820887a95607cbc3547b6fc6291ba99f42595e616795993";
const SECRET: &str = "canary-secret-0123456789abcdef0123456789";
/// Answered to whoever has a credential, whatever its scopes, and to everybody.
const ANYBODY: &str = "auth_authenticate";
const PUBLIC: &str = "system_ping";
/// What there is beside operations, and what there is not, or not everywhere.
const PAGES: [&str; 23] = [
    "/",
    "/index.html",
    "/docs",
    "/terminal",
    "/terminal/",
    "/codex",
    "/ui/nothing.js",
    "/metrics",
    "/v1/docs",
    "/v1/openapi.json",
    "/llms.txt",
    "/favicon.ico",
    "/mcp",
    "/v1/mcp",
    "/vnc",
    "/vnc/",
    "/vnc/index.html",
    "/browser-ui",
    "/websockify",
    "/code-server/",
    "/proxy/8080/",
    "/nowhere",
    "/static/nothing.js",
];
/// Those of them that need a scope.
const NARROW_PAGES: [&str; 2] = ["/metrics", "/llms.txt"];

async fn locked() -> Server {
    let builder = Server::builder(PROGRAM).variable("SANDBOX_API_KEY", KEY);
    let keys = builder.home().with_extension("keys");
    let list = format!("nobody {NOBODY_SHA256} ,\ntools {TOOLS_SHA256} mcp\n");
    std::fs::write(&keys, list).expect("a list of keys");
    builder.variable("JWT_SECRET", SECRET).argument("--api-keys-file").argument(keys).start().await
}

/// Every operation by every route that leads to it.
fn specs() -> impl Iterator<Item = Spec> {
    let own = || atoll_api::operations().map(|declaration| declaration.spec);
    let others = atoll_http::other_routes().map(move |(method, path, operation)| {
        let spec = own().find(|spec| spec.id == operation).expect("it leads to an operation");
        Spec { method, path, ..spec }
    });
    own().chain(others)
}

/// A path of an operation, parameters filled in; a window's with something below it too.
fn targets(spec: &Spec) -> Vec<String> {
    let parts: Vec<_> = spec.path.split('/').collect();
    let filled = parts.iter().map(|part| if part.starts_with('{') { "1" } else { part });
    let path = filled.collect::<Vec<_>>().join("/");
    if spec.shape == Shape::Window {
        vec![path.clone(), format!("{path}/"), format!("{path}/below/it?x=.js")]
    } else {
        vec![path]
    }
}

fn upgrade(spec: &Spec) -> &'static str {
    if spec.shape == Shape::Conversation { UPGRADE } else { "" }
}

#[tokio::test]
async fn every_declared_route_answers_401_without_a_credential_and_403_out_of_scope() {
    let server = locked().await;
    let mut line = Line::to(&server);
    let mut checked = 0;
    for spec in specs() {
        for target in targets(&spec) {
            let (method, socket) = (spec.method.as_str(), upgrade(&spec));
            let without = line.ask(method, &target, socket).await.status;
            let with = format!("Authorization: Bearer {NOBODY}\r\n{socket}");
            let out_of_scope = line.ask(method, &target, &with).await;
            let expected = match spec.id {
                PUBLIC => (200, 200),
                ANYBODY => (401, 200),
                _ => (401, 403),
            };
            assert_eq!((without, out_of_scope.status), expected, "{} {target}", spec.id);
            let named = out_of_scope.status != 403 || out_of_scope.text.contains(spec.scope);
            assert!(named, "{} is not named: {out_of_scope:?}", spec.scope);
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
    for page in PAGES {
        for method in ["GET", "POST", "PUT", "DELETE", "OPTIONS"] {
            assert_eq!(line.ask(method, page, "").await.status, 401, "{method} {page}");
        }
    }
    let nobody = format!("X-API-Key: {NOBODY}\r\n");
    for page in NARROW_PAGES {
        assert_eq!(line.ask("GET", page, &nobody).await.status, 403, "{page}");
    }
}

#[tokio::test]
async fn an_app_that_is_named_beside_the_path_needs_a_credential_and_its_scope() {
    let server = locked().await;
    let mut line = Line::to(&server);
    for named in ["X-Aio-Proxy-Port: 1\r\n", "X-Aio-Proxy-Port: x\r\n", "Host: 1-localhost\r\n"] {
        // Paths that are public, or need another scope, when nothing is named.
        for target in
            ["/", "/health", "/v1/ping", "/v1/docs", "/auth", "/v1/shell/exec", "/nowhere"]
        {
            assert_eq!(line.ask("GET", target, named).await.status, 401, "{target} {named}");
            let nobody = format!("X-API-Key: {NOBODY}\r\n{named}");
            let answer = line.ask("GET", target, &nobody).await;
            assert_eq!(answer.status, 403, "{target} {named}");
            assert!(answer.text.contains("preview:write"), "{answer:?}");
        }
    }
}

#[tokio::test]
async fn a_tool_needs_the_scopes_of_what_it_does_whichever_way_it_is_called() {
    let server = locked().await;
    let mut line = Line::to(&server);
    let made = server.home().join("made");
    let arguments = json!({"cmd": format!("touch {}", made.display())});
    let params = json!({"name": "sandbox_execute_bash", "arguments": arguments});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let accept =
        "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n";
    let ways = [
        ("/v1/mcp/sandbox/tools/sandbox_execute_bash", arguments.to_string()),
        ("/mcp", message.to_string()),
        ("/v1/mcp", message.to_string()),
    ];
    for (path, body) in &ways {
        let headers = format!("{accept}X-API-Key: {TOOLS}\r\nConnection: close\r\n");
        let refused = line.send("POST", path, &headers, body).await;
        assert!(!made.exists(), "{path}: {refused:?}");
        assert!(
            refused.text.contains("scope bash:write") || refused.text.contains("scope shell:write"),
            "{path}: {refused:?}"
        );
    }
    for (path, body) in &ways {
        let headers = format!("{accept}X-API-Key: {KEY}\r\nConnection: close\r\n");
        let done = line.send("POST", path, &headers, body).await;
        assert!(made.exists(), "{path}: {done:?}");
        std::fs::remove_file(&made).expect("the file");
    }
}

/// Ways to write a path that some servers take for the path itself, or for another.
fn spellings(target: &str, host: &str) -> Vec<String> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    let last = path.rfind('/').map_or(0, |slash| slash + 1);
    let (above, name) = path.split_at(last);
    let encoded: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
    [
        format!("/{path}"),
        format!("/.{path}"),
        format!("/x/..{path}"),
        format!("/x/%2e%2e{path}"),
        format!("/x/..;{path}"),
        format!("/health/..{path}"),
        format!("/health;{path}"),
        format!("/v1/ping/%2e%2e/..{path}"),
        path.replace('/', "//"),
        path.replacen('/', "/%2f", 1),
        format!("{path}/"),
        format!("{path};x=1"),
        format!("{path}%00"),
        format!("{path}%20"),
        format!("{path}.js"),
        format!("{path}?x=.css"),
        format!("{path}?/health"),
        format!("{above}{encoded}"),
        path.to_ascii_uppercase(),
        format!("http://{host}{path}"),
        format!("HTTP://{host}/health/..{path}"),
    ]
    .into_iter()
    .map(|spelled| format!("{spelled}{query}"))
    .collect()
}

#[tokio::test]
async fn no_other_spelling_of_a_route_is_a_way_round_credentials_or_scopes() {
    let server = locked().await;
    let mut line = Line::to(&server);
    let host = line.host().to_owned();
    let nobody = format!("Authorization: Bearer {NOBODY}\r\n");
    let routes: BTreeSet<_> = specs()
        .filter(|spec| ![PUBLIC, ANYBODY].contains(&spec.id))
        .flat_map(|spec| {
            targets(&spec).into_iter().map(move |target| (spec.method.as_str(), target))
        })
        .collect();
    for (method, target) in routes {
        for spelled in spellings(&target, &host) {
            let without = line.ask(method, &spelled, "").await.status;
            assert!([400, 401].contains(&without), "{method} {spelled}: {without}");
            let out_of_scope = line.ask(method, &spelled, &nobody).await.status;
            let refused = [400, 403, 404, 405].contains(&out_of_scope);
            assert!(refused, "{method} {spelled}: {out_of_scope}");
        }
    }
}

/// Names that are not this machine's, whatever a resolver says.
const FOREIGN_HOSTS: [&str; 20] = [
    "evil.test",
    "evil.test:{port}",
    "127.0.0.1.evil",
    "127.0.0.1.nip.test:{port}",
    "localhost.evil.test",
    "evil.localhost",
    "localhost.",
    "localhost.:{port}",
    "127.0.0.1.",
    "127.1:{port}",
    "0177.0.0.1",
    "0x7f000001",
    "2130706433",
    "0.0.0.0:{port}",
    "[::ffff:127.0.0.1]:{port}",
    "[::]:{port}",
    "10.0.0.1:{port}",
    "localhost@evil.test",
    "localhost:{port}@evil.test",
    "LOCALHOST.EVIL.TEST",
];
/// Pages that are not ours.
const FOREIGN_ORIGINS: [&str; 10] = [
    "http://evil.test",
    "https://evil.test:{port}",
    "http://localhost",
    "http://localhost:1",
    "http://127.0.0.1.evil.test:{port}",
    "http://evil.test#127.0.0.1:{port}",
    "file://",
    "null",
    "chrome-extension://127.0.0.1:{port}",
    "http://127.0.0.1:{port}.evil.test",
];

#[tokio::test]
async fn no_route_of_a_server_without_credentials_answers_to_a_foreign_name_or_page() {
    let server = Server::start(PROGRAM).await;
    let mut line = Line::to(&server);
    let host = line.host().to_owned();
    let port = host.rsplit(':').next().unwrap_or_default().to_owned();
    let mut headers: Vec<String> = Vec::new();
    headers.extend(FOREIGN_HOSTS.map(|name| format!("Host: {name}\r\n")));
    headers.extend(FOREIGN_ORIGINS.map(|origin| format!("Origin: {origin}\r\n")));
    headers.push(format!("Host: {host}\r\nHost: evil.test\r\n"));
    headers.push(format!("Host: {host}\r\nOrigin: http://{host}\r\nOrigin: http://evil.test\r\n"));
    headers.push("Origin: http://evil.test\r\nContent-Type: text/plain\r\n".to_owned());
    headers.push(format!("Host: evil.test\r\nX-Forwarded-Host: {host}\r\n"));
    let headers: Vec<_> = headers.iter().map(|line| line.replace("{port}", &port)).collect();
    let mut routes: Vec<_> = specs()
        .flat_map(|spec| {
            let form = (spec.method.as_str(), upgrade(&spec));
            targets(&spec).into_iter().map(move |target| (form.0, target, form.1))
        })
        .collect();
    routes.extend(PAGES.map(|page| ("GET", page.to_owned(), "")));
    routes.push(("GET", "/health".to_owned(), ""));
    for (method, target, socket) in &routes {
        for foreign in &headers {
            let answer = line.ask(method, target, &format!("{foreign}{socket}")).await;
            let refused = [400, 403].contains(&answer.status);
            assert!(refused, "{method} {target} {foreign:?}: {answer:?}");
            let told = answer.text.to_ascii_lowercase();
            assert!(!told.contains("access-control-allow-origin"), "{told}");
        }
        let absolute = format!("http://evil.test{target}");
        assert_eq!(line.ask(method, &absolute, socket).await.status, 400, "{absolute}");
    }
    // Nothing of it came as far as an operation or a page.
    let metrics = line.ask("GET", "/metrics", "").await.text;
    let counted = metrics.lines().filter(|line| line.starts_with("atoll_http_requests_total"));
    let reached: Vec<_> = counted.filter(|line| !line.contains("operation=\"none\"")).collect();
    assert!(reached.is_empty(), "{reached:?}");
}

#[tokio::test]
async fn no_form_of_address_but_those_of_previews_makes_this_server_call_another_port() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let inner = listener.local_addr().expect("its address");
    let port = inner.port();
    let called = tokio::spawn(async move { listener.accept().await.map(|(_, peer)| peer) });
    let server = Server::start(PROGRAM).await;
    let mut line = Line::to(&server);
    let host = line.host().to_owned();
    let mut targets = Vec::new();
    for form in ["port", "ports", "preview", "p", "tunnel", "forward", "v1/proxy", "v1/ports"] {
        targets.push(format!("/{form}/{port}"));
        targets.push(format!("/{form}/{port}/x?y=1"));
    }
    for form in ["proxy", "absproxy", "app", "port", "preview"] {
        targets.push(format!("/{form}/127.0.0.1:{port}/"));
        targets.push(format!("/{form}/http://127.0.0.1:{port}/"));
    }
    for window in ["/cdp", "/json"] {
        for address in [
            format!("{window}@127.0.0.1:{port}/"),
            format!("{window}:{port}/"),
            format!("{window}/@127.0.0.1:{port}/"),
            format!("{window}//127.0.0.1:{port}/"),
            format!("{window}/http://127.0.0.1:{port}/"),
            format!("{window}/..//127.0.0.1:{port}/"),
            format!("{window}/%2f%2f127.0.0.1:{port}/"),
        ] {
            targets.push(address);
        }
    }
    targets.push(format!("/proxy//{port}/"));
    targets.push(format!("/proxy/%2f{port}/"));
    targets.push(format!("/proxy/x/../{port}/"));
    targets.push(format!("/x/../proxy/{port}/"));
    for target in &targets {
        for headers in [
            String::new(),
            format!("X-Forwarded-Host: 127.0.0.1:{port}\r\n"),
            format!("Host: localhost:{port}\r\n"),
            format!("Host: 127.0.0.1:{port}\r\n"),
            UPGRADE.to_owned(),
        ] {
            let answer = line.ask("GET", target, &headers).await;
            assert_ne!(answer.status, 101, "{target} {headers}: {answer:?}");
        }
    }
    for request in [
        format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"),
        format!("GET http://127.0.0.1:{port}/nowhere HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"),
        format!("GET http://{port}-box.localhost/nowhere HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        format!("GET /nowhere HTTP/1.1\r\nHost: {port}-box.example\r\n\r\n"),
        format!(
            "GET /nowhere HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-Host: {port}-localhost\r\n\r\n"
        ),
        format!("GET /nowhere HTTP/1.1\r\nHost: {port}.localhost\r\n\r\n"),
        format!("GET /nowhere HTTP/1.1\r\nHost: {port}-8080.127.0.0.1\r\n\r\n"),
    ] {
        let answer = line.exchange(&request).await;
        assert!(answer.status >= 300, "{request:?}: {answer:?}");
    }
    assert!(!called.is_finished(), "somebody was passed on to {inner}");
    called.abort();
}

use super::*;

fn guard(address: &str, hosts: &[&str], origins: &[&str]) -> Guard {
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let address = BoundAddress::Tcp(address.parse().unwrap());
    Guard::new(&address, &own(hosts), &own(origins), false)
}

/// The status a request with these headers is refused with; 200 when it is let in.
fn status(guard: &Guard, target: &str, headers: &[(&str, &str)]) -> u16 {
    let mut request = Request::builder().uri(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    match guard.judge(&request.body(()).unwrap()) {
        Verdict::Refused(failure) => failure.status.as_u16(),
        Verdict::Admitted { .. } | Verdict::Preflight(_) => 200,
    }
}

#[test]
fn a_loopback_server_answers_only_to_loopback_names() {
    let guard = guard("127.0.0.1:8080", &["box.test", "other.test:9"], &[]);
    for (host, expected) in [
        ("localhost", 200),
        ("localhost:8080", 200),
        ("LocalHost:8080", 200),
        ("127.0.0.1:8080", 200),
        ("127.8.9.10:1", 200),
        ("[::1]:8080", 200),
        ("[0:0:0:0:0:0:0:1]", 200),
        ("box.test", 200),
        ("BOX.test:77", 200),
        ("other.test:9", 200),
        ("other.test:8", 403),
        ("evil.test", 403),
        ("evil.test:8080", 403),
        ("127.0.0.1.evil", 403),
        ("localhost.evil.test", 403),
        ("evil.localhost", 403),
        ("localhost.", 403),
        ("localhost.:8080", 403),
        ("127.0.0.1.", 403),
        ("127.1", 403),
        ("0177.0.0.1", 403),
        ("2130706433", 403),
        ("0.0.0.0:8080", 403),
        ("[::ffff:127.0.0.1]", 403),
        ("[::2]", 403),
        ("10.0.0.1", 403),
        ("evil.test@localhost", 400),
        ("localhost@evil.test", 400),
        ("localhost:8080:1", 400),
        ("localhost:", 400),
        ("localhost:99999", 400),
        ("localhost/x", 400),
        ("[::1", 400),
        ("[::1]x", 400),
        ("::1", 400),
        ("", 400),
        ("localhost, evil.test", 400),
    ] {
        assert_eq!(status(&guard, "/v1/ping", &[("host", host)]), expected, "{host}");
    }
}

#[test]
fn host_must_be_given_once_and_agree_with_the_target() {
    let guard = guard("127.0.0.1:8080", &[], &[]);
    assert_eq!(status(&guard, "/", &[]), 400);
    let twice = [("host", "localhost"), ("host", "localhost")];
    assert_eq!(status(&guard, "/", &twice), 400);
    let mixed = [("host", "localhost"), ("host", "evil.test")];
    assert_eq!(status(&guard, "/", &mixed), 400);
    assert_eq!(status(&guard, "http://evil.test/", &[("host", "localhost")]), 400);
    assert_eq!(status(&guard, "http://localhost/", &[("host", "evil.test")]), 400);
    assert_eq!(status(&guard, "http://evil.test/", &[("host", "evil.test")]), 403);
    assert_eq!(status(&guard, "http://localhost/", &[("host", "LOCALHOST")]), 200);
}

#[test]
fn a_network_server_checks_hosts_only_when_told_some() {
    let open = guard("0.0.0.0:8080", &[], &[]);
    assert_eq!(status(&open, "/", &[("host", "anything.test")]), 200);
    assert_eq!(status(&open, "/", &[]), 400);
    let told = guard("0.0.0.0:8080", &["box.test"], &[]);
    assert_eq!(status(&told, "/", &[("host", "anything.test")]), 403);
    assert_eq!(status(&told, "/", &[("host", "box.test")]), 200);
    assert_eq!(status(&told, "/", &[("host", "localhost")]), 200);
    let any = guard("127.0.0.1:8080", &["*"], &[]);
    assert_eq!(status(&any, "/", &[("host", "anything.test")]), 200);
}

#[test]
fn only_the_own_and_allowed_origins_may_call() {
    let guard = guard("127.0.0.1:8080", &[], &["https://app.test", "null"]);
    for (host, origin, expected) in [
        ("localhost:8080", "http://localhost:8080", 200),
        ("localhost:8080", "HTTP://LOCALHOST:8080", 200),
        ("localhost", "http://localhost", 200),
        ("localhost:80", "http://localhost", 200),
        ("localhost", "https://localhost:443", 200),
        ("localhost:8080", "https://app.test", 200),
        ("localhost:8080", "null", 200),
        ("localhost:8080", "http://app.test", 403),
        ("localhost:8080", "https://app.test.evil", 403),
        ("localhost:8080", "http://localhost:3000", 403),
        ("localhost:8080", "http://127.0.0.1:8080", 403),
        ("localhost:8080", "http://localhost", 403),
        ("localhost:443", "http://localhost", 403),
        ("localhost:8080", "http://evil.test", 403),
        ("localhost:8080", "chrome-extension://localhost:8080", 403),
        ("localhost:8080", "", 403),
    ] {
        let headers = [("host", host), ("origin", origin)];
        assert_eq!(status(&guard, "/v1/ping", &headers), expected, "{host} {origin}");
    }
    let twice =
        [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://evil.test")];
    assert_eq!(status(&guard, "/v1/ping", &twice), 403);
}

#[test]
fn the_query_never_decides() {
    let guard = guard("127.0.0.1:8080", &[], &[]);
    let headers = [("host", "localhost"), ("origin", "http://evil.test")];
    for target in ["/v1/ping?x=.js", "/v1/ping?origin=*", "/swagger-ui.css?/v1/"] {
        assert_eq!(status(&guard, target, &headers), 403, "{target}");
    }
}

#[test]
fn loads_from_other_pages_are_refused_but_links_are_followed() {
    let closed = guard("127.0.0.1:8080", &[], &[]);
    let load =
        |site, mode| [("host", "localhost"), ("sec-fetch-site", site), ("sec-fetch-mode", mode)];
    let url = "/v1/shell/terminal-url";
    assert_eq!(status(&closed, url, &load("cross-site", "no-cors")), 403);
    assert_eq!(status(&closed, url, &load("same-site", "no-cors")), 403);
    assert_eq!(status(&closed, url, &load("same-origin", "cors")), 200);
    assert_eq!(status(&closed, url, &load("none", "navigate")), 200);
    assert_eq!(status(&closed, "/v1/docs", &load("cross-site", "navigate")), 200);
    assert_eq!(status(&closed, "/static/x.js", &load("cross-site", "no-cors")), 200);
    let open = guard("127.0.0.1:8080", &[], &["*"]);
    assert_eq!(status(&open, url, &load("cross-site", "no-cors")), 200);
}

#[test]
fn an_allowed_origin_gets_its_preflight_answered() {
    let guard = guard("127.0.0.1:8080", &[], &["*"]);
    let request = Request::builder()
        .method(Method::OPTIONS)
        .uri("/v1/bash/exec")
        .header("host", "localhost")
        .header("origin", "https://app.test")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type, x-custom")
        .body(())
        .unwrap();
    let Verdict::Preflight(answer) = guard.judge(&request) else {
        panic!("not answered");
    };
    assert_eq!(answer["access-control-allow-origin"], "https://app.test");
    assert_eq!(answer["access-control-allow-headers"], "content-type, x-custom");
    assert!(answer["access-control-allow-methods"].to_str().unwrap().contains("POST"));
    assert!(!answer.contains_key("access-control-allow-credentials"));
}

#[test]
fn an_app_is_named_before_a_host_of_ours_and_nowhere_else() {
    let guard = guard("127.0.0.1:8080", &["box.test", "other.test:9", "10-gpu.test"], &[]);
    for (host, expected, port) in [
        ("5173-localhost:8080", 200, Some(5173)),
        ("5173-LOCALHOST", 200, Some(5173)),
        ("5173-127.0.0.1:8080", 200, Some(5173)),
        ("5173-a.localhost", 200, Some(5173)),
        ("5173-box.test:77", 200, Some(5173)),
        ("5173-other.test:9", 200, Some(5173)),
        ("5173-other.test:8", 403, Some(5173)),
        ("5173-evil.test", 403, Some(5173)),
        ("5173-localhost.evil.test", 403, Some(5173)),
        ("5173-localhost.", 403, Some(5173)),
        ("5173-evillocalhost", 403, Some(5173)),
        ("0-localhost", 403, None),
        ("65536-localhost", 403, None),
        ("x-localhost", 403, None),
        ("-localhost", 403, None),
        // This server's own port, and a host that is listed as a whole, are this server.
        ("8080-localhost", 200, None),
        ("8080-evil.test", 403, None),
        ("10-gpu.test", 200, None),
    ] {
        assert_eq!(status(&guard, "/", &[("host", host)]), expected, "{host}");
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        assert_eq!(guard.named_port(&headers), port, "{host}");
    }
}

#[test]
fn pages_of_others_load_nothing_of_an_app() {
    let guard = guard("127.0.0.1:8080", &[], &[]);
    let load =
        [("host", "localhost"), ("sec-fetch-site", "same-site"), ("sec-fetch-mode", "no-cors")];
    for app in ["/proxy/5173/x.png", "/absproxy/5173/x.png", "/app/x.png"] {
        assert_eq!(status(&guard, app, &load), 403, "{app}");
    }
    let follow =
        [("host", "localhost"), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
    assert_eq!(status(&guard, "/proxy/5173/", &follow), 200, "a link is followed");
}

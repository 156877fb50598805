//! What the server answers is what its document promises: every operation that answers once is called and its whole
//! body held against the schema. None of the answers tells a secret of the server.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use atoll_operation::Shape;
use atoll_testkit::Server;
use serde_json::{Value, json};

use crate::PROGRAM;
use crate::secrets::{KEY, SECRET, assert_no_secret};
use crate::wire::Line;

/// Stands for the watcher made last.
const WATCHER: &str = "$watcher";
/// Stands for the address of a site on this machine.
const SITE: &str = "$site";
/// Stands for a window that is on the desktop.
const WINDOW: &str = "$window";

/// Inputs with which each operation succeeds when they are called in this order; sessions `s`, `b`, `j` and `n`, and
/// files in the workspace, are made on the way. An operation that is missing here fails the test below.
fn inputs() -> Vec<(&'static str, Value)> {
    let mut inputs = commands();
    inputs.extend(files());
    inputs.extend(code());
    inputs.extend(browser());
    inputs.extend(desktop());
    inputs.extend(skills_and_hooks());
    inputs.extend(documents());
    inputs.extend(services());
    inputs.extend(proxies());
    inputs
}

/// A page with something of everything.
const PAGE: &str = "data:text/html,<title>Page</title><h1>Heading</h1><button>Press</button><input id=text>\
    <input id=box type=checkbox><input id=file type=file><select><option>one<option>two</select>\
    <div style='height:5000px'></div><p id=end>The end</p><script>console.log('said')</script>";

fn browser() -> Vec<(&'static str, Value)> {
    let mut inputs = vec![
        ("browser_get_info", json!({})),
        ("browser_navigate", json!({"url": PAGE})),
        ("browser_navigate", json!({"url": "about:blank"})),
        ("browser_go_back", json!({})),
        ("browser_go_forward", json!({})),
        ("browser_go_back", json!({})),
        ("browser_reload", json!({})),
        ("browser_click", json!({"selector": "button"})),
        ("browser_fill", json!({"selector": "#text", "text": "some"})),
        ("browser_type", json!({"text": "thing"})),
        ("browser_press_key", json!({"key": "Home"})),
        ("browser_hot_key", json!({"keys": ["Control", "a"]})),
        ("browser_hover", json!({"selector": "button"})),
        ("browser_select_option", json!({"selector": "select", "label": "two"})),
        ("browser_check", json!({"selector": "#box"})),
        ("browser_uncheck", json!({"selector": "#box"})),
        ("browser_upload_file", json!({"selector": "#file", "files": ["a/b.txt"]})),
        ("browser_fill_form", json!({"items": [{"selector": "#text", "value": "more"}]})),
        ("browser_scroll", json!({})),
        ("browser_scroll_to", json!({})),
        ("browser_scroll_to_element", json!({"selector": "#end"})),
        ("browser_record", json!({"duration": 0.2, "save_path": "film.mp4"})),
        ("browser_get_html", json!({})),
        ("browser_get_text", json!({})),
        ("browser_get_markdown", json!({})),
        ("browser_get_elements", json!({})),
        ("browser_get_accessibility", json!({})),
        ("browser_get_console", json!({})),
        ("browser_export_console", json!({"save_path": "console.json"})),
        ("browser_page_info", json!({})),
        ("browser_evaluate", json!({"expression": "[1, 'two', {three: null}]"})),
        ("browser_find_text", json!({"keyword": "end"})),
        ("browser_wait", json!({"type": "selector", "selector": "button"})),
    ];
    inputs.extend(around_pages());
    inputs
}

fn around_pages() -> Vec<(&'static str, Value)> {
    let cookie = json!({"name": "a", "value": "1", "url": "http://127.0.0.1/"});
    vec![
        ("browser_new_tab", json!({})),
        ("browser_tab_list", json!({})),
        ("browser_switch_tab", json!({"index": "0"})),
        ("browser_close_tab", json!({"index": "1"})),
        ("browser_set_cookies", json!({"cookies": [cookie]})),
        ("browser_get_cookies", json!({})),
        ("browser_save_state", json!({"path": "state.json"})),
        ("browser_load_state", json!({"path": "state.json"})),
        ("browser_clear_cookies", json!({})),
        ("browser_set_headers", json!({"headers": {"X-A": "b"}})),
        ("browser_set_scoped_headers", json!({"origin": "http://127.0.0.1", "headers": {}})),
        ("browser_add_route", json!({"url_pattern": "http://nowhere.test/**", "response": {}})),
        ("browser_navigate", json!({"url": "http://nowhere.test/"})),
        ("browser_get_requests", json!({"headers": "true"})),
        ("browser_export_har", json!({"save_path": "traffic.har"})),
        ("browser_remove_route", json!({"url_pattern": "http://nowhere.test/**"})),
        ("browser_detect_captcha", json!({})),
        ("browser_wait_captcha", json!({"timeout": 0})),
        ("browser_tab_list", json!({"context": "another"})),
        ("browser_context_list", json!({})),
        ("browser_context_close", json!({"name": "another"})),
        ("browser_restart", json!({"mode": "soft"})),
    ]
}

/// Stands for the report made last.
const REPORT: &str = "$report";

fn services() -> Vec<(&'static str, Value)> {
    let set_up = "mkdir -p ~/.config/atoll && cd ~/.config/atoll && printf \
                  '[services.idle]\ncommand = \"sleep 100000\"\nstart_seconds = 0\n' > services.toml";
    vec![
        ("bash_exec", json!({"command": set_up})),
        ("service_reload", json!({})),
        ("service_list", json!({})),
        ("ports_list", json!({"internal": true})),
        ("service_start", json!({"name": "idle"})),
        ("service_restart", json!({"name": "idle"})),
        ("service_logs", json!({"name": "idle"})),
        ("service_stop", json!({"name": "idle"})),
        ("observe_start", json!({"interval_seconds": 1})),
        ("observe_status", json!({})),
        ("observe_live", json!({})),
        ("observe_export", json!({})),
        ("observe_reports", json!({})),
        ("observe_report_delete", json!({"report_id": REPORT})),
        ("observe_stop", json!({})),
    ]
}

fn documents() -> Vec<(&'static str, Value)> {
    vec![
        ("util_convert_to_markdown", json!({"uri": "data:text/html,<h1>Heading</h1>"})),
        ("web_fetch", json!({"url": SITE})),
        ("web_search", json!({"query": "anything"})),
    ]
}

/// A site that answers everything with the same results of a search. It ends with the process.
fn site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let body = r#"{"results": [{"title": "t", "url": "http://a.test/", "content": "c"}]}"#;
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
        let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let _count = stream.read(&mut [0; 4096]).expect("a request");
            stream.write_all(answer.as_bytes()).expect("it listens");
        }
    });
    format!("http://{address}/")
}

/// The skill `sample` is registered beforehand.
fn skills_and_hooks() -> Vec<(&'static str, Value)> {
    vec![
        ("skills_list", json!({})),
        ("skills_content", json!({"name": "sample"})),
        ("skills_install", json!({"name": "sample"})),
        ("skills_delete", json!({"name": "sample"})),
        ("skills_clear", json!({})),
        ("sandbox_register_hook", json!({"name": "h", "command": "true"})),
        ("sandbox_list_hooks", json!({})),
        ("sandbox_remove_hook", json!({"name": "h"})),
    ]
}

fn desktop() -> Vec<(&'static str, Value)> {
    vec![
        ("desktop_info", json!({})),
        ("desktop_action", json!({"action_type": "MOVE_TO", "x": 10, "y": 10})),
        ("desktop_actions", json!({"actions": [{"action_type": "WAIT", "duration": 0.01}]})),
        ("desktop_pointer", json!({})),
        ("desktop_clipboard_set", json!({"text": "some"})),
        ("desktop_clipboard_get", json!({})),
        ("desktop_windows", json!({})),
        ("desktop_focus", json!({"id": WINDOW})),
        ("desktop_config", json!({"resolution": {"width": 1280, "height": 720}})),
        ("desktop_record", json!({"action": "start", "save_path": "screen.mp4"})),
        ("desktop_record", json!({"action": "stop"})),
    ]
}

fn proxies() -> Vec<(&'static str, Value)> {
    vec![
        ("proxy_add_mapping", json!({"source": "app.test/v1/*", "target": ":3000/"})),
        ("proxy_list_mappings", json!({})),
        ("proxy_diagnose", json!({"url": "http://app.test/v1/x"})),
        ("proxy_remove_mapping", json!({"source": "app.test/v1/*"})),
        ("proxy_add_exclude", json!({"pattern": ".near.test"})),
        ("proxy_list_excludes", json!({})),
        ("proxy_remove_exclude", json!({"pattern": ".near.test"})),
        ("proxy_set_includes", json!({"patterns": ["*.far.test"]})),
        ("proxy_list_includes", json!({})),
        ("proxy_set_upstream", json!({"server": "agent:canary-word@127.0.0.1:9"})),
        ("proxy_get_upstream", json!({})),
        ("proxy_remove_upstream", json!({})),
        ("proxy_get_upstream", json!({})),
        ("proxy_set_policy", json!({"default": "deny", "allow": [".far.test:443"]})),
        ("proxy_get_policy", json!({})),
        ("proxy_diagnose", json!({"url": "http://169.254.169.254/"})),
        ("proxy_refusals", json!({})),
        ("proxy_health", json!({})),
    ]
}

fn files() -> Vec<(&'static str, Value)> {
    vec![
        ("file_write", json!({"file": "a/b.txt", "content": "one\ntwo\n"})),
        ("file_read", json!({"file": "a/b.txt"})),
        ("file_append", json!({"file": "a/b.txt", "content": "three\n"})),
        ("file_replace", json!({"file": "a/b.txt", "old_str": "one", "new_str": "1"})),
        ("file_edit", json!({"file": "a/b.txt", "old_string": "three", "new_string": "four"})),
        ("file_search", json!({"file": "a/b.txt", "regex": "t.."})),
        ("file_create_temp", json!({"content": "x"})),
        ("file_find", json!({"path": "a", "glob": "*"})),
        ("file_grep", json!({"path": "a", "pattern": "two", "context_before": 1})),
        ("file_grep_text", json!({"path": "a", "pattern": "two"})),
        ("file_jsonl_append", json!({"file": "a/lines.jsonl", "json_string": ["1", "2"]})),
        ("file_jsonl_count", json!({"file": "a/lines.jsonl"})),
        ("file_jsonl_read", json!({"file": "a/lines.jsonl"})),
        ("file_glob", json!({"path": ".", "pattern": "**"})),
        ("file_list", json!({"path": "a", "include_permissions": true})),
        ("file_stat", json!({"path": "a"})),
        ("file_stat", json!({"path": "nowhere"})),
        ("file_exists", json!({"path": "a"})),
        ("file_eval_symlinks", json!({"path": "a"})),
        ("file_mkdir", json!({"path": "c/d"})),
        ("file_copy", json!({"source": "a", "destination": "e"})),
        ("file_move", json!({"source": "e", "destination": "f"})),
        ("file_delete", json!({"path": "f"})),
        ("file_temp_dir", json!({})),
        ("file_home_dir", json!({})),
        ("file_str_replace_editor", json!({"command": "view", "path": "a/b.txt"})),
        // A refusal of the file system is an answer like any other.
        ("file_read", json!({"file": "nowhere"})),
        ("file_watch_create", json!({"path": "a"})),
        ("file_watch_list", json!({})),
        ("file_write", json!({"file": "a/new", "content": ""})),
        ("file_watch_poll", json!({"watcher_id": WATCHER, "timeout": 30})),
        ("file_watch_events", json!({"watcher_id": WATCHER})),
        ("file_watch_wait", json!({"path": "a/new"})),
        ("file_watch_stop", json!({"watcher_id": WATCHER})),
    ]
}

fn code() -> Vec<(&'static str, Value)> {
    vec![
        ("jupyter_create_session", json!({"session_id": "j"})),
        ("jupyter_execute", json!({"session_id": "j", "code": "print(1)\n2"})),
        ("jupyter_execute", json!({"session_id": "j", "code": "1/0"})),
        ("jupyter_info", json!({})),
        ("jupyter_list_sessions", json!({})),
        ("jupyter_delete_session", json!({"session_id": "j"})),
        ("jupyter_delete_sessions", json!({})),
        ("nodejs_create_session", json!({"session_id": "n"})),
        ("nodejs_execute", json!({"session_id": "n", "code": "console.log(1); 2"})),
        ("nodejs_execute", json!({"code": "null.x"})),
        ("nodejs_info", json!({})),
        ("nodejs_list_sessions", json!({})),
        ("nodejs_get_session", json!({"session_id": "n"})),
        ("nodejs_update_session", json!({"session_id": "n", "max_idle_time": 60})),
        ("nodejs_delete_session", json!({"session_id": "n"})),
        ("code_execute", json!({"language": "javascript", "code": "1"})),
        ("code_info", json!({})),
    ]
}

fn commands() -> Vec<(&'static str, Value)> {
    vec![
        ("sandbox_get_context", json!({})),
        ("sandbox_get_python_packages", json!({})),
        ("sandbox_get_nodejs_packages", json!({})),
        ("auth_authenticate", json!({})),
        ("auth_create_ticket", json!({})),
        ("mcp_list_servers", json!({})),
        ("mcp_list_tools", json!({"server_name": "sandbox"})),
        ("mcp_call_tool", json!({"server_name": "sandbox", "tool_name": "sandbox_get_context"})),
        ("system_limits", json!({})),
        ("activity_list", json!({})),
        ("system_ping", json!({})),
        ("shell_create_session", json!({"id": "s"})),
        ("shell_update_session", json!({"id": "s", "no_change_timeout": 60})),
        ("shell_exec", json!({"id": "s", "command": "echo hello"})),
        ("shell_exec", json!({"id": "s", "command": "cat", "async_mode": true})),
        ("shell_view", json!({"id": "s"})),
        ("shell_wait", json!({"id": "s", "seconds": 0})),
        ("shell_write", json!({"id": "s", "input": "text", "press_enter": true})),
        ("shell_list_sessions", json!({})),
        ("shell_session_stats", json!({})),
        ("shell_kill", json!({"id": "s"})),
        ("shell_close_session", json!({"session_id": "s"})),
        ("shell_terminal_url", json!({})),
        ("shell_close_all_sessions", json!({})),
        ("bash_create_session", json!({"session_id": "b"})),
        ("bash_exec", json!({"session_id": "b", "command": "echo hello; echo error >&2"})),
        ("bash_exec", json!({"session_id": "b", "command": "cat", "async_mode": true})),
        ("bash_output", json!({"session_id": "b"})),
        ("bash_write", json!({"session_id": "b", "input": "text"})),
        ("bash_list_sessions", json!({})),
        ("bash_kill", json!({"session_id": "b"})),
        ("bash_close_session", json!({"session_id": "b"})),
    ]
}

/// Calls an operation by its route, path parameters filled in.
async fn call(line: &mut Line, id: &str, input: &Value) -> (Value, String) {
    let declaration = atoll_api::operations().find(|each| each.spec.id == id);
    let spec = &declaration.expect("a declared operation").spec;
    let mut path = spec.path.to_owned();
    let mut input = input.as_object().cloned().unwrap_or_default();
    input.retain(|name, value| {
        let place = format!("{{{name}}}");
        let in_path = path.contains(&place);
        path = path.replace(&place, value.as_str().unwrap_or_default());
        !in_path
    });
    let (method, body) = match spec.method.as_str() {
        "GET" => {
            let said =
                |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let pairs = input.iter().map(|(name, value)| format!("{name}={}", said(value)));
            let query: Vec<_> = pairs.collect();
            path = format!("{path}?{}", query.join("&"));
            ("GET", String::new())
        }
        other => (other, Value::Object(input).to_string()),
    };
    let body = ask(line, method, &path, &body).await;
    let escaped = spec.path.replace('/', "~1").replace('{', "%7B").replace('}', "%7D");
    let method = spec.method.as_str().to_lowercase();
    let schema =
        format!("#/paths/{escaped}/{method}/responses/200/content/application~1json/schema");
    (body, schema)
}

/// The body of a good answer, which tells no secret.
async fn ask(line: &mut Line, method: &str, path: &str, body: &str) -> Value {
    let headers = format!("Content-Type: application/json\r\nX-API-Key: {KEY}\r\n");
    let answer = line.send(method, path, &headers, body).await;
    assert_eq!(answer.status, 200, "{method} {path}: {answer:?}");
    assert_no_secret(path, &answer.text);
    let (_, body) = answer.text.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).expect("a JSON body")
}

#[tokio::test]
async fn every_answer_fits_its_schema_and_tells_no_secret() {
    let site = site();
    let server = Server::builder(PROGRAM)
        .variable("SANDBOX_API_KEY", KEY)
        .variable("JWT_SECRET", SECRET)
        .variable("ATOLL_SEARCH_URL", &site)
        .argument("--pass-env")
        .argument("*")
        .start()
        .await;
    let mut line = Line::to(&server);
    let document = ask(&mut line, "GET", "/v1/openapi.json", "").await;
    let skill = server.home().join("sample/SKILL.md");
    std::fs::create_dir(skill.parent().expect("a directory")).expect("a skill");
    std::fs::write(&skill, "---\nname: sample\ndescription: a sample\n---\n").expect("a skill");
    let registered = ask(&mut line, "POST", "/v1/skills/register?path=sample", "").await;
    assert_eq!(registered["data"]["count"], 1);
    let mut called = BTreeSet::new();
    let (mut watcher, mut window, mut report) = (String::new(), Value::Null, Value::Null);
    for (id, mut input) in inputs() {
        if input["watcher_id"] == WATCHER {
            input["watcher_id"] = json!(watcher);
        }
        if input["url"] == SITE {
            input["url"] = json!(site);
        }
        if input["report_id"] == REPORT {
            input["report_id"] = report.clone();
        }
        if input["id"] == WINDOW {
            input["id"] = window.clone();
        }
        let (mut body, reference) = call(&mut line, id, &input).await;
        if id == "desktop_windows" {
            // The browser shows its window a moment after it runs.
            let deadline = Instant::now() + Duration::from_mins(1);
            while body["data"][0].is_null() {
                assert!(Instant::now() < deadline, "no window came");
                (body, _) = call(&mut line, id, &input).await;
            }
            window = body["data"][0]["id"].clone();
        }
        let mut schema = document.clone();
        schema["$ref"] = json!(reference);
        let validator = jsonschema::validator_for(&schema).expect("a valid schema");
        let problems: Vec<_> =
            validator.iter_errors(&body).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{id}: {problems:?} in {body}");
        if let Some(made) = body["data"]["watcher_id"].as_str() {
            made.clone_into(&mut watcher);
        }
        if body["data"]["report_id"].is_string() {
            report = body["data"]["report_id"].clone();
        }
        called.insert(id);
    }
    let declared: BTreeSet<_> = atoll_api::operations()
        .filter(|declaration| matches!(declaration.spec.shape, Shape::Unary | Shape::Streaming))
        .map(|declaration| declaration.spec.id)
        .collect();
    assert_eq!(called, declared, "an operation without an input here is not checked");
}

//! Which server is asked, and what happens when it cannot be.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use atoll_testkit::{LONG, Server, eventually_some};

use crate::{PROGRAM, json, name, plain, printed, refused, text};

fn ask(variables: &[(&str, &str)], words: &[&str]) -> std::process::Output {
    plain(words).envs(variables.iter().copied()).output().expect("the program to run")
}

#[test]
fn a_server_that_is_not_there_is_code_3_with_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    drop(taken);
    let url = format!("http://{address}");
    for words in
        [&["sandbox", "info"][..], &["exec", "true"], &["file", "cat", "x"], &["mcp", "list"]]
    {
        let output = ask(&[("ATOLL_URL", &url)], words);
        refused(&output, 3, &[&address, "atoll serve", "--api-url", "ATOLL_URL"]);
        assert!(output.stdout.is_empty());
    }
    let output = ask(&[("ATOLL_URL", "unix:/no/such/socket")], &["system", "ping"]);
    refused(&output, 3, &["/no/such/socket"]);
}

#[tokio::test]
async fn a_server_that_asks_for_a_key_says_so_and_takes_it_from_the_environment() {
    let server = Server::builder(PROGRAM).variable("SANDBOX_API_KEY", "let me in").start().await;
    let url = ("ATOLL_URL", server.url());
    for words in [&["sandbox", "info"][..], &["exec", "true"], &["file", "cat", "x"]] {
        refused(&ask(&[url], words), 3, &["ATOLL_API_KEY"]);
        refused(&ask(&[url, ("ATOLL_API_KEY", "wrong")], words), 3, &["ATOLL_API_KEY"]);
    }
    let key = ("ATOLL_API_KEY", "let me in");
    assert!(ask(&[url, key], &["sandbox", "info"]).status.success());
    assert_eq!(printed(&ask(&[url, key], &["exec", "echo in"])), "in\n");
    // A page is opened with a ticket, never with the key.
    let page = json(&ask(&[url, key], &["open", "docs"]));
    let page = page["url"].as_str().unwrap();
    assert!(page.contains("/v1/docs?ticket=") && !page.contains("let"), "{page}");
}

#[tokio::test]
async fn a_server_is_named_by_flag_variable_or_profile() {
    let here = tempfile::tempdir().unwrap();
    let socket = here.path().join("s");
    let far =
        Server::builder(PROGRAM).listen(&socket).variable("SANDBOX_API_KEY", "k").start().await;
    let near = Server::start(PROGRAM).await;
    let profiles = here.path().join(".config/atoll/profiles.toml");
    std::fs::create_dir_all(profiles.parent().unwrap()).unwrap();
    let text_of_it = format!(
        "[default]\nurl = '{}'\n\n[far]\nurl = '{}'\nkey_command = 'echo k'\n",
        near.url(),
        name(&socket)
    );
    std::fs::write(&profiles, text_of_it).unwrap();
    let home = ("HOME", name(here.path()));
    let where_is = |variables: &[(&str, &str)], words: &[&str]| {
        let words = [words, &["exec", "pwd"]].concat();
        let output = ask(&[&[home], variables].concat(), &words);
        printed(&output).trim().to_owned()
    };
    let (near_home, far_home) = (name(near.home()), name(far.home()));
    assert_eq!(where_is(&[], &[]), near_home);
    assert_eq!(where_is(&[], &["--profile", "far"]), far_home);
    assert_eq!(where_is(&[("ATOLL_PROFILE", "far")], &[]), far_home);
    assert_eq!(where_is(&[("AIO_BASE_URL", near.url())], &[]), near_home);
    assert_eq!(
        where_is(&[("ATOLL_URL", "http://127.0.0.1:9")], &["--api-url", near.url()]),
        near_home
    );
    assert_eq!(where_is(&[("ATOLL_API_KEY", "k")], &["--api-url", name(&socket)]), far_home);
    let output = ask(&[home], &["--profile", "nowhere", "sandbox", "info"]);
    refused(&output, 2, &["nowhere", "default", "far"]);
}

/// An encrypted way to a server, with a certificate that a client may be told to trust.
struct Tunnel {
    port: u16,
    child: std::process::Child,
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[tokio::test]
async fn an_encrypted_server_is_used_when_its_certificate_is_trusted() {
    let server = Server::start(PROGRAM).await;
    let here = tempfile::tempdir().unwrap();
    let (key, certificate) = (here.path().join("key.pem"), here.path().join("certificate.pem"));
    // One that vouches for itself would not do: what is trusted here are those that vouch for others.
    let openssl = |words: &[&str]| {
        let made = Command::new("openssl").args(words).current_dir(here.path()).output();
        let made = made.expect("openssl");
        assert!(made.status.success(), "{}", text(&made.stderr));
    };
    let new = ["req", "-newkey", "rsa:2048", "-nodes"];
    let authority = ["-x509", "-days", "2", "-subj", "/CN=A", "-keyout", "a.key", "-out", "a.pem"];
    openssl(&[&new[..], &authority].concat());
    openssl(
        &[&new[..], &["-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "wish"]].concat(),
    );
    std::fs::write(here.path().join("names"), "subjectAltName=DNS:localhost").unwrap();
    let sign =
        ["x509", "-req", "-in", "wish", "-CA", "a.pem", "-CAkey", "a.key", "-CAcreateserial"];
    let signed = ["-days", "2", "-extfile", "names", "-out", "certificate.pem"];
    openssl(&[&sign[..], &signed].concat());
    let trusted = here.path().join("a.pem");
    let upstream = server.url().trim_start_matches("http://").to_owned();
    let script = "import socket, ssl, sys, threading\n\
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n\
        context.load_cert_chain(sys.argv[1], sys.argv[2])\n\
        host, port = sys.argv[3].rsplit(':', 1)\n\
        def pump(a, b):\n\
        \x20   try:\n\
        \x20       while data := a.recv(65536): b.sendall(data)\n\
        \x20   except OSError: pass\n\
        \x20   try: b.shutdown(socket.SHUT_WR)\n\
        \x20   except OSError: pass\n\
        def serve(raw):\n\
        \x20   try: near = context.wrap_socket(raw, server_side=True)\n\
        \x20   except OSError: return\n\
        \x20   far = socket.create_connection((host, int(port)))\n\
        \x20   threading.Thread(target=pump, args=(near, far), daemon=True).start()\n\
        \x20   pump(far, near)\n\
        listener = socket.create_server(('127.0.0.1', 0))\n\
        print(listener.getsockname()[1], flush=True)\n\
        while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()\n";
    let python = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.tools/test-venv/bin/python");
    let mut child = Command::new(python)
        .args(["-c", script, name(&certificate), name(&key), &upstream])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the Python of the tests");
    let mut line = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(child.stdout.take().unwrap()),
        &mut line,
    )
    .unwrap();
    let tunnel = Tunnel { port: line.trim().parse().unwrap(), child };
    let url = format!("https://localhost:{}", tunnel.port);
    let trusting = [("ATOLL_URL", url.as_str()), ("SSL_CERT_FILE", name(&trusted))];
    let output = ask(&trusting, &["exec", "echo safe"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "safe\n");
    refused(&ask(&[("ATOLL_URL", &url)], &["system", "ping"]), 3, &["certificate"]);
}

#[tokio::test]
async fn what_is_no_sandbox_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream);
        }
    });
    let output =
        eventually_some(LONG, async || Some(ask(&[("ATOLL_URL", &url)], &["system", "limits"])))
            .await;
    refused(&output, 1, &["is", &url]);
}

fn answer(mut stream: TcpStream) {
    let mut request = [0; 4096];
    let _unread = stream.read(&mut request);
    let page = "<h1>Hello</h1>";
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", page.len());
    let _gone = stream.write_all(format!("{head}{page}").as_bytes());
}

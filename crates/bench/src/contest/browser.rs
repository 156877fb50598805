//! A page driven through the API, against Playwright and raw CDP on the same page in the same browser.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use super::Setting;
use crate::Failure;
use crate::http::{Request, Response};
use crate::race::{Lane, Plan, race, report_lanes};
use crate::report::{Bar, Report, TIME_COLUMNS, millis, time_row};
use crate::server::{Server, authorised_get, authorised_post, in_clean_environment};
use crate::statistics::{Samples, ratio};
use crate::stopwatch::Stopwatch;

const ACTIONS: [&str; 6] = ["navigate", "click", "fill", "evaluate", "content", "screenshot"];
const RAW_BAR: f64 = 1.5;
const COLD_BAR: f64 = 1.2;
const PATIENCE: Duration = Duration::from_mins(1);
/// Ours has a context of its own, as Playwright has: the default one also keeps what it sees on disk.
const CONTEXT: &str = "bench";
const CHROMIUM: &str = "/usr/lib/chromium/chromium";

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let page = serve_page()?;
    let atoll = setting.atoll.start()?;
    let opened = atoll.connect()?.ask(&request("navigate", &page))?;
    check(&opened)?;
    let endpoint = format!("http://127.0.0.1:{}/cdp", atoll.port);
    let script = setting.peers.join("playwright_peer.py").display().to_string();
    let python = setting.peers.join("venv/bin/python");
    let mut playwright = Stopwatch::start(&python, &[&script, &endpoint, &page]);

    let mut report = Report {
        title: "Browser",
        about: "One local page in one Chromium, opened in two contexts and driven in turns through the API and by \
                Playwright (Python) over the same browser's CDP. `raw CDP` is a plain socket that evaluates the same \
                expression, from Python and from compiled code. Cold: from the request to the answer of a browser that did not run: of its DevTools, \
                against Chromium alone until its DevTools answer, and of one that also measures a page."
            .to_owned(),
        columns: TIME_COLUMNS.into(),
        ..Report::default()
    };
    let raw_address = page_socket(&atoll, &page)?;
    let mut raw = RawPage::connect(&atoll, &raw_address)?;
    let script = setting.peers.join("raw_cdp_peer.py").display().to_string();
    let mut scripted = Stopwatch::start(&python, &[&script, &raw_address]);
    for action in ACTIONS {
        let mut lanes = vec![
            Lane::prepared(
                format!("Playwright, {action}"),
                playwright
                    .as_mut()
                    .map(|peer| || peer.time(action))
                    .map_err(|error| error.to_string().into()),
            ),
            Lane::new(format!("Atoll, {action}"), sampler(&atoll, request(action, &page))?),
        ];
        if action == "evaluate" {
            lanes.push(Lane::prepared(
                "raw CDP (Python), evaluate",
                scripted
                    .as_mut()
                    .map(|peer| || peer.time("1+1"))
                    .map_err(|error| error.to_string().into()),
            ));
            lanes.push(Lane::new("raw CDP (compiled), evaluate", || raw.evaluate()));
        }
        let rounds = setting.choose(10, 2);
        race(Plan { warm_ups: 3, rounds, samples_per_round: 10 }, &mut lanes);
        let ours = lanes[1].result()?.median();
        let theirs = lanes[0].result().map_or(Duration::ZERO, Samples::median);
        report_lanes(&mut report, &lanes, theirs, ours);
        let text = format!("{action} ≤ Playwright");
        report.bars.push(match lanes[0].result() {
            Ok(samples) => {
                let times = ratio(ours, samples.median());
                Bar::new(text, format!("{times:.2} ×"), times <= 1.0)
            }
            Err(error) => Bar::unknown(text, error.to_string()),
        });
        // Scripts are what drives browsers, as Playwright's; compiled code is what nothing can be faster than.
        for (lane, peer) in lanes.iter().skip(2).zip(["a Python script", "compiled code"]) {
            let text = format!("evaluate ≤ {RAW_BAR} × raw CDP from {peer}");
            report.bars.push(match lane.result() {
                Ok(samples) => {
                    let times = ratio(ours, samples.median());
                    Bar::new(text, format!("{times:.2} ×"), times <= RAW_BAR)
                }
                Err(error) => Bar::unknown(text, error.to_string()),
            });
        }
    }
    cold(setting, &mut report)?;
    Ok(report)
}

fn request(action: &str, page: &str) -> Request {
    let post = |body: &Value| authorised_post(&format!("/v1/browser/page/{action}"), body);
    match action {
        "navigate" => post(&json!({"context": CONTEXT, "url": page})),
        "click" => post(&json!({"context": CONTEXT, "selector": "#button"})),
        "fill" => post(&json!({"context": CONTEXT, "selector": "#field", "text": "some words"})),
        "evaluate" => post(&json!({"context": CONTEXT, "expression": "1+1"})),
        "content" => authorised_get(&format!("/v1/browser/page/html?context={CONTEXT}")),
        _ => authorised_get(&format!("/v1/browser/page/screenshot?context={CONTEXT}")),
    }
}

fn sampler(
    server: &Server,
    request: Request,
) -> Result<impl FnMut() -> Result<Duration, Failure>, Failure> {
    let mut connection = server.connect()?;
    Ok(move || {
        let (duration, response) = connection.time(&request)?;
        check(&response)?;
        Ok(duration)
    })
}

fn check(response: &Response) -> Result<(), Failure> {
    if response.status == 200 && response.body.starts_with(b"\x89PNG") {
        return Ok(());
    }
    let answer: Value = response.json()?;
    if answer["success"] == true { Ok(()) } else { Err(format!("refused: {answer}").into()) }
}

/// The socket of the page at an address: through our port as everybody's, the browser's own is not told.
fn page_socket(atoll: &Server, address: &str) -> Result<String, Failure> {
    let pages: Value = atoll.connect()?.ask(&authorised_get("/json/list"))?.json()?;
    let pages = pages.as_array().map(Vec::as_slice).unwrap_or_default();
    let page = pages.iter().find(|page| page["url"] == address).ok_or("there is no page")?;
    let told = page["webSocketDebuggerUrl"].as_str().ok_or("the page has no socket")?;
    // It names the host that the request named, without a port here.
    let (_, path) = told.split_once("/cdp/").ok_or("the socket is not where it should be")?;
    Ok(format!("ws://127.0.0.1:{}/cdp/{path}", atoll.port))
}

/// Evaluates on one of the browser's pages, with nothing in between.
struct RawPage {
    socket: WebSocket<TcpStream>,
    count: u64,
}

impl RawPage {
    fn connect(atoll: &Server, socket: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, atoll.port))?;
        stream.set_nodelay(true)?;
        let (socket, _) = tungstenite::client(socket, stream).map_err(|error| error.to_string())?;
        Ok(Self { socket, count: 0 })
    }

    fn evaluate(&mut self) -> Result<Duration, Failure> {
        self.count += 1;
        let params = json!({"expression": "1+1", "returnByValue": true});
        let command = json!({"id": self.count, "method": "Runtime.evaluate", "params": params});
        let started = Instant::now();
        self.socket.send(Message::text(command.to_string()))?;
        loop {
            let message = self.socket.read()?;
            let answer: Value = serde_json::from_str(message.to_text()?)?;
            if answer["id"] == self.count {
                let duration = started.elapsed();
                let result = &answer["result"]["result"]["value"];
                return if *result == 2 { Ok(duration) } else { Err(answer.to_string().into()) };
            }
        }
    }
}

/// How long it takes to get a browser where none runs: until its DevTools answer, and until there is a page to measure.
fn cold(setting: &Setting, report: &mut Report) -> Result<(), Failure> {
    let mut bare = Samples::default();
    let mut ours =
        [("/json/version", Samples::default()), ("/v1/browser/info", Samples::default())];
    for _ in 0..setting.choose(8, 2) {
        bare.push(bare_chromium()?);
        for (path, samples) in &mut ours {
            let atoll = setting.atoll.start()?;
            let (duration, response) = atoll.connect()?.time(&authorised_get(path))?;
            if response.status != 200 {
                return Err(format!("{path} answered {}", response.status).into());
            }
            samples.push(duration);
        }
    }
    let (floor, atoll) = (bare.median(), ours[0].1.median());
    report.row(time_row("floor: chromium --headless, cold", &bare, floor, atoll));
    for (path, samples) in &ours {
        report.row(time_row(&format!("Atoll, {path}, cold"), samples, floor, atoll));
    }
    let times = ratio(atoll, floor);
    let measured = format!("{times:.2} × ({} ms)", millis(atoll));
    report.bars.push(Bar::new("cold ≤ 1.2 × bare Chromium", measured, times <= COLD_BAR));
    Ok(())
}

fn bare_chromium() -> Result<Duration, Failure> {
    let profile = tempfile::tempdir()?;
    let mut command = Command::new(CHROMIUM);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]);
    command.arg(format!("--user-data-dir={}", profile.path().display()));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    in_clean_environment(&mut command, profile.path());
    let started = Instant::now();
    let mut child = command.spawn()?;
    let answered = devtools_answer(profile.path(), started);
    let duration = started.elapsed();
    child.kill().ok();
    child.wait().ok();
    answered.map(|()| duration)
}

/// Waits until DevTools at the port the profile names answer.
fn devtools_answer(profile: &Path, started: Instant) -> Result<(), Failure> {
    while started.elapsed() < PATIENCE {
        let file = std::fs::read_to_string(profile.join("DevToolsActivePort")).unwrap_or_default();
        if let Some(port) = file.lines().next().and_then(|line| line.parse::<u16>().ok())
            && let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        {
            write!(stream, "GET /json/version HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n")?;
            let mut answer = [0; 12];
            stream.read_exact(&mut answer)?;
            if &answer == b"HTTP/1.1 200" {
                return Ok(());
            }
        }
        sleep(Duration::from_millis(1));
    }
    Err("Chromium's DevTools did not answer".into())
}

/// Serves one page of some size for as long as the program runs, and says where.
fn serve_page() -> Result<String, Failure> {
    let items: String =
        (0..500).map(|at| format!("<li><a href='#{at}'>Item {at}</a></li>")).collect();
    let page = format!(
        "<!doctype html><title>Bench</title><h1>Bench</h1><input id=field><button id=button \
         onclick='this.count=(this.count??0)+1'>Press</button><ul>{items}</ul>"
    );
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = format!("http://127.0.0.1:{}/", listener.local_addr()?.port());
    spawn(move || {
        for stream in listener.incoming().flatten() {
            let page = page.clone();
            // A connection that ends is the visitor's matter.
            spawn(move || answer_forever(stream, &page).ok());
        }
    });
    Ok(address)
}

fn answer_forever(mut stream: TcpStream, page: &str) -> std::io::Result<()> {
    // In one piece and at once: what waits for an acknowledgement would be in the times.
    stream.set_nodelay(true)?;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n{page}",
        page.len()
    );
    let (mut buffer, mut seen) = ([0; 4096], Vec::new());
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        seen.extend_from_slice(&buffer[..count]);
        while let Some(end) = seen.windows(4).position(|window| window == b"\r\n\r\n") {
            seen.drain(..end + 4);
            stream.write_all(answer.as_bytes())?;
        }
    }
}

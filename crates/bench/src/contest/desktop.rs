//! The desktop: pictures of the screen against ImageMagick, a viewer's traffic against websockify on the same X server,
//! and what a recording costs.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use super::Setting;
use crate::Failure;
use crate::http::Request;
use crate::race::{Lane, Plan, race, report_lanes};
use crate::report::{Bar, Report, TIME_COLUMNS, millis};
use crate::server::{Server, authorised_get, authorised_post, in_clean_environment};
use crate::statistics::{Samples, ratio};
use crate::usage::{processor_seconds, to_float, tree};

const PNG_BAR: Duration = Duration::from_millis(60);
const JPEG_BAR: Duration = Duration::from_millis(30);
const CLICK_BAR: Duration = Duration::from_millis(5);
const IMPORT_BAR: f64 = 5.0;
const BRIDGE_BAR: f64 = 5.0;
const RECORD_BAR: f64 = 0.5;
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let atoll = setting.atoll.start()?;
    let mut report = Report {
        title: "Desktop",
        about: "A screen of 1280x1024 with Chromium on it: pictures through the API and by ImageMagick's `import`, one \
                click, and a VNC viewer that asks for whole raw pictures through our WebSocket and through websockify, \
                both in front of the same X server: bytes carried per processor second of the bridge. A recording at \
                15 pictures per second of 1280x720: processor seconds of ffmpeg per second."
            .to_owned(),
        columns: TIME_COLUMNS.into(),
        ..Report::default()
    };
    atoll.connect()?.ask(&authorised_get("/v1/browser/screenshot"))?;
    let told: Value = atoll.connect()?.ask(&authorised_get("/v1/desktop/info"))?.json()?;
    let told = &told["data"];
    if told["running"] != true {
        return Err(format!("the desktop does not run: {told}").into());
    }
    pictures(setting, &atoll, told, &mut report)?;
    bridge(setting, &atoll, told, &mut report)?;
    recording(setting, &atoll, &mut report)?;
    Ok(report)
}

fn pictures(
    setting: &Setting,
    atoll: &Server,
    told: &Value,
    report: &mut Report,
) -> Result<(), Failure> {
    let shot = |form: &str| authorised_get(&format!("/v1/browser/screenshot?format={form}"));
    let click = json!({"action_type": "CLICK", "x": 900, "y": 900});
    let plan = Plan { warm_ups: 3, rounds: setting.choose(10, 2), samples_per_round: 5 };
    let text = |field: &str| told[field].as_str().unwrap_or_default().to_owned();
    let (display, authority) = (text("display"), text("authority"));
    let mut lanes = [
        Lane::new("ImageMagick import, PNG", || import(&display, &authority, "png")),
        Lane::new("ImageMagick import, JPEG", || import(&display, &authority, "jpg")),
        Lane::new("Atoll, PNG", sampler(atoll, shot("png"))?),
        Lane::new("Atoll, JPEG", sampler(atoll, shot("jpeg"))?),
        Lane::new("Atoll, click", sampler(atoll, authorised_post("/v1/browser/actions", &click))?),
    ];
    race(plan, &mut lanes);
    let medians: Vec<_> = lanes.iter().map(|lane| lane.result().map(Samples::median)).collect();
    let median = |at: usize| medians[at].as_ref().copied().unwrap_or_default();
    report_lanes(report, &lanes, median(0), median(2));
    for (name, at, bar) in [("PNG", 2, PNG_BAR), ("JPEG", 3, JPEG_BAR), ("click", 4, CLICK_BAR)] {
        let text = format!("{name} ≤ {} ms", bar.as_millis());
        report.bars.push(match &medians[at] {
            Ok(median) => Bar::new(text, format!("{} ms", millis(*median)), *median <= bar),
            Err(error) => Bar::unknown(text, error.to_string()),
        });
    }
    for (name, theirs, ours) in [("PNG", 0, 2), ("JPEG", 1, 3)] {
        let text = format!("{name} ≥ {IMPORT_BAR} × faster than import");
        report.bars.push(match (&medians[theirs], &medians[ours]) {
            (Ok(theirs), Ok(ours)) => {
                let times = ratio(*theirs, *ours);
                Bar::new(text, format!("{times:.1} ×"), times >= IMPORT_BAR)
            }
            (Err(error), _) | (_, Err(error)) => Bar::unknown(text, error.to_string()),
        });
    }
    Ok(())
}

fn sampler(
    server: &Server,
    request: Request,
) -> Result<impl FnMut() -> Result<Duration, Failure>, Failure> {
    let mut connection = server.connect()?;
    Ok(move || {
        let (duration, response) = connection.time(&request)?;
        if response.status == 200 {
            Ok(duration)
        } else {
            Err(String::from_utf8_lossy(&response.body).into_owned().into())
        }
    })
}

fn import(display: &str, authority: &str, form: &str) -> Result<Duration, Failure> {
    let mut command = Command::new("import");
    in_clean_environment(&mut command, Path::new("/tmp"));
    command.args(["-silent", "-window", "root", &format!("{form}:-")]);
    command.env("DISPLAY", display).env("XAUTHORITY", authority);
    let started = Instant::now();
    let output = command.output()?;
    let duration = started.elapsed();
    if output.status.success() && !output.stdout.is_empty() {
        Ok(duration)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
    }
}

/// A bridge's cost for the same traffic: megabytes carried per processor second of its process.
fn bridge(
    setting: &Setting,
    atoll: &Server,
    told: &Value,
    report: &mut Report,
) -> Result<(), Failure> {
    let frames = setting.choose(200, 20);
    let directory = Path::new(told["authority"].as_str().unwrap_or_default()).parent();
    let socket = directory.ok_or("the desktop has no socket")?.join("desktop.rfb");
    let ours = carried(atoll.port, frames, || vec![atoll.pid()]);
    let theirs = Websockify::start(&setting.peers, &socket).and_then(|peer| {
        let root = peer.pid()?;
        // It makes a process for each viewer.
        carried(peer.port, frames, || tree(root))
    });
    for (name, result) in [("Atoll, VNC", &ours), ("websockify, VNC", &theirs)] {
        match result {
            Ok((per_second, speed)) => {
                let measured = [name.to_owned(), format!("{frames} pictures")];
                let speeds = [format!("{speed:.0} MB/s"), format!("{per_second:.0} MB/CPU s")];
                report.row(measured.into_iter().chain(speeds));
            }
            Err(error) => report.absent(name, &error.to_string()),
        }
    }
    let text = format!("VNC ≥ {BRIDGE_BAR} × websockify per processor second");
    report.bars.push(match (ours, theirs) {
        (Ok((ours, _)), Ok((theirs, _))) => {
            let times = ours / theirs;
            Bar::new(text, format!("{times:.1} ×"), times >= BRIDGE_BAR)
        }
        (Err(error), _) | (_, Err(error)) => Bar::unknown(text, error.to_string()),
    });
    Ok(())
}

/// Megabytes per processor second of the bridge, and per second.
fn carried(port: u16, frames: usize, bridge: impl Fn() -> Vec<Pid>) -> Result<(f64, f64), Failure> {
    let mut viewer = Viewer::connect(port)?;
    viewer.picture()?;
    let bridge = bridge();
    let (before, started) = (processor_seconds(&bridge), Instant::now());
    let mut bytes = 0;
    for _ in 0..frames {
        bytes += viewer.picture()?;
    }
    let seconds = started.elapsed().as_secs_f64();
    let used = (processor_seconds(&bridge) - before).max(0.01);
    let megabytes = to_float(bytes) / 1e6;
    Ok((megabytes / used, megabytes / seconds))
}

/// A VNC viewer that takes whole raw pictures and counts their bytes.
struct Viewer {
    socket: WebSocket<TcpStream>,
    received: Vec<u8>,
    size: (u16, u16),
}

impl Viewer {
    fn connect(port: u16) -> Result<Self, Failure> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut request = format!("ws://127.0.0.1:{port}/websockify").into_client_request()?;
        let protocol = tungstenite::http::HeaderValue::from_static("binary");
        request.headers_mut().insert("sec-websocket-protocol", protocol);
        let (socket, _) =
            tungstenite::client(request, stream).map_err(|error| error.to_string())?;
        let mut viewer = Self { socket, received: Vec::new(), size: (0, 0) };
        viewer.take(12)?;
        viewer.say(b"RFB 003.008\n")?;
        let kinds = viewer.take(1)?[0];
        viewer.take(kinds.into())?;
        viewer.say(&[1])?;
        viewer.take(4)?;
        viewer.say(&[1])?;
        let told = viewer.take(24)?;
        let side = |at: usize| u16::from_be_bytes([told[at], told[at + 1]]);
        viewer.size = (side(0), side(2));
        let name = u32::from_be_bytes([told[20], told[21], told[22], told[23]]);
        viewer.take(usize::try_from(name)?)?;
        viewer.say(&[2, 0, 0, 1, 0, 0, 0, 0])?;
        Ok(viewer)
    }

    fn say(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.socket.send(Message::binary(bytes.to_vec()))?)
    }

    fn take(&mut self, count: usize) -> Result<Vec<u8>, Failure> {
        while self.received.len() < count {
            if let Message::Binary(bytes) = self.socket.read()? {
                self.received.extend_from_slice(&bytes);
            }
        }
        let rest = self.received.split_off(count);
        Ok(std::mem::replace(&mut self.received, rest))
    }

    /// Takes bytes nobody looks at.
    fn skip(&mut self, mut count: usize) -> Result<(), Failure> {
        let held = self.received.len().min(count);
        self.received.drain(..held);
        count -= held;
        while count > 0 {
            if let Message::Binary(bytes) = self.socket.read()? {
                let now = bytes.len().min(count);
                count -= now;
                self.received.extend_from_slice(&bytes[now..]);
            }
        }
        Ok(())
    }

    /// Takes one picture, and says how many bytes it had.
    fn picture(&mut self) -> Result<u64, Failure> {
        let (width, height) = self.size;
        let mut order = vec![3, 0, 0, 0, 0, 0];
        order.extend(width.to_be_bytes());
        order.extend(height.to_be_bytes());
        self.say(&order)?;
        let mut missing = u64::from(width) * u64::from(height);
        let mut bytes = 0;
        while missing > 0 {
            match self.take(1)?[0] {
                0 => {}
                2 => continue,
                3 => {
                    let head = self.take(7)?;
                    let length = u32::from_be_bytes([head[3], head[4], head[5], head[6]]);
                    self.skip(usize::try_from(length)?)?;
                    continue;
                }
                other => return Err(format!("a message of kind {other}").into()),
            }
            let head = self.take(3)?;
            for _ in 0..u16::from_be_bytes([head[1], head[2]]) {
                let area = self.take(12)?;
                let side = |at: usize| u64::from(u16::from_be_bytes([area[at], area[at + 1]]));
                let pixels = side(4) * side(6);
                self.skip(usize::try_from(pixels * 4)?)?;
                bytes += pixels * 4;
                missing = missing.saturating_sub(pixels);
            }
        }
        Ok(bytes)
    }
}

/// The peer: a WebSocket bridge in Python, in front of the same X server.
struct Websockify {
    child: Child,
    port: u16,
}

impl Websockify {
    fn start(peers: &Path, socket: &Path) -> Result<Self, Failure> {
        let python: PathBuf = peers.join("venv/bin/python");
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let mut command = Command::new(python);
        in_clean_environment(&mut command, Path::new("/tmp"));
        command.args(["-m", "websockify", &format!("127.0.0.1:{port}")]);
        command.arg(format!("--unix-target={}", socket.display()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let peer = Self { child: command.spawn()?, port };
        let started = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if started.elapsed() > PATIENCE {
                return Err("websockify does not listen".into());
            }
            sleep(Duration::from_millis(20));
        }
        Ok(peer)
    }

    fn pid(&self) -> Result<Pid, Failure> {
        Pid::from_raw(i32::try_from(self.child.id())?).ok_or_else(|| "no process".into())
    }
}

impl Drop for Websockify {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What ffmpeg uses of a processor while it records.
fn recording(setting: &Setting, atoll: &Server, report: &mut Report) -> Result<(), Failure> {
    let mut connection = atoll.connect()?;
    let mut ask = |path: &str, body: Value| -> Result<Value, Failure> {
        connection.ask(&authorised_post(path, &body))?.json()
    };
    ask("/v1/browser/config", json!({"resolution": {"width": 1280, "height": 720}}))?;
    let film = tempfile::tempdir()?;
    let path = film.path().join("film.mp4");
    let start = json!({"action": "start", "save_path": path, "fps": 15});
    let started = ask("/v1/display/record", start)?;
    let text = format!("recording ≤ {:.0} % of a processor", RECORD_BAR * 100.0);
    if started["success"] != true {
        report.bars.push(Bar::unknown(text, started.to_string()));
        return Ok(());
    }
    let named = |pid: &Pid| {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_pid()));
        name.is_ok_and(|name| name.trim() == "ffmpeg")
    };
    let makers: Vec<_> = tree(atoll.pid()).into_iter().filter(named).collect();
    let seconds = setting.choose(10.0, 2.0);
    let (before, began) = (processor_seconds(&makers), Instant::now());
    sleep(Duration::from_secs_f64(seconds));
    let share = (processor_seconds(&makers) - before) / began.elapsed().as_secs_f64();
    ask("/v1/display/record", json!({"action": "stop"}))?;
    report.row(["Atoll, recording".to_owned(), format!("{:.0} % of a processor", share * 100.0)]);
    let met = !makers.is_empty() && share <= RECORD_BAR;
    report.bars.push(Bar::new(text, format!("{:.0} %", share * 100.0), met));
    Ok(())
}

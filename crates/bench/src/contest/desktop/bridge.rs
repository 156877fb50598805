//! A viewer's traffic through our WebSocket and through websockify, both in front of the same X server.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde_json::Value;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use super::{PATIENCE, Setting};
use crate::Failure;
use crate::report::{Bar, Report};
use crate::server::{Server, in_clean_environment};
use crate::usage::{processor_seconds, to_float, tree};

const BRIDGE_BAR: f64 = 5.0;
/// Bytes a plain viewer reads at once.
const CHUNK: usize = 256 << 10;

/// A bridge's cost for the same traffic: megabytes carried per processor second of its process.
pub(super) fn compare(
    setting: &Setting,
    atoll: &Server,
    told: &Value,
    report: &mut Report,
) -> Result<(), Failure> {
    let loads = [
        Load { name: "pictures", area: None, count: setting.choose(200, 20) },
        Load { name: "small changes", area: Some((64, 32)), count: setting.choose(10_000, 500) },
    ];
    let directory = Path::new(told["authority"].as_str().unwrap_or_default()).parent();
    let socket = directory.ok_or("the desktop has no socket")?.join("desktop.rfb");
    for load in loads {
        let ours = Viewer::connect(atoll.port, true);
        let ours = ours.and_then(|viewer| carried(viewer, &load, &[atoll.pid()]));
        let theirs = Bridge::websockify(&setting.peers, &socket).and_then(|peer| {
            let viewer = Viewer::connect(peer.port, true)?;
            // It makes a process for each viewer.
            carried(viewer, &load, &tree(peer.pid()?))
        });
        let floor = Bridge::floor(&setting.peers, &socket).and_then(|peer| {
            let viewer = Viewer::connect(peer.port, false)?;
            carried(viewer, &load, &[peer.pid()?])
        });
        let Load { name, count, .. } = load;
        let bridges = [
            ("floor: copied by a loop", &floor),
            ("Atoll, VNC", &ours),
            ("websockify, VNC", &theirs),
        ];
        for (bridge, result) in bridges {
            match result {
                Ok((per_second, speed)) => {
                    let measured = [bridge.to_owned(), format!("{count} {name}")];
                    let speeds = [format!("{speed:.0} MB/s"), format!("{per_second:.0} MB/CPU s")];
                    report.row(measured.into_iter().chain(speeds));
                }
                Err(error) => report.absent(bridge, &error.to_string()),
            }
        }
        let text = format!("VNC, {name} ≥ {BRIDGE_BAR} × websockify per processor second");
        report.bars.push(match (ours, theirs) {
            (Ok((ours, _)), Ok((theirs, _))) => {
                let times = ours / theirs;
                Bar::new(text, format!("{times:.1} ×"), times >= BRIDGE_BAR)
            }
            (Err(error), _) | (_, Err(error)) => Bar::unknown(text, error.to_string()),
        });
    }
    Ok(())
}

/// What a viewer asks for.
struct Load {
    name: &'static str,
    /// The part of the screen; all of it when there is none.
    area: Option<(u16, u16)>,
    count: usize,
}

/// Megabytes per processor second of the bridge, and per second.
fn carried(mut viewer: Viewer, load: &Load, bridge: &[Pid]) -> Result<(f64, f64), Failure> {
    let area = load.area.unwrap_or(viewer.size);
    viewer.picture(area)?;
    let (before, started) = (processor_seconds(bridge), Instant::now());
    let mut bytes = 0;
    for _ in 0..load.count {
        bytes += viewer.picture(area)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    let used = (processor_seconds(bridge) - before).max(0.01);
    let megabytes = to_float(bytes) / 1e6;
    Ok((megabytes / used, megabytes / seconds))
}

/// A VNC viewer that takes whole raw pictures and counts their bytes.
struct Viewer {
    line: Line,
    received: Vec<u8>,
    size: (u16, u16),
}

/// What carries RFB to a viewer.
enum Line {
    Messages(Box<WebSocket<TcpStream>>),
    Plain(TcpStream),
}

impl Viewer {
    fn connect(port: u16, messages: bool) -> Result<Self, Failure> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let line = if messages {
            let mut request = format!("ws://127.0.0.1:{port}/websockify").into_client_request()?;
            let protocol = tungstenite::http::HeaderValue::from_static("binary");
            request.headers_mut().insert("sec-websocket-protocol", protocol);
            let (socket, _) =
                tungstenite::client(request, stream).map_err(|error| error.to_string())?;
            Line::Messages(Box::new(socket))
        } else {
            Line::Plain(stream)
        };
        let mut viewer = Self { line, received: Vec::new(), size: (0, 0) };
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
        match &mut self.line {
            Line::Messages(socket) => socket.send(Message::binary(bytes.to_vec()))?,
            Line::Plain(socket) => socket.write_all(bytes)?,
        }
        Ok(())
    }

    /// Whatever comes next.
    fn hear(&mut self) -> Result<Vec<u8>, Failure> {
        match &mut self.line {
            Line::Messages(socket) => loop {
                if let Message::Binary(bytes) = socket.read()? {
                    return Ok(bytes.into());
                }
            },
            Line::Plain(socket) => {
                let mut bytes = vec![0; CHUNK];
                let count = socket.read(&mut bytes)?;
                bytes.truncate(count);
                if count == 0 { Err("the desktop ended".into()) } else { Ok(bytes) }
            }
        }
    }

    fn take(&mut self, count: usize) -> Result<Vec<u8>, Failure> {
        while self.received.len() < count {
            let bytes = self.hear()?;
            self.received.extend_from_slice(&bytes);
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
            let bytes = self.hear()?;
            let now = bytes.len().min(count);
            count -= now;
            self.received.extend_from_slice(&bytes[now..]);
        }
        Ok(())
    }

    /// Takes a picture of a part of the screen, and says how many bytes it had.
    fn picture(&mut self, (width, height): (u16, u16)) -> Result<u64, Failure> {
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

/// A bridge in Python in front of the same X server.
struct Bridge {
    child: Child,
    port: u16,
}

impl Bridge {
    /// The peer.
    fn websockify(peers: &Path, socket: &Path) -> Result<Self, Failure> {
        let port = free_port()?;
        let target = format!("--unix-target={}", socket.display());
        Self::start(peers, port, &["-m", "websockify", &format!("127.0.0.1:{port}"), &target])
    }

    /// A loop that copies, and knows nothing of WebSockets.
    fn floor(peers: &Path, socket: &Path) -> Result<Self, Failure> {
        let port = free_port()?;
        let script = peers.join("copy_floor.py").display().to_string();
        Self::start(peers, port, &[&script, &port.to_string(), &socket.display().to_string()])
    }

    fn start(peers: &Path, port: u16, arguments: &[&str]) -> Result<Self, Failure> {
        let mut command = Command::new(peers.join("venv/bin/python"));
        in_clean_environment(&mut command, Path::new("/tmp"));
        command.args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let peer = Self { child: command.spawn()?, port };
        let started = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if started.elapsed() > PATIENCE {
                return Err("it does not listen".into());
            }
            sleep(Duration::from_millis(20));
        }
        Ok(peer)
    }

    fn pid(&self) -> Result<Pid, Failure> {
        Pid::from_raw(i32::try_from(self.child.id())?).ok_or_else(|| "no process".into())
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn free_port() -> Result<u16, Failure> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

//! Apps seen through the server, against nginx's `proxy_pass` in front of the same app.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Setting;
use super::transfer::download;
use crate::Failure;
use crate::http::{Connection, PATIENCE, Request};
use crate::race::{Lane, Plan, race};
use crate::report::{Bar, Report, megabytes};
use crate::server::Launch;
use crate::usage::{forget_peak, peak_bytes, to_float, tree, usage};

const BAR: f64 = 1.0;
const MEMORY_BAR: u64 = 16 << 20;
const SMALL: usize = 1024;
const CONNECTIONS: usize = 8;

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let bytes: u64 = setting.choose(1 << 30, 64 << 20);
    let requests: usize = setting.choose(2000, 200);
    let directory = tempfile::tempdir()?;
    let (small, large) = (directory.path().join("small"), directory.path().join("large"));
    std::fs::write(&small, [b'x'; SMALL])?;
    File::create(&large)?.set_len(bytes)?;
    let atoll = setting.atoll.start()?;
    let backend = Launch::nginx().start()?;
    let peer = Nginx::before(backend.port, directory.path());

    let own = tree(atoll.pid());
    let before = usage(&own).resident_bytes;
    forget_peak(&own);
    let ours = |path: &Path| format!("/proxy/{}{}", backend.port, path.display());
    let theirs = |path: &Path| path.display().to_string();
    let (port, small_ours, large_ours) = (atoll.port, ours(&small), ours(&large));
    let (small_theirs, large_theirs) = (theirs(&small), theirs(&large));
    let peer_port =
        || peer.as_ref().map(|peer| peer.port).map_err(|why| Failure::from(why.to_string()));
    let mut lanes = [
        Lane::prepared(
            "nginx proxy_pass, 1 KiB",
            peer_port().map(|port| {
                let path = &small_theirs;
                move || many(port, path, requests)
            }),
        ),
        Lane::new("Atoll, 1 KiB", || many(port, &small_ours, requests)),
        Lane::prepared(
            "nginx proxy_pass, 1 GiB",
            peer_port().map(|port| {
                let path = &large_theirs;
                move || download(port, path, bytes)
            }),
        ),
        Lane::new("Atoll, 1 GiB", || download(port, &large_ours, bytes)),
    ];
    let plan = Plan { warm_ups: 1, samples_per_round: 1, ..setting.plan(10) };
    race(plan, &mut lanes);
    let grown = peak_bytes(&own).saturating_sub(before);

    let total = to_float((requests * CONNECTIONS) as u64);
    let mut report = Report {
        title: "Previews",
        about: format!(
            "An app (nginx with files) behind `/proxy/{{port}}/` and behind another nginx with `proxy_pass` and kept \
             connections, one worker each: {CONNECTIONS} connections that ask for 1 KiB again and again, and one that \
             asks for {} MB.",
            megabytes(bytes)
        ),
        columns: vec!["", "samples", "p50 s", "rate", "rate / peer"],
        ..Report::default()
    };
    for pair in lanes.chunks(2) {
        let [peer, ours] = pair else { continue };
        let of_requests = ours.name.contains("KiB");
        for lane in pair {
            match lane.result() {
                Err(error) => report.absent(&lane.name, &error.to_string()),
                Ok(samples) => {
                    let seconds = samples.median().as_secs_f64();
                    let rate = if of_requests {
                        format!("{:.0} requests/s", total / seconds)
                    } else {
                        format!("{:.2} GB/s", to_float(bytes) / seconds / 1e9)
                    };
                    let share = peer.median_seconds().map(|peer| peer / seconds);
                    report.row([
                        lane.name.clone(),
                        samples.count().to_string(),
                        format!("{seconds:.3}"),
                        rate,
                        share.map_or_else(|| "-".to_owned(), |share| format!("{share:.2}")),
                    ]);
                }
            }
        }
        ours.result()?;
        let text = format!("{}: ≥ {BAR} × nginx", ours.name);
        report.bars.push(match ours.median_seconds().zip(peer.median_seconds()) {
            Some((mine, peer)) => {
                let share = peer / mine;
                Bar::new(text, format!("{share:.2} ×"), share >= BAR)
            }
            None => Bar::unknown(text, "the peer was not measured"),
        });
    }
    report.bars.push(Bar::new(
        "RSS grows by ≤ 16 MiB",
        format!("{} MB", megabytes(grown)),
        grown <= MEMORY_BAR,
    ));
    Ok(report)
}

/// Several connections, each asking again and again.
fn many(port: u16, path: &str, requests: usize) -> Result<Duration, Failure> {
    let request = Request::get(path, ("accept", "*/*"));
    let mut connections =
        (0..CONNECTIONS).map(|_| Connection::open(port)).collect::<Result<Vec<_>, _>>()?;
    let started = Instant::now();
    thread::scope(|scope| {
        let asking: Vec<_> = connections
            .iter_mut()
            .map(|connection| {
                let request = &request;
                scope.spawn(move || -> Result<(), String> {
                    for _ in 0..requests {
                        let answer = connection.ask(request).map_err(|error| error.to_string())?;
                        if answer.status != 200 || answer.body.len() != SMALL {
                            return Err(format!("HTTP {}", answer.status));
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        let ended = asking.into_iter().map(|each| {
            each.join().unwrap_or_else(|_| Err("a connection's thread panicked".to_owned()))
        });
        ended.collect::<Result<Vec<()>, String>>()
    })?;
    Ok(started.elapsed())
}

/// An nginx that passes everything on, as its manual says a fast one should.
struct Nginx {
    port: u16,
    process: Child,
}

impl Nginx {
    fn before(backend: u16, directory: &Path) -> Result<Self, Failure> {
        let program = Path::new("/usr/sbin/nginx");
        if !program.exists() {
            return Err("not installed".into());
        }
        let home = directory.join("proxy");
        std::fs::create_dir(&home)?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let configuration = home.join("nginx.conf");
        std::fs::write(
            &configuration,
            format!(
                "daemon off; user root; worker_processes 1; pid {0}/nginx.pid; error_log {0}/error.log;\n\
                 events {{}}\nhttp {{ access_log off; client_body_temp_path {0}/b; proxy_temp_path {0}/p;\n\
                 fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u; scgi_temp_path {0}/s; keepalive_requests 1000000;\n\
                 upstream app {{ server 127.0.0.1:{backend}; keepalive 32; keepalive_requests 1000000; }}\n\
                 server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://app; proxy_http_version 1.1;\n\
                 proxy_set_header Connection ''; proxy_max_temp_file_size 0; }} }} }}\n",
                home.display()
            ),
        )?;
        let process = Command::new(program)
            .args(["-e".into(), home.join("error.log"), "-c".into(), configuration])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let started = Self { port, process };
        let given_up = Instant::now() + PATIENCE;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if Instant::now() > given_up {
                return Err("it does not listen".into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(started)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its main process ends its worker only when it is asked to end.
        if let Some(pid) = rustix::process::Pid::from_raw(self.process.id().cast_signed()) {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        }
        self.process.wait().ok();
    }
}

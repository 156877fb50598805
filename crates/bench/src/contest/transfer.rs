//! A large file out of the sandbox and into it, against nginx and against `cat`.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Setting;
use crate::Failure;
use crate::http::PATIENCE;
use crate::race::{Lane, race};
use crate::report::{Bar, Report, megabytes};
use crate::server::{Launch, locate};
use crate::usage::{forget_peak, peak_bytes, to_float, tree, usage};

const DOWNLOAD_BAR: f64 = 0.9;
const UPLOAD_BAR: f64 = 0.7;
const MEMORY_BAR: u64 = 8 << 20;
const BUFFER: usize = 1 << 20;
/// Bytes moved before anything is measured.
const LITTLE: u64 = 8 << 20;

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let bytes: u64 = setting.choose(1 << 30, 64 << 20);
    let directory = tempfile::tempdir()?;
    let (source, uploaded) = (directory.path().join("source"), directory.path().join("uploaded"));
    let copied = directory.path().join("copied");
    fill(&source, bytes)?;
    let atoll = setting.atoll.start()?;
    let launch = Launch::nginx();
    let nginx = launch.start();

    let from = |path: &Path| format!("/v1/file/download?path={}", path.display());
    let (from_atoll, from_nginx) = (from(&source), source.display().to_string());
    let to_atoll = format!("/v1/file/upload?path={}", uploaded.display());
    // A little first, so that the code for it is in memory.
    let little = directory.path().join("little");
    fill(&little, LITTLE)?;
    download(atoll.port, &from(&little), LITTLE)?;
    upload(atoll.port, &to_atoll, &little, &uploaded, LITTLE)?;
    // The server's own processes, and what they hold before much is moved.
    let own = tree(atoll.pid());
    let before = usage(&own).resident_bytes;
    forget_peak(&own);
    let nginx_port = nginx.as_ref().map(|server| server.port).map_err(ToString::to_string);
    let mut lanes = [
        Lane::prepared(
            "nginx, download",
            nginx_port.map_err(Failure::from).map(|port| {
                let path = &from_nginx;
                move || download(port, path, bytes)
            }),
        ),
        Lane::new("Atoll, download", || download(atoll.port, &from_atoll, bytes)),
        Lane::new("cat > file", || copy_with_cat(&source, &copied, bytes)),
        Lane::new("Atoll, upload", || upload(atoll.port, &to_atoll, &source, &uploaded, bytes)),
    ];
    let mut plan = setting.plan(10);
    (plan.warm_ups, plan.samples_per_round) = (1, 1);
    race(plan, &mut lanes);
    let grown = peak_bytes(&own).saturating_sub(before);

    let rate = |lane: &Lane<'_>| lane.median_seconds().map(|seconds| to_float(bytes) / seconds);
    let mut report = Report {
        title: "Moving 1 GiB",
        about: format!(
            "A file of {} MB from the page cache through one connection, read by the same client; and into the sandbox \
             as a request's body, against `cat` from file to file. nginx uses sendfile.",
            megabytes(bytes)
        ),
        columns: vec!["", "samples", "p50 s", "GB/s", "rate / peer"],
        ..Report::default()
    };
    for pair in lanes.chunks(2) {
        let [peer, ours] = pair else { continue };
        for lane in pair {
            match lane.result() {
                Err(error) => report.absent(&lane.name, &error.to_string()),
                Ok(samples) => {
                    let share = rate(lane).zip(rate(peer)).map(|(mine, peer)| mine / peer);
                    report.row([
                        lane.name.clone(),
                        samples.count().to_string(),
                        format!("{:.3}", samples.median().as_secs_f64()),
                        format!("{:.2}", rate(lane).unwrap_or_default() / 1e9),
                        share.map_or_else(|| "-".to_owned(), |share| format!("{share:.2}")),
                    ]);
                }
            }
        }
        ours.result()?;
        let bar = if ours.name.contains("download") { DOWNLOAD_BAR } else { UPLOAD_BAR };
        let text = format!("{}: ≥ {bar} × {}", ours.name, peer.name);
        report.bars.push(match rate(ours).zip(rate(peer)) {
            Some((mine, peer)) => {
                let share = mine / peer;
                Bar::new(text, format!("{share:.2} ×"), share >= bar)
            }
            None => Bar::unknown(text, "the peer was not measured"),
        });
    }
    report.bars.push(Bar::new(
        "RSS grows by ≤ 8 MiB",
        format!("{} MB", megabytes(grown)),
        grown <= MEMORY_BAR,
    ));
    Ok(report)
}

/// Bytes that no file system stores as nothing.
fn fill(path: &Path, bytes: u64) -> Result<(), Failure> {
    let block: Vec<u8> = (0..BUFFER).map(|index| (index * 31 % 251).to_le_bytes()[0]).collect();
    let mut file = File::create(path)?;
    let mut left = bytes;
    while left > 0 {
        let part = left.min(BUFFER as u64);
        file.write_all(&block[..usize::try_from(part)?])?;
        left -= part;
    }
    Ok(())
}

/// One connection that asks for all of a file.
pub(super) fn download(port: u16, path: &str, bytes: u64) -> Result<Duration, Failure> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let started = Instant::now();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes())?;
    let mut buffer = vec![0; BUFFER];
    let mut head = Vec::new();
    let mut received = loop {
        let count = stream.read(&mut buffer)?;
        head.extend_from_slice(&buffer[..count]);
        if let Some(end) = memchr::memmem::find(&head, b"\r\n\r\n") {
            break (head.len() - end - 4) as u64;
        }
        if count == 0 {
            return Err("no answer".into());
        }
    };
    if !head.starts_with(b"HTTP/1.1 200") {
        return Err(String::from_utf8_lossy(&head[..head.len().min(200)]).into());
    }
    while received < bytes {
        match stream.read(&mut buffer)? {
            0 => return Err(format!("broke off after {received} bytes").into()),
            count => received += count as u64,
        }
    }
    Ok(started.elapsed())
}

fn upload(
    port: u16,
    path: &str,
    source: &Path,
    target: &Path,
    bytes: u64,
) -> Result<Duration, Failure> {
    let file = File::open(source)?;
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let started = Instant::now();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/octet-stream\r\n\
         content-length: {bytes}\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    // The kernel moves the bytes, so that the client is not what is measured.
    let mut sent = 0;
    while sent < bytes {
        let part = usize::try_from((bytes - sent).min(BUFFER as u64))?;
        let count = rustix::fs::sendfile(&stream, &file, Some(&mut sent), part)?;
        if count == 0 {
            return Err("the source is too short".into());
        }
    }
    let mut answer = [0; 12];
    stream.read_exact(&mut answer)?;
    let duration = started.elapsed();
    if !answer.ends_with(b" 200") || fs::metadata(target)?.len() != bytes {
        return Err("the upload was refused".into());
    }
    fs::remove_file(target)?;
    Ok(duration)
}

fn copy_with_cat(source: &Path, target: &Path, bytes: u64) -> Result<Duration, Failure> {
    let program = locate("cat")?;
    let started = Instant::now();
    let mut command = Command::new(program);
    command.arg(source).stdin(Stdio::null()).stdout(File::create(target)?);
    let status = command.status()?;
    let duration = started.elapsed();
    if !status.success() || fs::metadata(target)?.len() != bytes {
        return Err("cat failed".into());
    }
    fs::remove_file(target)?;
    Ok(duration)
}

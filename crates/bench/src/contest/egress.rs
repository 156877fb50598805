//! A large download through a tunnel of the egress proxy, against the same without it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use serde_json::{Value, json};

use super::Setting;
use crate::Failure;
use crate::http::PATIENCE;
use crate::race::{Lane, race};
use crate::report::{Bar, Report, megabytes};
use crate::server::authorised_post;
use crate::usage::to_float;

const BAR: f64 = 0.9;
const BUFFER: usize = 1 << 20;

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let bytes: u64 = setting.choose(2 << 30, 64 << 20);
    let source = source(bytes)?;
    let atoll = setting.atoll.start()?;
    // A mapping of something else: it tells the port of the proxy, and is in force as in real use.
    let mapping = json!({"source": "bench.test", "target": "9"});
    let (_, answer) = atoll.connect()?.time(&authorised_post("/v1/proxy/mappings", &mapping))?;
    let answer: Value = answer.json()?;
    let proxy = answer.pointer("/data/internal_port").and_then(Value::as_u64);
    let proxy = u16::try_from(proxy.ok_or("the proxy has no port")?)?;

    let loop_between = splicing(source)?;
    let from = |port: u16| {
        let started = Instant::now();
        drain(&mut TcpStream::connect((Ipv4Addr::LOCALHOST, port))?, bytes)?;
        Ok(started.elapsed())
    };
    let mut lanes = [
        Lane::new("direct", || from(source)),
        Lane::new("floor: spliced by a loop", || from(loop_between)),
        Lane::new("Atoll, CONNECT", || through(proxy, source, bytes)),
    ];
    let mut plan = setting.plan(10);
    (plan.warm_ups, plan.samples_per_round) = (1, 1);
    race(plan, &mut lanes);

    let rate = |lane: &Lane<'_>| lane.median_seconds().map(|seconds| to_float(bytes) / seconds);
    let mut report = Report {
        title: "Through the egress proxy",
        about: format!(
            "{} MB from a program on this machine to a client that reads them, over a connection made for it: directly, and \
             through a tunnel of the sandbox's proxy. Opening it is part of the time. Between both is what the kernel \
             asks of a program that does nothing but have bytes moved from one socket to the other: where sender and \
             receiver fill the processors between them, nobody in the middle comes free.",
            megabytes(bytes)
        ),
        columns: vec!["", "samples", "p50 s", "GB/s", "rate / direct"],
        ..Report::default()
    };
    let [direct, floor, ours] = &lanes;
    for lane in &lanes {
        let samples = lane.result()?;
        let share = rate(lane).zip(rate(direct)).map(|(mine, direct)| mine / direct);
        report.row([
            lane.name.clone(),
            samples.count().to_string(),
            format!("{:.3}", samples.median().as_secs_f64()),
            format!("{:.2}", rate(lane).unwrap_or_default() / 1e9),
            share.map_or_else(|| "-".to_owned(), |share| format!("{share:.2}")),
        ]);
    }
    for (than, what) in [(direct, "a direct connection"), (floor, "a bare loop")] {
        let share = rate(ours).zip(rate(than)).map_or(0.0, |(mine, other)| mine / other);
        let text = format!("a tunnel carries ≥ {BAR} × what {what} does");
        report.bars.push(Bar::new(text, format!("{share:.2} ×"), share >= BAR));
    }
    Ok(report)
}

/// A program that sends so many bytes to whoever connects; its port.
fn source(bytes: u64) -> Result<u16, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    // It ends with this program.
    thread::spawn(move || {
        let block = vec![7; BUFFER];
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut left = bytes;
            while left > 0 {
                let part = usize::try_from(left).unwrap_or(BUFFER).min(BUFFER);
                if stream.write_all(&block[..part]).is_err() {
                    break;
                }
                left -= part as u64;
            }
        }
    });
    Ok(port)
}

/// A program that moves what the source sends to whoever connects, and does nothing else; its port.
fn splicing(source: u16) -> Result<u16, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let Ok(client) = client else { return };
            // Whoever reads notices that it broke off.
            drop(splice_all(source, &client));
        }
    });
    Ok(port)
}

fn splice_all(source: u16, client: &TcpStream) -> Result<(), Failure> {
    let from = TcpStream::connect((Ipv4Addr::LOCALHOST, source))?;
    let (exit, entrance) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setpipe_size(&entrance, BUFFER)?;
    loop {
        let mut left = splice(&from, None, &entrance, None, BUFFER, SpliceFlags::MOVE)?;
        if left == 0 {
            return Ok(());
        }
        while left > 0 {
            left -= splice(&exit, None, client, None, left, SpliceFlags::MOVE)?;
        }
    }
}

fn through(proxy: u16, source: u16, bytes: u64) -> Result<Duration, Failure> {
    let started = Instant::now();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, proxy))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let target = format!("127.0.0.1:{source}");
    write!(stream, "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    if !head.starts_with(b"HTTP/1.1 200") {
        return Err(String::from_utf8_lossy(&head).into());
    }
    drain(&mut stream, bytes)?;
    Ok(started.elapsed())
}

fn drain(stream: &mut TcpStream, bytes: u64) -> Result<(), Failure> {
    let mut buffer = vec![0; BUFFER];
    let mut received = 0;
    while received < bytes {
        match stream.read(&mut buffer)? {
            0 => return Err(format!("broke off after {received} bytes").into()),
            count => received += count as u64,
        }
    }
    Ok(())
}

//! The servers of a contest: how each is started, and one that runs.
//!
//! All are treated alike: a free loopback port, a new temporary home, the same small environment, their log in a file.
//! A server and whatever it left running end with its [`Server`], by process id.

use std::ffi::OsString;
use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::Failure;
use crate::http::{Connection, Request};
use crate::usage::{started, tree};

/// What every server and every floor finds programs with.
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Secret of the peers that insist on one.
const TOKEN: &str = "bench";
const START_PATIENCE: Duration = Duration::from_mins(1);
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two looks at a starting server: short against the fastest start.
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// How to start a server, or why it cannot be.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) name: &'static str,
    program: PathBuf,
    arguments: fn(port: u16, home: &Path) -> Vec<OsString>,
    /// Arguments before those.
    prefix: Vec<OsString>,
    /// Answered with 200 once the server works.
    health: &'static str,
    /// Where programs are looked for before anywhere else.
    programs: Option<PathBuf>,
}

impl Launch {
    pub(crate) fn atoll(program: &Path) -> Self {
        Self {
            name: "Atoll",
            program: program.to_owned(),
            prefix: vec!["serve".into()],
            arguments: |port, home| {
                let listen = format!("127.0.0.1:{port}");
                vec!["--listen".into(), listen.into(), "--runtime-dir".into(), home.into()]
            },
            health: "/health",
            programs: None,
        }
    }

    /// The Rust program inside the npm package, without the Node launcher that its own command starts first.
    pub(crate) fn sandbox_agent(peers: &Path) -> Self {
        let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        let package = format!("npm/node_modules/@sandbox-agent/cli-linux-{machine}");
        Self {
            name: "@sandbox-agent/cli",
            program: peers.join(package).join("bin/sandbox-agent"),
            prefix: ["server", "--no-token", "--no-telemetry", "--port"].map(OsString::from).into(),
            arguments: |port, _| vec![port.to_string().into()],
            health: "/v1/health",
            programs: None,
        }
    }

    pub(crate) fn swe_rex(peers: &Path) -> Self {
        let prefix =
            ["-m", "swerex.server", "--host", "127.0.0.1", "--auth-token", TOKEN, "--port"];
        Self {
            name: "swe-rex",
            program: peers.join("venv/bin/python"),
            prefix: prefix.map(OsString::from).into(),
            arguments: |port, _| vec![port.to_string().into()],
            health: "/is_alive",
            programs: None,
        }
    }

    pub(crate) fn terminado(peers: &Path) -> Self {
        Self {
            name: "terminado",
            program: peers.join("venv/bin/python"),
            prefix: vec![peers.join("terminado_server.py").into_os_string()],
            arguments: |port, _| vec![port.to_string().into()],
            health: "/health",
            programs: None,
        }
    }

    /// An MCP server with a tool that echoes, by FastMCP.
    pub(crate) fn fastmcp(peers: &Path) -> Self {
        Self {
            name: "FastMCP",
            program: peers.join("mcp-venv/bin/python"),
            prefix: vec![peers.join("fastmcp_server.py").into_os_string()],
            arguments: |port, _| vec![port.to_string().into()],
            health: "/health",
            programs: None,
        }
    }

    /// The reference MCP server, which has no page of its own: it is well when it refuses what is not MCP.
    pub(crate) fn everything(peers: &Path) -> Self {
        let package = "npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
        let script = "PORT=$2 exec node \"$1\" streamableHttp";
        Self {
            name: "server-everything",
            program: "/bin/sh".into(),
            prefix: vec!["-c".into(), script.into(), "sh".into(), peers.join(package).into()],
            arguments: |port, _| vec![port.to_string().into()],
            health: "/mcp",
            programs: None,
        }
    }

    /// A static file server: everything below `/`, with sendfile.
    pub(crate) fn nginx() -> Self {
        Self {
            name: "nginx",
            program: "/usr/sbin/nginx".into(),
            prefix: Vec::new(),
            arguments: |port, home| {
                let configuration = home.join("nginx.conf");
                let text = format!(
                    "daemon off; user root; worker_processes 1; pid {0}/nginx.pid; error_log {0}/error.log;\n\
                     events {{}}\nhttp {{ access_log off; sendfile on; tcp_nopush on; client_body_temp_path {0}/b;\n\
                     proxy_temp_path {0}/p; fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;\n\
                     server {{ listen 127.0.0.1:{port}; root /;\n\
                     location = /health {{ return 200 ok; }} }} }}\n",
                    home.display()
                );
                // One that cannot be written fails the start, which says so.
                std::fs::write(&configuration, text).ok();
                ["-e".into(), home.join("error.log").into(), "-c".into(), configuration.into()]
                    .into()
            },
            health: "/health",
            programs: None,
        }
    }

    /// The same with another argument.
    pub(crate) fn with(mut self, argument: &str) -> Self {
        self.prefix.push(argument.into());
        self
    }

    /// The same, finding programs in this directory first.
    pub(crate) fn finding_programs_in(mut self, directory: &Path) -> Self {
        self.programs = Some(directory.to_owned());
        self
    }

    /// The program itself.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Starts the server; it has answered a health request when this returns.
    pub(crate) fn start(&self) -> Result<Server, Failure> {
        if !self.program.exists() {
            return Err("not installed".into());
        }
        let directory = tempfile::tempdir()?;
        let home = directory.path().to_owned();
        let port = free_port()?;
        let log = File::create(home.join("log"))?;
        let mut command = Command::new(&self.program);
        command.args(&self.prefix).args((self.arguments)(port, &home));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        in_clean_environment(&mut command, &home);
        if let Some(directory) = &self.programs {
            command.env("PATH", format!("{}:{SEARCH_PATH}", directory.display()));
        }
        let began = Instant::now();
        let child =
            command.spawn().map_err(|error| format!("{}: {error}", self.program.display()))?;
        let mut server = Server { child, port, name: self.name, start: Duration::ZERO, directory };
        let health = authorised_get(self.health);
        while !is_healthy(port, &health) {
            if let Some(status) = server.child.try_wait()? {
                return Err(format!("ended at its start ({status}): {}", server.log_end()).into());
            }
            if began.elapsed() > START_PATIENCE {
                return Err(format!("did not come up: {}", server.log_end()).into());
            }
            sleep(LOOK_EVERY);
        }
        server.start = began.elapsed();
        Ok(server)
    }
}

/// A running server. It and everything it started end when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    pub(crate) name: &'static str,
    /// From its exec to the first healthy answer.
    pub(crate) start: Duration,
    directory: TempDir,
}

impl Server {
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn connect(&self) -> Result<Connection, Failure> {
        Connection::open(self.port).map_err(|error| format!("{}: {error}", self.name).into())
    }

    fn log_end(&self) -> String {
        let log = std::fs::read(self.directory.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(300)..]).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let below: Vec<_> =
            tree(self.pid()).into_iter().skip(1).map(|pid| (pid, started(pid))).collect();
        // Errors here mean that it has ended already, which is what is wanted.
        kill_process(self.pid(), Signal::TERM).ok();
        let asked = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && asked.elapsed() < STOP_PATIENCE {
            sleep(Duration::from_millis(2));
        }
        self.child.kill().ok();
        self.child.wait().ok();
        for (pid, birth) in below {
            if birth.is_some() && started(pid) == birth {
                kill_process(pid, Signal::KILL).ok();
            }
        }
    }
}

/// A request with the secret of the peers that insist on one.
pub(crate) fn authorised_post(path: &str, body: &serde_json::Value) -> Request {
    Request::post(path, ("x-api-key", TOKEN), body)
}

pub(crate) fn authorised_get(path: &str) -> Request {
    Request::get(path, ("x-api-key", TOKEN))
}

/// Gives a program the environment every server and floor here gets.
pub(crate) fn in_clean_environment(command: &mut Command, home: &Path) {
    command.env_clear().env("PATH", SEARCH_PATH).env("HOME", home).env("LANG", "C.UTF-8");
    command.current_dir(home);
}

/// Where a program lies on the search path: the floors and the peers are spared the search.
pub(crate) fn locate(program: &str) -> Result<String, Failure> {
    let mut places = SEARCH_PATH.split(':').map(|directory| format!("{directory}/{program}"));
    let found = places.find(|place| Path::new(place).exists());
    found.ok_or_else(|| format!("there is no {program} in {SEARCH_PATH}").into())
}

fn is_healthy(port: u16, health: &Request) -> bool {
    let answer = Connection::open(port).and_then(|mut connection| connection.ask(health));
    // A server of MCP alone answers such a request with a refusal.
    answer.is_ok_and(|response| response.status == 200 || response.status == 400)
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

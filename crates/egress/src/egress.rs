//! The whole: what was chosen, the listener, and the way from a request to a connection.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::SystemTime;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::changes::ChangeError;
use crate::dial::Dialer;
use crate::error::{DialError, Refusal, Way};
use crate::handshake::{self, Declined};
use crate::host::{Host, is_loopback};
use crate::limits::Limits;
use crate::listener;
use crate::mapping::Asked;
use crate::pac;
use crate::policy::{Policy, Verdict};
use crate::refusals::Refusals;
use crate::setup::{Route, Setup};
use crate::upstream::{Protocol, RunCommand, Upstream};

/// Which ports of this machine belong to the server itself: nobody reaches them through here.
pub trait OwnPorts: fmt::Debug + Send + Sync {
    /// Whether this is one of them.
    fn holds(&self, port: u16) -> bool;
}

/// What it works with.
#[derive(Debug, Clone)]
pub struct Means {
    /// Keeps the tasks.
    pub tasks: TaskTracker,
    /// Ends them.
    pub stop: CancellationToken,
    /// Runs the command that tells an upstream's credentials.
    pub commands: Arc<dyn RunCommand>,
    /// The server's own ports.
    pub own_ports: Arc<dyn OwnPorts>,
    /// Bounds.
    pub limits: Limits,
}

/// The way out of the sandbox. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Egress(Arc<Inner>);

/// The same without keeping it alive.
#[derive(Debug, Clone)]
pub struct WeakEgress(Weak<Inner>);

impl WeakEgress {
    /// The port it listens on, if it does.
    pub fn port(&self) -> Option<u16> {
        Egress(self.0.upgrade()?).address().map(|address| address.port())
    }
}

#[derive(Debug)]
struct Inner {
    /// Replaced as a whole; whoever holds one sees one state.
    setup: RwLock<Arc<Setup>>,
    means: Means,
    dialer: Dialer,
    refusals: Refusals,
    /// Where it listens, once it does.
    listener: Mutex<Option<SocketAddr>>,
    /// Whether it may.
    off: bool,
}

impl Egress {
    /// Listens nowhere yet.
    pub fn new(setup: Setup, means: Means) -> Self {
        Self::build(setup, means, false)
    }

    /// One that never listens: programs connect for themselves, and only what this program asks for passes here.
    pub fn off(means: Means) -> Self {
        Self::build(Setup::default(), means, true)
    }

    fn build(setup: Setup, means: Means, off: bool) -> Self {
        Self(Arc::new(Inner {
            setup: RwLock::new(Arc::new(setup)),
            dialer: Dialer::new(&means.limits),
            refusals: Refusals::new(means.limits.refusals),
            means,
            listener: Mutex::default(),
            off,
        }))
    }

    /// The same without keeping it alive.
    pub fn downgrade(&self) -> WeakEgress {
        WeakEgress(Arc::downgrade(&self.0))
    }

    /// Whether it never listens.
    pub fn is_off(&self) -> bool {
        self.0.off
    }

    /// What is chosen at this moment.
    pub fn setup(&self) -> Arc<Setup> {
        Arc::clone(&self.0.setup.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn means(&self) -> &Means {
        &self.0.means
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.means.limits
    }

    /// Listens, if it does not yet, and says where: HTTP and SOCKS5 at the same port of this machine.
    pub fn listen(&self) -> io::Result<SocketAddr> {
        if self.0.off {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "it is switched off"));
        }
        let mut known = self.0.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = *known {
            return Ok(address);
        }
        let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let socket = TcpListener::from_std(socket)?;
        self.0.means.tasks.spawn(listener::run(self.clone(), socket));
        tracing::info!(%address, "the egress proxy listens");
        *known = Some(address);
        Ok(address)
    }

    /// Where it listens, if it does.
    pub fn address(&self) -> Option<SocketAddr> {
        *self.0.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a connection for a part of this program, as policy, mappings and upstream have it. TLS, if any, is the
    /// caller's.
    pub async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, DialError> {
        let host = Host::parse(host).ok_or_else(|| DialError::Host(host.to_owned()))?;
        let asked = Asked { host: &host, port, path: None };
        self.reach(&self.setup(), Way::Internal, asked).await
    }

    /// Opens a connection for somebody, and writes down what was refused.
    pub(crate) async fn reach(
        &self,
        setup: &Setup,
        way: Way,
        asked: Asked<'_>,
    ) -> Result<TcpStream, DialError> {
        let outcome = self.dial(setup, way, asked).await;
        self.note(outcome)
    }

    /// Writes down a refusal.
    pub(crate) fn note<T>(&self, outcome: Result<T, DialError>) -> Result<T, DialError> {
        if let Err(DialError::Refused(refusal)) = &outcome {
            let Refusal { host, port, reason, way, .. } = refusal;
            tracing::info!(host, port, reason, way = way.as_str(), "refused to connect");
            self.0.refusals.add(refusal.clone());
        }
        outcome
    }

    /// Opens a connection.
    pub(crate) async fn dial(
        &self,
        setup: &Setup,
        way: Way,
        asked: Asked<'_>,
    ) -> Result<TcpStream, DialError> {
        match setup.route(asked) {
            Route::Mapping(mapping) => {
                let to = mapping.to();
                self.direct(&setup.policy, way, &to.host, to.port).await
            }
            Route::Direct { .. } => self.direct(&setup.policy, way, asked.host, asked.port).await,
            Route::Upstream(upstream) => self.through(setup, way, upstream, asked).await,
        }
    }

    /// Opens a connection without another proxy.
    pub(crate) async fn direct(
        &self,
        policy: &Policy,
        way: Way,
        host: &Host,
        port: u16,
    ) -> Result<TcpStream, DialError> {
        let verdict = policy.judge(host, port);
        if let Verdict::Denied(why) = verdict {
            return Err(refused(way, host, port, None, why));
        }
        let addresses = self.0.dialer.resolve(host).await?;
        let mut allowed = Vec::new();
        let mut denied = None;
        for address in addresses {
            let judged = policy.settle(&verdict, address, port);
            match judged.and_then(|()| self.guard(address, port)) {
                Ok(()) => allowed.push(address),
                Err(why) => denied = Some((address, why)),
            }
        }
        if let (true, Some((address, why))) = (allowed.is_empty(), denied) {
            return Err(refused(way, host, port, Some(address), why));
        }
        let stream = self.0.dialer.open(&allowed, port, &format!("{host}:{port}")).await?;
        // An address of this machine that is not loopback shows itself only now.
        if let (Ok(own), Ok(peer)) = (stream.local_addr(), stream.peer_addr())
            && own.ip() == peer.ip()
            && self.is_own(port)
        {
            return Err(refused(way, host, port, Some(peer.ip()), belongs(port)));
        }
        Ok(stream)
    }

    fn guard(&self, address: IpAddr, port: u16) -> Result<(), String> {
        if is_loopback(address) && self.is_own(port) { Err(belongs(port)) } else { Ok(()) }
    }

    /// Whether a port of this machine belongs to the server.
    pub(crate) fn is_own(&self, port: u16) -> bool {
        let own = self.address().is_some_and(|address| address.port() == port);
        own || self.0.means.own_ports.holds(port)
    }

    /// Judges what another proxy will be asked for.
    pub(crate) fn judge(setup: &Setup, way: Way, asked: Asked<'_>) -> Result<(), DialError> {
        let Asked { host, port, .. } = asked;
        let verdict = setup.policy.judge(host, port);
        Policy::settle_unresolved(verdict).map_err(|why| refused(way, host, port, None, why))
    }

    /// Opens a connection to the other proxy itself.
    pub(crate) async fn open_upstream(&self, upstream: &Upstream) -> Result<TcpStream, DialError> {
        let addresses = self.0.dialer.resolve(&upstream.host).await?;
        for address in &addresses {
            self.guard(*address, upstream.port).map_err(|why| DialError::Upstream {
                proxy: upstream.address(),
                target: upstream.address(),
                why,
            })?;
        }
        let target = format!("the upstream proxy {}", upstream.address());
        self.0.dialer.open(&addresses, upstream.port, &target).await
    }

    /// Opens a connection through the other proxy.
    async fn through(
        &self,
        setup: &Setup,
        way: Way,
        upstream: &Upstream,
        asked: Asked<'_>,
    ) -> Result<TcpStream, DialError> {
        Self::judge(setup, way, asked)?;
        let Asked { host, port, .. } = asked;
        let proxy = upstream.address();
        let mut again = true;
        loop {
            let credentials = upstream.credentials(&*self.0.means.commands).await?;
            let mut stream = self.open_upstream(upstream).await?;
            let known = credentials.as_ref();
            let shaken = timeout(self.limits().handshake_time, async {
                match upstream.protocol {
                    Protocol::Http => {
                        let most = self.limits().head_bytes;
                        handshake::http(&mut stream, host, port, known, most).await
                    }
                    Protocol::Socks => handshake::socks(&mut stream, host, port, known).await,
                }
            });
            match shaken.await {
                Ok(Ok(())) => return Ok(stream),
                Ok(Err(Declined::Credentials)) => {
                    if !(upstream.refused(known).await && std::mem::take(&mut again)) {
                        return Err(DialError::Credentials { proxy });
                    }
                }
                Ok(Err(Declined::Otherwise(why))) => {
                    let target = format!("{host}:{port}");
                    return Err(DialError::Upstream { proxy, target, why });
                }
                Err(_) => {
                    let target = format!("the upstream proxy {proxy}");
                    return Err(DialError::Timeout { target });
                }
            }
        }
    }

    /// The variables by which programs find the proxy, both ways of writing them; none while nothing is chosen that they
    /// would notice. Starts the listener if need be.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        if self.0.off || !self.setup().is_configured() {
            return Vec::new();
        }
        let address = match self.listen() {
            Ok(address) => address,
            Err(error) => {
                tracing::warn!(%error, "the egress proxy cannot listen; programs connect directly");
                return Vec::new();
            }
        };
        let proxy = format!("http://{address}");
        let own = "localhost,127.0.0.1,::1".to_owned();
        let named =
            ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
                .map(|name| (name, proxy.clone()));
        let none = ["no_proxy", "NO_PROXY"].map(|name| (name, own.clone()));
        // Without it Node.js does not look at the others.
        let node = ("NODE_USE_ENV_PROXY", "1".to_owned());
        named.into_iter().chain(none).chain([node]).collect()
    }

    /// The same decisions as a script that browsers understand.
    pub fn pac(&self) -> String {
        let setup = self.setup();
        let address = setup.is_configured().then(|| self.listen().ok()).flatten();
        pac::script(&setup, address)
    }

    /// The latest refusals, newest first, and how many there ever were.
    pub fn refusals(&self, most: usize) -> (Vec<Refusal>, u64) {
        self.0.refusals.latest(most)
    }

    /// Replaces what was chosen by what comes of it, unless that fails.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&mut Setup) -> Result<T, ChangeError>,
    ) -> Result<T, ChangeError> {
        let mut current = self.0.setup.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = Setup::clone(&current);
        let outcome = change(&mut next)?;
        *current = Arc::new(next);
        Ok(outcome)
    }
}

fn belongs(port: u16) -> String {
    format!("port {port} belongs to the sandbox server itself")
}

fn refused(way: Way, host: &Host, port: u16, address: Option<IpAddr>, reason: String) -> DialError {
    DialError::Refused(Refusal {
        at: SystemTime::now(),
        way,
        host: host.to_string(),
        port,
        address,
        reason,
    })
}

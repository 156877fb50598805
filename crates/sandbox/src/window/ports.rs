//! The list of ports that programs listen on, once or as it changes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use atoll_api::port::{ListPorts, ListeningPort, PortList};
use atoll_operation::{Context, Error, Event, Handle, Stream, Streaming};
use futures::StreamExt;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::internal::InternalPorts;
use crate::system::ports::{self as listeners, Listener, Owner};

/// How often the kernel's tables are read while somebody follows them.
const PAUSE: Duration = Duration::from_secs(1);

/// Knows what listens.
#[derive(Debug)]
pub struct Ports {
    internal: Arc<InternalPorts>,
    stop: CancellationToken,
}

impl Ports {
    /// `internal` are those of the sandbox itself.
    pub fn new(internal: &Arc<InternalPorts>, stop: &CancellationToken) -> Arc<Self> {
        Arc::new(Self { internal: Arc::clone(internal), stop: stop.clone() })
    }
}

impl Handle<ListPorts> for Ports {
    async fn handle(&self, cx: &Context, input: ListPorts) -> Result<PortList, Error> {
        look(&self.internal, cx, input.internal).await
    }
}

impl Streaming<ListPorts> for Ports {
    async fn stream(&self, cx: &Context, input: ListPorts) -> Result<Stream, Error> {
        let following = Following {
            internal: Arc::clone(&self.internal),
            stop: self.stop.clone(),
            cx: cx.clone(),
            wanted: input.internal,
            told: None,
        };
        Ok(futures::stream::unfold(following, Following::next).boxed())
    }
}

struct Following {
    internal: Arc<InternalPorts>,
    stop: CancellationToken,
    cx: Context,
    /// Whether the sandbox's own ports are wanted.
    wanted: bool,
    told: Option<PortList>,
}

impl Following {
    async fn next(mut self) -> Option<(Event, Self)> {
        loop {
            let list = look(&self.internal, &self.cx, self.wanted).await.ok()?;
            if self.told.as_ref() != Some(&list) {
                let data = serde_json::to_value(&list).unwrap_or_default();
                self.told = Some(list);
                return Some((Event { name: "ports", id: None, data }, self));
            }
            tokio::select! {
                () = self.stop.cancelled() => return None,
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }
}

async fn look(internal: &Arc<InternalPorts>, cx: &Context, all: bool) -> Result<PortList, Error> {
    let internal = Arc::clone(internal);
    let found = spawn_blocking(move || {
        let chosen = choose(listeners::all());
        let mut owners = listeners::owners(chosen.values());
        let told = chosen.into_values().map(|listener| {
            let owner = owners.remove(&listener.inode);
            let own = internal.contains(listener.port);
            (listener, owner, own)
        });
        let is_kernel = |owner: &Option<Owner>| owner.as_ref().is_some_and(|owner| owner.kernel);
        told.filter(|(_, owner, own)| all || !(*own || is_kernel(owner))).collect::<Vec<_>>()
    });
    let found = found.await.map_err(|error| Error::internal("ports could not be read", error))?;
    let ports = found.into_iter().map(|(listener, owner, internal)| {
        let kernel = owner.as_ref().is_some_and(|owner| owner.kernel);
        let shown = !internal && !kernel && is_reached(listener.address);
        let (pid, process) = owner.map(|owner| (owner.pid, owner.name)).unzip();
        ListeningPort {
            port: listener.port,
            address: listener.address.to_string(),
            pid,
            process,
            internal,
            url: shown.then(|| cx.link(&format!("/proxy/{}/", listener.port), &[])),
        }
    });
    Ok(PortList { ports: ports.collect() })
}

/// Of several that listen on one port the one a preview reaches: IPv4 before IPv6, this machine before one address of it.
fn choose(listeners: Vec<Listener>) -> BTreeMap<u16, Listener> {
    let rank =
        |address: IpAddr| (!is_reached(address), address.is_ipv6(), !address.is_unspecified());
    let mut chosen: BTreeMap<u16, Listener> = BTreeMap::new();
    for listener in listeners {
        match chosen.get(&listener.port) {
            Some(known) if rank(known.address) <= rank(listener.address) => {}
            _ => {
                chosen.insert(listener.port, listener);
            }
        }
    }
    chosen
}

/// Whether a connection to this machine's own address arrives there.
fn is_reached(address: IpAddr) -> bool {
    address.is_loopback() || address.is_unspecified()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_listener_is_told_for_each_port() {
        let listener =
            |port, address: &str| Listener { port, address: address.parse().unwrap(), inode: 1 };
        let chosen = choose(vec![
            listener(80, "10.0.0.1"),
            listener(80, "::1"),
            listener(80, "127.0.0.1"),
            listener(80, "::"),
            listener(81, "10.0.0.1"),
        ]);
        let told: Vec<_> =
            chosen.values().map(|each| (each.port, each.address.to_string())).collect();
        assert_eq!(told, [(80, "127.0.0.1".to_owned()), (81, "10.0.0.1".to_owned())]);
    }

    #[tokio::test]
    async fn a_program_that_listens_is_told_with_its_name_and_address() {
        let open = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = open.local_addr().unwrap().port();
        let internal = Arc::new(InternalPorts::default());
        let ports = Ports::new(&internal, &CancellationToken::new());
        let cx = Context::new("test").reached_at("http://box/one", "ticket=t");
        let mut stream = ports.stream(&cx, ListPorts::default()).await.unwrap();
        let first = stream.next().await.unwrap();
        assert_eq!(first.name, "ports");
        let list: PortList = serde_json::from_value(first.data).unwrap();
        let told = list.ports.iter().find(|told| told.port == port).unwrap();
        assert_eq!(told.pid, i32::try_from(std::process::id()).ok());
        assert!(told.process.as_ref().is_some_and(|name| !name.is_empty()));
        assert_eq!(told.url, Some(format!("http://box/one/proxy/{port}/?ticket=t")));
        drop(open);
        // Other programs of this machine may come and go meanwhile.
        loop {
            let event = stream.next().await.unwrap();
            let list: PortList = serde_json::from_value(event.data).unwrap();
            if list.ports.iter().all(|told| told.port != port) {
                break;
            }
        }
    }

    #[tokio::test]
    async fn the_sandboxs_own_ports_are_told_only_when_asked_for() {
        let open = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = open.local_addr().unwrap().port();
        let internal = Arc::new(InternalPorts::default());
        internal.add(port);
        let ports = Ports::new(&internal, &CancellationToken::new());
        let cx = Context::new("test");
        let usual = ports.handle(&cx, ListPorts { internal: false }).await.unwrap();
        assert!(usual.ports.iter().all(|told| told.port != port));
        let all = ports.handle(&cx, ListPorts { internal: true }).await.unwrap();
        let told = all.ports.iter().find(|told| told.port == port).unwrap();
        assert!(told.internal && told.url.is_none());
    }
}

//! Waiting until services listen on the ports the operator named (`WAIT_PORTS`).

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::services::Services;

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(100);
/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(1);

impl Services {
    /// Returns when something listens on each of the ports, when no service is left that could, or when the limit is
    /// reached. Ports are only waited for when there are services of users: nothing else would ever open them.
    pub async fn wait_for_ports(&self) {
        let bound = self.surroundings.programs.foundation().limits.wait_ports_seconds;
        self.waiting.send_replace(self.wait_ports.clone());
        if timeout(Duration::from_secs(bound), self.all_open()).await.is_err() {
            let ports = self.waiting.borrow().clone();
            tracing::warn!(?ports, seconds = bound, "nothing listens on ports of WAIT_PORTS");
        }
        self.waiting.send_replace(Vec::new());
    }

    async fn all_open(&self) {
        loop {
            let waiting = self.waiting.borrow().clone();
            let mut closed = Vec::new();
            for port in waiting.clone() {
                if !is_open(port).await {
                    closed.push(port);
                }
            }
            let done = closed.is_empty();
            if closed != waiting {
                self.waiting.send_replace(closed);
            }
            if done || !self.table().units.iter().any(|unit| unit.is_wanted()) {
                return;
            }
            sleep(PAUSE).await;
        }
    }
}

async fn is_open(port: u16) -> bool {
    let places = [
        SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
    ];
    for place in places {
        if matches!(timeout(ATTEMPT, TcpStream::connect(place)).await, Ok(Ok(_))) {
            return true;
        }
    }
    false
}

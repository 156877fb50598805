//! The one port: HTTP and SOCKS5, told apart by the first byte.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::activity::Activity;
use crate::egress::Egress;
use crate::{http, socks, tunnel};

/// How long nobody is let in after the system had no more to give.
const PAUSE: Duration = Duration::from_millis(50);
/// Told to who comes when all places are taken.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 57\r\nConnection: close\r\n\r\ntoo many connections to the egress proxy are open already";

/// A client that is served.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    pub(crate) egress: Egress,
    pub(crate) activity: Arc<Activity>,
    /// Its place, until the last of it is gone.
    _place: Arc<OwnedSemaphorePermit>,
}

impl Guest {
    /// Carries bytes between the client and where it wanted to go, until both end, nothing moves, or the server stops.
    pub(crate) async fn carry(&self, client: TcpStream, other: TcpStream) {
        tokio::select! {
            // However it ended, nobody is left to be told.
            _ended = tunnel::carry(&client, &other, &self.activity) => {}
            () = self.ended() => {}
        }
    }

    /// Ends when the client shall be served no longer.
    pub(crate) async fn ended(&self) {
        let means = self.egress.means();
        tokio::select! {
            () = self.activity.ceased(means.limits.idle_time) => {}
            () = means.stop.cancelled() => {}
        }
    }
}

/// Lets clients in until the server stops.
pub(crate) async fn run(egress: Egress, listener: TcpListener) {
    let stop = egress.means().stop.clone();
    let places = Arc::new(Semaphore::new(egress.limits().connections));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "the egress proxy cannot let a client in");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // Without it small messages wait for others; where it fails they merely do.
        let _prompt = stream.set_nodelay(true);
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            // A new connection's buffer is empty; if not, closing says enough.
            let _told = stream.try_write(FULL);
            continue;
        };
        let (activity, place) = (Activity::new(), Arc::new(place));
        let guest = Guest { egress: egress.clone(), activity, _place: place };
        egress.means().tasks.spawn(welcome(guest, stream));
    }
}

async fn welcome(guest: Guest, stream: TcpStream) {
    let mut first = [0];
    let patience = guest.egress.limits().head_time;
    let seen = tokio::select! {
        seen = timeout(patience, stream.peek(&mut first)) => seen,
        () = guest.egress.means().stop.cancelled() => return,
    };
    match (seen, first) {
        (Ok(Ok(1)), [socks::VERSION]) => socks::serve(guest, stream).await,
        (Ok(Ok(1)), _) => http::serve(guest, stream).await,
        // It said nothing, or went.
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_told_is_the_length_sent() {
        let text = String::from_utf8_lossy(FULL);
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{}", body.len());
    }
}

//! When a connection last moved a byte, so that one that moves none can be ended.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// When something last happened.
#[derive(Debug)]
pub(crate) struct Activity {
    since: Instant,
    /// Milliseconds after `since`.
    last: AtomicU64,
}

impl Activity {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { since: Instant::now(), last: AtomicU64::new(0) })
    }

    /// Something happens now.
    pub(crate) fn touch(&self) {
        self.last.store(self.age(), Ordering::Relaxed);
    }

    fn age(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Ends when nothing has happened for so long.
    pub(crate) async fn ceased(&self, limit: Duration) {
        loop {
            let silence = Duration::from_millis(
                self.age() - self.last.load(Ordering::Relaxed).min(self.age()),
            );
            let Some(left) = limit.checked_sub(silence).filter(|left| !left.is_zero()) else {
                return;
            };
            tokio::time::sleep(left).await;
        }
    }
}

/// A client's connection that notes what moves on it.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) stream: TcpStream,
    activity: Arc<Activity>,
}

impl Watched {
    pub(crate) fn new(stream: TcpStream, activity: Arc<Activity>) -> Self {
        Self { stream, activity }
    }

    fn noting<T>(&self, outcome: io::Result<T>) -> Poll<io::Result<T>> {
        if outcome.is_ok() {
            self.activity.touch();
        }
        Poll::Ready(outcome)
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = ready!(Pin::new(&mut self.stream).poll_read(cx, buffer));
        self.noting(outcome)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes));
        self.noting(outcome)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, parts));
        self.noting(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_ceases_when_nothing_moved_for_long_enough_and_not_before() {
        let activity = Activity::new();
        let limit = Duration::from_secs(10);
        let ceased = activity.ceased(limit);
        tokio::pin!(ceased);
        for _ in 0..5 {
            let still = tokio::time::timeout(Duration::from_secs(9), &mut ceased).await;
            assert!(still.is_err());
            activity.touch();
        }
        ceased.await;
        assert_eq!(activity.since.elapsed().as_secs(), 55);
    }
}

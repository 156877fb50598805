//! Prepares the pieces of a file where waiting for a disk holds nobody up, each while the one before it is sent.

use std::fmt;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::task::{JoinHandle, spawn_blocking};

/// A piece of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) offset: u64,
    pub(super) length: usize,
    /// Whether nothing follows it.
    pub(super) last: bool,
}

/// Prepares pieces of a file.
pub(super) trait Prepare: Send + Sync + 'static {
    /// Prepares a piece, and may wait for a disk.
    fn prepare(&self, piece: Piece) -> io::Result<Bytes>;

    /// The same, if there is nothing to wait for.
    fn at_once(&self, _piece: Piece) -> Option<Bytes> {
        None
    }
}

/// Cuts a range into pieces and prepares them in order, at most one ahead.
pub(super) struct Ahead {
    prepare: Arc<dyn Prepare>,
    /// What is not being prepared yet.
    rest: Range<u64>,
    piece_bytes: usize,
    next: Option<(Piece, Preparing)>,
}

enum Preparing {
    Done(Bytes),
    Elsewhere(JoinHandle<io::Result<Bytes>>),
}

impl Ahead {
    /// Begins when it is first asked.
    pub(super) fn new(range: Range<u64>, piece_bytes: usize, prepare: impl Prepare) -> Self {
        Self { prepare: Arc::new(prepare), rest: range, piece_bytes, next: None }
    }

    /// Bytes of the pieces not handed out yet.
    pub(super) fn left(&self) -> u64 {
        let next = self.next.as_ref().map_or(0, |(piece, _)| piece.length as u64);
        next + (self.rest.end - self.rest.start)
    }

    /// The next piece, prepared. After an error there are no more.
    pub(super) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<(Piece, Bytes)>>> {
        if self.next.is_none() {
            self.begin();
        }
        if let Some((_, Preparing::Elsewhere(preparing))) = &mut self.next {
            let prepared = ready!(Pin::new(preparing).poll(cx));
            match prepared.map_err(io::Error::other).flatten() {
                Ok(bytes) => {
                    self.next = self.next.take().map(|(piece, _)| (piece, Preparing::Done(bytes)));
                }
                Err(error) => {
                    self.next = None;
                    self.rest.start = self.rest.end;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
        match self.next.take() {
            Some((piece, Preparing::Done(bytes))) => {
                self.begin();
                Poll::Ready(Some(Ok((piece, bytes))))
            }
            _ => Poll::Ready(None),
        }
    }

    fn begin(&mut self) {
        let left = self.rest.end - self.rest.start;
        let length =
            usize::try_from(left).map_or(self.piece_bytes, |left| left.min(self.piece_bytes));
        if length == 0 {
            return;
        }
        let offset = self.rest.start;
        self.rest.start += length as u64;
        let piece = Piece { offset, length, last: self.rest.is_empty() };
        let preparing = if let Some(bytes) = self.prepare.at_once(piece) {
            Preparing::Done(bytes)
        } else {
            let prepare = Arc::clone(&self.prepare);
            Preparing::Elsewhere(spawn_blocking(move || prepare.prepare(piece)))
        };
        self.next = Some((piece, preparing));
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // Helps only while it waits for a thread; what has begun ends by itself.
        if let Some((_, Preparing::Elsewhere(preparing))) = &self.next {
            preparing.abort();
        }
    }
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead").field("rest", &self.rest).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Prepares pieces that hold their own offset; those at even ones at once where that is allowed.
    #[derive(Default)]
    struct Counter {
        begun: Arc<AtomicUsize>,
        hurries: bool,
    }

    impl Prepare for Counter {
        fn prepare(&self, piece: Piece) -> io::Result<Bytes> {
            self.begun.fetch_add(1, Ordering::SeqCst);
            Ok(Bytes::from(piece.offset.to_string()))
        }

        fn at_once(&self, piece: Piece) -> Option<Bytes> {
            (self.hurries && piece.offset.is_multiple_of(2)).then(|| self.prepare(piece).unwrap())
        }
    }

    #[tokio::test]
    async fn pieces_come_in_order_and_at_most_one_ahead() {
        for hurries in [false, true] {
            let begun = Arc::new(AtomicUsize::new(0));
            let counter = Counter { begun: Arc::clone(&begun), hurries };
            let mut ahead = Ahead::new(3..10, 3, counter);
            assert_eq!((begun.load(Ordering::SeqCst), ahead.left()), (0, 7));
            let mut seen = Vec::new();
            while let Some(piece) = poll_fn(|cx| ahead.poll_next(cx)).await {
                let (piece, prepared) = piece.unwrap();
                assert_eq!(prepared, piece.offset.to_string());
                seen.push((piece.offset, piece.length, piece.last, ahead.left()));
                assert!(begun.load(Ordering::SeqCst) <= seen.len() + 1);
            }
            assert_eq!(seen, [(3, 3, false, 4), (6, 3, false, 1), (9, 1, true, 0)]);
        }
    }

    struct Failing {
        panics: bool,
    }

    impl Prepare for Failing {
        fn prepare(&self, _: Piece) -> io::Result<Bytes> {
            assert!(!self.panics, "as asked");
            Err(io::Error::other("as asked"))
        }
    }

    #[tokio::test]
    async fn nothing_follows_an_error_or_a_panic() {
        for panics in [false, true] {
            let mut ahead = Ahead::new(0..10, 3, Failing { panics });
            assert!(poll_fn(|cx| ahead.poll_next(cx)).await.unwrap().is_err());
            assert!(poll_fn(|cx| ahead.poll_next(cx)).await.is_none());
        }
    }

    #[tokio::test]
    async fn an_empty_range_has_no_pieces() {
        let mut ahead = Ahead::new(5..5, 3, Counter::default());
        assert!(poll_fn(|cx| ahead.poll_next(cx)).await.is_none());
    }
}

//! Bytes of a request on their way into a file.

use std::io::{self, Write};

use atoll_operation::ByteStream;
use bytes::Bytes;
use futures::StreamExt;
use tokio::task::{JoinHandle, spawn_blocking};

/// Bytes that are written together.
const BATCH_BYTES: usize = 1 << 20;

/// Takes all bytes and counts them. While some are written, away from the threads that serve connections, the next ones
/// come in: two buffers take turns, so that however much passes, no memory is asked for or given back. It ends once more
/// than `most` have come, and then says so by a count above it.
pub(super) async fn pour<W>(into: W, mut bytes: ByteStream, most: u64) -> io::Result<(W, u64)>
where
    W: Write + Send + 'static,
{
    let mut writing = Writing::Idle(into, Vec::with_capacity(BATCH_BYTES));
    let mut batch = Vec::with_capacity(BATCH_BYTES);
    let mut rest = Bytes::new();
    let mut length = 0_u64;
    loop {
        gather(&mut batch, &mut rest, &mut bytes).await?;
        let (mut into, mut written) = writing.finish().await?;
        length += batch.len() as u64;
        if batch.is_empty() || length > most {
            return Ok((into, length));
        }
        written.clear();
        std::mem::swap(&mut batch, &mut written);
        writing = Writing::Busy(spawn_blocking(move || {
            into.write_all(&written)?;
            Ok((into, written))
        }));
    }
}

/// Where the bytes go, and the buffer that was last written there.
enum Writing<W> {
    Idle(W, Vec<u8>),
    Busy(JoinHandle<io::Result<(W, Vec<u8>)>>),
}

impl<W> Writing<W> {
    async fn finish(self) -> io::Result<(W, Vec<u8>)> {
        match self {
            Self::Idle(into, buffer) => Ok((into, buffer)),
            Self::Busy(writing) => writing.await.map_err(io::Error::other).flatten(),
        }
    }
}

/// Fills a buffer, or takes what is left. `rest` is what the last piece has too much.
async fn gather(batch: &mut Vec<u8>, rest: &mut Bytes, bytes: &mut ByteStream) -> io::Result<()> {
    while batch.len() < BATCH_BYTES {
        if rest.is_empty() {
            let Some(piece) = bytes.next().await else { break };
            *rest = piece?;
        }
        let count = rest.len().min(BATCH_BYTES - batch.len());
        batch.extend_from_slice(&rest.split_to(count));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;

    fn pieces(whole: &[u8], size: usize) -> ByteStream {
        let pieces: Vec<_> =
            whole.chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        stream::iter(pieces).boxed()
    }

    #[tokio::test]
    async fn bytes_in_pieces_of_any_size_arrive_whole() {
        let whole: Vec<u8> = (0u32..).flat_map(u32::to_le_bytes).take(3_000_000).collect();
        for size in [1_usize, 4096, 100_000, 1 << 20, 5_000_000] {
            let whole = if size == 1 { &whole[..5000] } else { &whole[..] };
            let (into, length) = pour(Vec::new(), pieces(whole, size), u64::MAX).await.unwrap();
            assert_eq!(length, whole.len() as u64);
            assert!(into == whole, "in pieces of {size}");
        }
    }

    #[tokio::test]
    async fn what_is_longer_than_it_may_be_is_not_read_to_its_end() {
        let endless = stream::repeat_with(|| Ok(Bytes::from_static(&[0; 4096]))).boxed();
        let (into, length) = pour(Vec::new(), endless, 5_000_000).await.unwrap();
        assert!(length > 5_000_000 && into.len() <= 5_000_000);
        let (into, length) = pour(Vec::new(), pieces(&[7; 4096], 100), 4096).await.unwrap();
        assert_eq!((into.len(), length), (4096, 4096));
    }
}

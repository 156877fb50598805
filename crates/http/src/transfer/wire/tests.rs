use super::*;
use crate::transfer::sendfile::stand_in;
use std::io::Write;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (ours, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
    (ours.unwrap(), accepted.unwrap().0)
}

/// A file of this length without two equal stretches, and its bytes.
fn file(length: usize) -> (Arc<File>, Vec<u8>) {
    let bytes: Vec<u8> = (0u32..).flat_map(u32::to_le_bytes).take(length).collect();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    (Arc::new(file), bytes)
}

/// Far more than a socket takes at once.
const LENGTH: usize = 40 << 20;
const PIECE: usize = 1 << 20;

/// Sends `<`, the file from its third byte, and `>`, the way HTTP's machinery would.
async fn send(wire: &mut Wire<TcpStream>, outgoing: &Outgoing, file: &Arc<File>) {
    for start in (3..LENGTH).step_by(PIECE) {
        let length = PIECE.min(LENGTH - start);
        outgoing.push(Segment::new(Arc::clone(file), start as u64, length));
        let before = if start == 3 { "<" } else { "" };
        let after = if start + length == LENGTH { ">" } else { "" };
        let mut queue = [Bytes::from(before), stand_in(length), Bytes::from(after)];
        while queue.iter().any(|bytes| !bytes.is_empty()) {
            let slices: Vec<_> = queue.iter().map(|bytes| IoSlice::new(bytes)).collect();
            let mut sent = wire.write_vectored(&slices).await.unwrap();
            assert!(sent > 0);
            for bytes in &mut queue {
                let count = sent.min(bytes.len());
                bytes.advance(count);
                sent -= count;
            }
        }
        assert!(outgoing.lock().is_empty());
    }
}

async fn receive(socket: &mut TcpStream, expected: &[u8]) {
    let mut received = vec![0; expected.len() - 1];
    socket.read_exact(&mut received).await.unwrap();
    assert!(received[0] == b'<' && received[received.len() - 1] == b'>');
    assert!(received[1..received.len() - 1] == expected[3..], "every byte in its place");
}

#[tokio::test]
async fn a_file_takes_the_place_of_its_stand_in() {
    let (file, bytes) = file(LENGTH);
    let (ours, mut theirs) = pair().await;
    let outgoing = Outgoing::default();
    let mut wire = Wire::new(ours, outgoing.clone());
    tokio::join!(send(&mut wire, &outgoing, &file), receive(&mut theirs, &bytes));
}

#[tokio::test]
async fn a_file_the_kernel_does_not_send_is_copied() {
    let (file, bytes) = file(LENGTH);
    let (ours, mut theirs) = pair().await;
    // The kernel refuses to send files to what is opened for appending.
    rustix::fs::fcntl_setfl(&ours, rustix::fs::OFlags::APPEND | rustix::fs::OFlags::NONBLOCK)
        .unwrap();
    let refused = rustix::fs::sendfile(&ours, &file, Some(&mut 0), 1);
    assert_eq!(refused, Err(Errno::INVAL), "or this tests nothing");
    let outgoing = Outgoing::default();
    let mut wire = Wire::new(ours, outgoing.clone());
    tokio::join!(send(&mut wire, &outgoing, &file), receive(&mut theirs, &bytes));
}

#[tokio::test]
async fn a_stand_in_without_a_file_is_never_sent() {
    let (ours, mut theirs) = pair().await;
    let mut wire = Wire::new(ours, Outgoing::default());
    let error = wire.write(&stand_in(10)).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Other);
    let end = stand_in(10).slice(4..);
    let slices = [IoSlice::new(b""), IoSlice::new(&end)];
    assert!(wire.write_vectored(&slices).await.is_err(), "nor any part of it");
    drop(wire);
    assert_eq!(theirs.read(&mut [0; 1]).await.unwrap(), 0);
}

#[tokio::test]
async fn a_file_that_became_shorter_breaks_the_connection() {
    let (file, _) = file(1000);
    file.set_len(10).unwrap();
    let (ours, _theirs) = pair().await;
    let outgoing = Outgoing::default();
    let mut wire = Wire::new(ours, outgoing.clone());
    outgoing.push(Segment::new(file, 5, 500));
    let stand_in = stand_in(500);
    assert_eq!(wire.write(&stand_in).await.unwrap(), 5);
    let error = wire.write(&stand_in[5..]).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_nothing_is_given_up() {
    let (ours, _theirs) = pair().await;
    let mut wire = Wire::new(ours, Outgoing::default());
    let much = vec![0; 1 << 20];
    let error = loop {
        if let Err(error) = wire.write(&much).await {
            break error;
        }
    };
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

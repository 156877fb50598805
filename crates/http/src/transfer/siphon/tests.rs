use std::io::{Read, Seek, SeekFrom};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::super::wire::{Outgoing, Wire};
use super::*;

const LENGTH: usize = 5_000_000;

fn bytes() -> Vec<u8> {
    (0u32..).flat_map(u32::to_le_bytes).take(LENGTH).collect()
}

fn content(mut file: &File) -> Vec<u8> {
    let mut content = Vec::new();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.read_to_end(&mut content).unwrap();
    content
}

/// Draws everything until the sender ends.
async fn draw_all(siphon: &mut Siphon) -> io::Result<usize> {
    let mut total = 0;
    loop {
        match siphon.draw(PIPE_BYTES).await? {
            0 => break,
            count => {
                siphon.settle().await?;
                total += siphon.spill(count, PIPE_BYTES)?;
            }
        }
    }
    siphon.settle().await.map(|()| total)
}

fn socket_of(stream: UnixStream) -> OwnedFd {
    stream.into_std().unwrap().into()
}

#[tokio::test]
async fn every_byte_goes_from_the_socket_into_the_file() {
    let (mut theirs, ours) = UnixStream::pair().unwrap();
    let file = Arc::new(tempfile::tempfile().unwrap());
    (&*file).write_all(b"before").unwrap();
    let mut siphon = Siphon::new(socket_of(ours), Arc::clone(&file)).unwrap();
    let sending = tokio::spawn(async move {
        for piece in bytes().chunks(77_777) {
            theirs.write_all(piece).await.unwrap();
        }
    });
    assert_eq!(draw_all(&mut siphon).await.unwrap(), LENGTH);
    sending.await.unwrap();
    let content = content(&file);
    assert!(content.starts_with(b"before") && content[6..] == bytes());
}

#[tokio::test]
async fn a_file_that_the_kernel_does_not_fill_is_written_to() {
    let (mut theirs, ours) = UnixStream::pair().unwrap();
    let place = tempfile::NamedTempFile::new().unwrap();
    // The kernel moves nothing into what is opened for appending.
    let file = Arc::new(File::options().append(true).read(true).open(place.path()).unwrap());
    let mut siphon = Siphon::new(socket_of(ours), Arc::clone(&file)).unwrap();
    let sending = tokio::spawn(async move { theirs.write_all(&bytes()).await.unwrap() });
    assert_eq!(draw_all(&mut siphon).await.unwrap(), LENGTH);
    sending.await.unwrap();
    assert!(content(&file) == bytes());
}

#[tokio::test]
async fn a_file_that_can_take_no_more_is_told_as_such() {
    let (mut theirs, ours) = UnixStream::pair().unwrap();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut siphon = Siphon::new(socket_of(ours), Arc::new(full)).unwrap();
    let sending = tokio::spawn(async move { theirs.write_all(&bytes()).await.is_ok() });
    let error = draw_all(&mut siphon).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    let mut buffer = vec![0; 4096];
    while siphon.discard(&mut buffer).await.unwrap() > 0 {}
    assert!(sending.await.unwrap(), "what is dropped is read");
}

#[tokio::test]
async fn the_tap_opens_when_nothing_read_before_is_left_and_stays_open() {
    let (mut theirs, ours) = UnixStream::pair().unwrap();
    let tap = Tap::default();
    let mut wire = Wire::new(ours, Outgoing::default()).tapped(tap.clone());
    theirs.write_all(b"head").await.unwrap();
    let mut head = [0; 4];
    wire.read_exact(&mut head).await.unwrap();

    let mut asked = tap.ask();
    assert!(asked.try_recv().is_err() && !tap.is_open());
    theirs.write_all(b"body").await.unwrap();
    let mut byte = [0; 1];
    for _ in 0..2 {
        let read = tokio::select! {
            biased;
            read = wire.read(&mut byte) => Some(read),
            () = std::future::ready(()) => None,
        };
        assert!(read.is_none() && tap.is_open(), "nothing is for HTTP any more");
    }
    let file = Arc::new(tempfile::tempfile().unwrap());
    let mut siphon = Siphon::new(asked.try_recv().unwrap().unwrap(), Arc::clone(&file)).unwrap();
    drop(theirs);
    assert_eq!(draw_all(&mut siphon).await.unwrap(), 4);
    assert_eq!(content(&file), b"body");
}

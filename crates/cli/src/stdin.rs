//! Standard input beside everything else that happens. A read of it cannot be called off, so it happens on a thread of
//! its own that ends with the process.

use std::io::{self, Read};
use std::thread;

use tokio::sync::mpsc;

use crate::failure::Failure;

/// Pieces that wait to be sent.
const WAITING: usize = 4;
/// Bytes of a piece.
const PIECE: usize = 48 << 10;

/// The pieces of standard input as they come; the channel ends with it.
pub(crate) fn pieces() -> Result<mpsc::Receiver<Vec<u8>>, Failure> {
    let (sender, receiver) = mpsc::channel(WAITING);
    let read = move || {
        let mut buffer = vec![0; PIECE];
        let mut stdin = io::stdin().lock();
        loop {
            match stdin.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => {
                    let piece = buffer.get(..count).unwrap_or_default().to_vec();
                    if sender.blocking_send(piece).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    };
    let started = thread::Builder::new().name("stdin".to_owned()).spawn(read);
    started.map_err(|error| Failure::failed(format!("standard input cannot be read: {error}")))?;
    Ok(receiver)
}

/// All of standard input as text.
pub(crate) fn text() -> Result<String, Failure> {
    let mut text = String::new();
    io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Failure::failed(format!("standard input cannot be read: {error}")))?;
    Ok(text)
}

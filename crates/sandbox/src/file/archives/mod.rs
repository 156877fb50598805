//! Directories as archives: packed while they are sent, and unpacked when all of an archive has arrived and proved sound.
//!
//! The work itself is `atoll-archive`'s. Here it meets the callers: bytes that come and go as streams, work that ends
//! when nobody waits for it any more, and refusals in the words of this API.

mod abandon;
mod extract;
mod fault;
mod pack;

#[cfg(test)]
mod tests;

//! Files of any size into the sandbox and out of it.
//!
//! An upload is written beside its destination and takes its place when all of it has arrived; until then nobody sees
//! it, and if it breaks off nothing of it stays. A download hands out the open file; the bytes are moved elsewhere.

mod destination;
mod download;
mod naming;
mod spool;
mod upload;

//! Finding files by name and by content: `atoll-search` behind the operations.
//!
//! A search runs on threads of its own, so many at once and no longer than asked for. It ends when its caller leaves and
//! when the server stops. What it passed over is said beside the answer where it may have been what was looked for.

mod find;
mod glob;
mod grep;
mod hints;
mod refusal;
mod text;
mod turn;

#[cfg(test)]
mod tests;

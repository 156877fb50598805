//! Archives as they go out and come in: packed trees read by others, trees that make the round, and archives made to do
//! harm.

#![expect(clippy::unwrap_used, reason = "test code")]

mod fuzz;
mod hostile;
mod make;
mod mutation;
mod pack;
mod races;
mod rules;
mod scene;
mod sparse;
mod truncated;

//! The desktop with a real X server, window manager and ffmpeg. Those must be installed: tests of what is not there would
//! be no tests.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod films;
mod hands;
mod life;
mod looks;
mod support;

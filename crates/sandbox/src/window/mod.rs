//! Windows: programs with pages of their own, each started on the first visit and again when it died.

mod lab;
mod resident;

pub use lab::Lab;

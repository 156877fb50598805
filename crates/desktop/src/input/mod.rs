//! Mouse and keyboard: what can be done with them, and doing it.

mod action;
mod hands;
mod keyboard;
mod keymap;
mod names;
mod pointer;

pub(crate) use action::Plan;
pub use action::{Action, Button, Performed};
pub(crate) use hands::Hands;
pub use names::key_names;

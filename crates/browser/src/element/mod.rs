//! Elements of a page: found by selector or index, waited for, acted on.
//!
//! The work is done by the engine inside the page (see `js/`): it looks, waits for changes, and says which condition
//! fails. Here is decided which frame to ask, real input is sent, and refusals become errors.

mod actions;
mod elements;
pub(crate) mod engine;
mod error;
mod form;
pub(crate) mod settle;
mod target;
mod wait;

pub use actions::DEFAULT_TIMEOUT;
pub use elements::Elements;
pub(crate) use elements::{Key, Said};
pub use error::ElementError;
pub use form::{FormItem, FormValue, SelectBy, Selected};
pub use target::{Direction, Pointer, State, Target};
pub use wait::Scrolled;

//! Working on a file as root, for callers who ask for it and users who may.
//!
//! A server that is root already just does it. Any other starts its own program again through `sudo -n`, hands over
//! one request and takes back one answer: the same code does the work, with root's rights, and for no longer than
//! somebody waits. Nothing but the four operations below can be asked for.

mod ask;
mod serve;
mod wire;

use std::path::Path;

use atoll_operation::{Context, Error, Operation};

pub use serve::as_root_main;
pub(super) use wire::Task;

use super::desk::Desk;
use super::service::Files;

/// The hidden subcommand that carries out one request.
const SUBCOMMAND: &str = "as-root-file";

/// An operation on a file that may be carried out as root.
pub(super) trait Privileged: Operation {
    /// The short verb.
    const NAME: &'static str;
    /// Whether it changes the file.
    const CHANGES: bool;

    /// Whether root's rights are asked for.
    fn sudo(&self) -> bool;

    /// The path in the request.
    fn file(&mut self) -> &mut String;

    /// Refuses a request that cannot be right, before anything is started for it.
    fn check(&self) -> Result<(), Error>;

    /// Itself as a request to the helper.
    fn task(self) -> Task;

    /// Carries it out with the rights of this process; `path` is what the request's path means.
    fn run(self, desk: &Desk, path: &Path) -> Result<Self::Output, Error>;
}

impl Files {
    /// Carries out an operation, as root where that is asked for.
    pub(super) async fn carry_out<O: Privileged>(
        &self,
        cx: &Context,
        mut input: O,
    ) -> Result<O::Output, Error> {
        let path = self.path(O::NAME, input.file())?;
        if input.sudo() && !rustix::process::geteuid().is_root() {
            return self.ask_root(cx, input, path).await;
        }
        self.at_desk(cx, move |desk| input.run(desk, &path)).await
    }
}

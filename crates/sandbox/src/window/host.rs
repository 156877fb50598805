//! A program that may be switched off, may not be installed, and is otherwise started by whoever visits it first.

use std::fmt::Debug;
use std::path::PathBuf;

use atoll_operation::{Error, Upstream};

use super::resident::{Recipe, Resident, ResidentState, Standing};
use crate::programs::Programs;

/// What is particular about a program behind a window.
pub(crate) trait Guest: Debug + Send + Sync + 'static {
    /// Why the operator wants none, if so.
    fn refusal(&self) -> Option<Error>;

    /// Where it is installed.
    fn program(&self) -> Result<PathBuf, Error>;

    /// How it is started.
    fn recipe(&self, program: PathBuf) -> Result<Recipe, Error>;

    /// How requests are passed to its socket.
    fn upstream(socket: PathBuf) -> Upstream;
}

/// A window on a program.
#[derive(Debug)]
pub(crate) struct Host<G> {
    guest: G,
    resident: Resident,
}

impl<G: Guest> Host<G> {
    /// Starts nothing yet.
    pub(super) fn of(guest: G, programs: &Programs) -> Self {
        Self { guest, resident: Resident::new(programs) }
    }

    /// How the program stands.
    pub(crate) fn state(&self) -> ResidentState {
        if let Some(refusal) = self.guest.refusal() {
            return ResidentState::new(Standing::Disabled).because(refusal.message());
        }
        let state = self.resident.state();
        match (state.standing, self.guest.program()) {
            (Standing::Off, Err(missing)) => {
                ResidentState::new(Standing::Missing).because(missing.message())
            }
            _ => state,
        }
    }

    /// Starts it, and waits until it answers.
    pub(crate) async fn start(&self) -> Result<(), Error> {
        self.visit().await.map(|_| ())
    }

    /// Ends it.
    pub(crate) async fn close(&self) {
        self.resident.close().await;
    }

    /// Where it answers. It is started first where that is needed.
    pub(super) async fn visit(&self) -> Result<Upstream, Error> {
        if let Some(refusal) = self.guest.refusal() {
            return Err(refusal);
        }
        let recipe = self.guest.recipe(self.guest.program()?)?;
        self.resident.visit(recipe).await.map(G::upstream)
    }
}

//! Every capability together: made from one foundation, bound to one registry, stopped at once.

use std::sync::Arc;

use atoll_api::bash::{
    AttachBash, CloseBashSession, CreateBashSession, ExecBash, KillBash, ListBashSessions,
    ReadBashOutput, WriteBash,
};
use atoll_api::shell::{
    AttachShell, CloseAllShells, CloseShell, CreateShell, ExecShell, GetShellStats, GetTerminalUrl,
    KillShell, ListShells, UpdateShell, ViewShell, WaitShell, WriteShell,
};
use atoll_api::system::{GetLimits, GetSandbox, ListNodePackages, ListPythonPackages, Ping};
use atoll_operation::Registry;
use atoll_process::Spawner;

use crate::bash::Bashes;
use crate::foundation::Foundation;
use crate::programs::Programs;
use crate::shell::Shells;
use crate::system::Systems;

/// A sandbox's capabilities.
#[derive(Debug)]
pub struct Sandbox {
    /// Shell sessions.
    pub shells: Arc<Shells>,
    /// Bash sessions.
    pub bashes: Arc<Bashes>,
    /// What the sandbox is.
    pub systems: Arc<Systems>,
    programs: Programs,
}

impl Sandbox {
    /// Builds them without starting any program. Needs a tokio runtime.
    pub fn new(foundation: Foundation, spawner: Spawner) -> Self {
        let systems = Systems::new(&foundation);
        let programs = Programs::new(foundation, spawner);
        Self { shells: Shells::new(&programs), bashes: Bashes::new(&programs), systems, programs }
    }

    /// Binds every operation to the capability that carries it out.
    pub fn bind(&self, registry: &mut Registry) {
        registry
            .bind::<GetSandbox, _>(&self.systems)
            .bind::<ListPythonPackages, _>(&self.systems)
            .bind::<ListNodePackages, _>(&self.systems)
            .bind::<GetLimits, _>(&self.systems)
            .bind::<Ping, _>(&self.systems);
        registry
            .bind::<ExecShell, _>(&self.shells)
            .bind_stream::<ExecShell, _>(&self.shells)
            .bind::<ViewShell, _>(&self.shells)
            .bind_stream::<ViewShell, _>(&self.shells)
            .bind::<WaitShell, _>(&self.shells)
            .bind::<WriteShell, _>(&self.shells)
            .bind::<KillShell, _>(&self.shells)
            .bind::<CreateShell, _>(&self.shells)
            .bind::<UpdateShell, _>(&self.shells)
            .bind::<GetTerminalUrl, _>(&self.shells)
            .bind::<GetShellStats, _>(&self.shells)
            .bind::<ListShells, _>(&self.shells)
            .bind::<CloseAllShells, _>(&self.shells)
            .bind::<CloseShell, _>(&self.shells)
            .bind_conversation::<AttachShell, _>(&self.shells);
        registry
            .bind::<ExecBash, _>(&self.bashes)
            .bind::<ReadBashOutput, _>(&self.bashes)
            .bind::<WriteBash, _>(&self.bashes)
            .bind::<KillBash, _>(&self.bashes)
            .bind::<ListBashSessions, _>(&self.bashes)
            .bind::<CreateBashSession, _>(&self.bashes)
            .bind::<CloseBashSession, _>(&self.bashes)
            .bind_conversation::<AttachBash, _>(&self.bashes);
    }

    /// Ends every session with all its processes, then waits for the tasks that served them: they end because the
    /// foundation's `stop` is cancelled, which the caller has done.
    pub async fn stop(self) {
        tokio::join!(self.shells.close_all(), self.bashes.close_all());
        let tasks = self.programs.tasks();
        tasks.close();
        tasks.wait().await;
    }
}

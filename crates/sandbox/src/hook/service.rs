//! The hooks that are registered, and when they run.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use atoll_api::hook::{
    HookEvent, HookRun, HookSource, ListHooks, RegisterHook, RemoveHook, SandboxHook,
};
use atoll_api::system::Limits;
use atoll_operation::Registry;
use atoll_process::{Piped, Spawner};
use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use super::run::Runner;
use crate::environment::Environment;
use crate::foundation::Foundation;

/// Where the operator's own hooks stand in the order.
const USUAL_PRIORITY: i32 = 100;

/// What the operator wants run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookSettings {
    /// First of all.
    pub init: Option<String>,
    /// When home and workspace are there.
    pub pre_services: Option<String>,
    /// When the server answers.
    pub post_ready: Option<String>,
    /// Before the sandbox ends.
    pub shutdown: Vec<ShutdownHook>,
}

/// A hook the operator wants run before the sandbox ends.
#[derive(Debug, Clone, PartialEq)]
pub struct ShutdownHook {
    /// A unique name.
    pub name: String,
    /// The command.
    pub command: String,
    /// Seconds it may take.
    pub timeout: f64,
    /// Its place in the order.
    pub priority: i32,
}

/// The hooks of a sandbox.
#[derive(Debug)]
pub struct Hooks {
    pub(super) limits: Arc<Limits>,
    pub(super) runner: Runner,
    pub(super) workspace: PathBuf,
    stop: CancellationToken,
    state: Mutex<State>,
    /// Start-up hooks that have ended, with what they left running.
    kept: Mutex<Vec<Piped>>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) hooks: Vec<SandboxHook>,
    /// The end has begun: no more changes.
    pub(super) stopping: bool,
}

impl Hooks {
    /// Runs nothing yet.
    pub fn new(foundation: &Foundation, spawner: &Spawner, settings: HookSettings) -> Arc<Self> {
        let limits = Arc::clone(&foundation.limits);
        let seconds = seconds(limits.hooks_startup_seconds);
        let startup = [
            (HookEvent::Init, "RUN_HOOK_INIT", settings.init),
            (HookEvent::PreServices, "RUN_HOOK_PRE_SERVICES", settings.pre_services),
            (HookEvent::PostReady, "RUN_HOOK_POST_READY", settings.post_ready),
        ];
        let startup = startup.into_iter().filter_map(|(event, name, command)| {
            Some(hook(event, name.to_owned(), command?, seconds, USUAL_PRIORITY))
        });
        let shutdown = settings.shutdown.into_iter().map(|given| {
            hook(HookEvent::Shutdown, given.name, given.command, given.timeout, given.priority)
        });
        let state = State { hooks: startup.chain(shutdown).collect(), stopping: false };
        Arc::new(Self {
            runner: Runner::new(foundation, spawner),
            workspace: foundation.workspace.clone(),
            stop: foundation.stop.clone(),
            limits,
            state: Mutex::new(state),
            kept: Mutex::default(),
        })
    }

    /// Binds their operations.
    pub fn bind(self: &Arc<Self>, registry: &mut Registry) {
        registry
            .bind::<RegisterHook, _>(self)
            .bind::<ListHooks, _>(self)
            .bind::<RemoveHook, _>(self);
    }

    /// What hooks see from now on.
    pub fn set_environment(&self, environment: Arc<Environment>) {
        self.runner.set_environment(environment);
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the hook of a moment of the start, if there is one. A hook that fails is logged as loudly as can be, and the
    /// start goes on: a sandbox that runs can be looked into.
    pub async fn start(&self, event: HookEvent) {
        let hooks: Vec<_> =
            self.state().hooks.iter().filter(|hook| hook.event == event).cloned().collect();
        for hook in hooks {
            // Home and workspace may not be there yet.
            let directory =
                if self.workspace.is_dir() { self.workspace.as_path() } else { "/".as_ref() };
            let limit = Duration::from_secs_f64(hook.timeout);
            let run = self.runner.run(&hook, directory, limit);
            let Some((run, left)) = self.stop.run_until_cancelled(run).await else { return };
            self.note(&hook, run);
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).extend(left);
        }
    }

    /// Runs the hooks for the end: by priority, those of the same at once. Returns when all have ended or their time is up.
    pub async fn shutdown(&self) {
        let mut hooks: Vec<_> = {
            let mut state = self.state();
            state.stopping = true;
            let end = |hook: &&SandboxHook| hook.event == HookEvent::Shutdown;
            state.hooks.iter().filter(end).cloned().collect()
        };
        hooks.sort_by(|one, other| (one.priority, &one.name).cmp(&(other.priority, &other.name)));
        let whole = Duration::from_secs(self.limits.hooks_shutdown_seconds);
        let begun = Instant::now();
        for group in hooks.chunk_by(|one, other| one.priority == other.priority) {
            let left = whole.saturating_sub(begun.elapsed());
            if left.is_zero() {
                let names: Vec<_> = group.iter().map(|hook| hook.name.as_str()).collect();
                tracing::error!(
                    hooks = names.join(", "),
                    "not run: the time of all hooks together is up (limit hooks_shutdown_seconds)"
                );
                continue;
            }
            join_all(group.iter().map(async |hook| {
                let limit = Duration::from_secs_f64(hook.timeout).min(left);
                let (run, _ends_here) = self.runner.run(hook, &self.workspace, limit).await;
                self.note(hook, run);
            }))
            .await;
        }
    }

    /// Lets go of what start-up hooks left running.
    pub fn close(&self) {
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        drop(kept);
    }

    /// Keeps a program running until the end.
    pub(super) fn keep(&self, program: Piped) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(program);
    }

    fn note(&self, ran: &SandboxHook, run: HookRun) {
        let mut state = self.state();
        let same = |hook: &&mut SandboxHook| hook.event == ran.event && hook.name == ran.name;
        if let Some(hook) = state.hooks.iter_mut().find(same) {
            hook.run = Some(run);
        }
    }
}

fn hook(
    event: HookEvent,
    name: String,
    command: String,
    timeout: f64,
    priority: i32,
) -> SandboxHook {
    let source = HookSource::Env;
    SandboxHook { name, event, command, timeout, priority, source, run: None }
}

/// A limit as the wire has it.
fn seconds(limit: u64) -> f64 {
    Duration::from_secs(limit.min(u64::from(u32::MAX))).as_secs_f64()
}

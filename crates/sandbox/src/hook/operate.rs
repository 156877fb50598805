//! Hooks registered, listed and removed by callers.

use atoll_api::hook::{
    HookEvent, HookSource, ListHooks, RegisterHook, RegisteredEvent, RemoveHook, SandboxHook,
};
use atoll_operation::{Context, Error, Handle, Kind};

use super::service::{Hooks, State};

impl Handle<RegisterHook> for Hooks {
    async fn handle(&self, _: &Context, input: RegisterHook) -> Result<SandboxHook, Error> {
        let event = match input.event {
            RegisteredEvent::Shutdown => HookEvent::Shutdown,
        };
        let mut state = self.state();
        refuse_changes(&state)?;
        let hook = SandboxHook {
            name: input.name,
            event,
            command: input.command,
            timeout: input.timeout,
            priority: input.priority,
            source: HookSource::Api,
            run: None,
        };
        match position(&state, &hook.name) {
            Some(at) if state.hooks[at].source == HookSource::Env => {
                return Err(from_environment(&hook.name, "replaced"));
            }
            Some(at) => state.hooks[at] = hook.clone(),
            None if state.hooks.len() as u64 >= self.limits.hooks => {
                let message = format!(
                    "there may be {} hooks (limit hooks): remove some, or have ATOLL_LIMIT_HOOKS raised",
                    self.limits.hooks
                );
                return Err(Error::new(Kind::ResourceExhausted, "hooks.too_many", message));
            }
            None => state.hooks.push(hook.clone()),
        }
        Ok(hook)
    }
}

impl Handle<ListHooks> for Hooks {
    async fn handle(&self, _: &Context, input: ListHooks) -> Result<Vec<SandboxHook>, Error> {
        let state = self.state();
        let mut hooks: Vec<_> =
            state.hooks.iter().filter(|hook| hook.event == input.event).cloned().collect();
        hooks.sort_by(|one, other| (one.priority, &one.name).cmp(&(other.priority, &other.name)));
        Ok(hooks)
    }
}

impl Handle<RemoveHook> for Hooks {
    async fn handle(&self, _: &Context, input: RemoveHook) -> Result<SandboxHook, Error> {
        let mut state = self.state();
        let Some(at) = position(&state, &input.name) else {
            let message = format!("there is no hook {:?}", input.name);
            return Err(Error::new(Kind::NotFound, "hooks.not_found", message));
        };
        if state.hooks[at].source == HookSource::Env {
            return Err(from_environment(&input.name, "removed"));
        }
        refuse_changes(&state)?;
        Ok(state.hooks.remove(at))
    }
}

/// Names are unique whatever the moment.
fn position(state: &State, name: &str) -> Option<usize> {
    state.hooks.iter().position(|hook| hook.name == name)
}

fn refuse_changes(state: &State) -> Result<(), Error> {
    if state.stopping {
        let message = "the sandbox is ending: its hooks are running already";
        return Err(Error::new(Kind::FailedPrecondition, "hooks.stopping", message));
    }
    Ok(())
}

fn from_environment(name: &str, done: &str) -> Error {
    let message = format!(
        "the hook {name:?} comes from the server's environment and cannot be {done}; choose another name, or start \
         the server without it"
    );
    Error::new(Kind::FailedPrecondition, "hooks.from_environment", message)
}

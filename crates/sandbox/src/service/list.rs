//! The services as callers see them, once and as they change.

use std::sync::Arc;
use std::time::Duration;

use atoll_api::service::{
    ListServices, ServiceInfo, ServiceKind, ServiceList, ServiceProblem, ServiceState,
};
use atoll_operation::{Context, Error, Event, Handle, Stream, Streaming};
use futures::StreamExt;
use tokio::sync::watch;
use tokio::time::sleep;

use super::load::{Broken, Problem};
use super::part::{Part, PartState};
use super::services::Services;
use super::unit::{Standing, Unit};

/// How often parts are looked at while somebody follows: they do not tell when they change.
const LOOK: Duration = Duration::from_secs(1);

impl Services {
    pub(super) fn list(&self, cx: &Context) -> ServiceList {
        let parts = self.parts.iter().map(|part| part_info(part.as_ref(), cx));
        let table = self.table();
        let units = table.units.iter().map(|unit| unit_info(unit, cx));
        let broken = table.broken.iter().map(broken_info);
        ServiceList {
            services: parts.chain(units).chain(broken).collect(),
            problems: table.problems.iter().map(problem_info).collect(),
            waiting_for_ports: self.waiting.borrow().clone(),
        }
    }
}

impl Handle<ListServices> for Services {
    async fn handle(&self, cx: &Context, _: ListServices) -> Result<ServiceList, Error> {
        Ok(self.list(cx))
    }
}

impl Streaming<ListServices> for Services {
    async fn stream(&self, cx: &Context, _: ListServices) -> Result<Stream, Error> {
        let following = Following {
            services: self.this.upgrade().ok_or_else(gone)?,
            changed: self.surroundings.changed.subscribe(),
            ports: self.waiting.subscribe(),
            cx: cx.clone(),
            told: None,
        };
        Ok(futures::stream::unfold(following, Following::next).boxed())
    }
}

fn gone() -> Error {
    Error::internal("the services are gone", "dropped")
}

struct Following {
    services: Arc<Services>,
    changed: watch::Receiver<u64>,
    ports: watch::Receiver<Vec<u16>>,
    cx: Context,
    told: Option<ServiceList>,
}

impl Following {
    async fn next(mut self) -> Option<(Event, Self)> {
        let stop = self.services.surroundings.programs.foundation().stop.clone();
        loop {
            self.changed.mark_unchanged();
            self.ports.mark_unchanged();
            let list = self.services.list(&self.cx);
            if self.told.as_ref() != Some(&list) {
                let data = serde_json::to_value(&list).unwrap_or_default();
                self.told = Some(list);
                return Some((Event { name: "services", id: None, data }, self));
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return None,
                _ = self.changed.changed() => {}
                _ = self.ports.changed() => {}
                () = sleep(LOOK) => {}
            }
        }
    }
}

pub(super) fn part_info(part: &dyn Part, cx: &Context) -> ServiceInfo {
    let PartState { state, detail, pid, since } = part.state();
    let (path, query) = part.page();
    let usable = !matches!(state, ServiceState::Missing | ServiceState::Disabled);
    ServiceInfo {
        name: part.name().to_owned(),
        title: part.title().to_owned(),
        kind: ServiceKind::Builtin,
        state,
        detail,
        pid,
        since: since.map(|since| format!("{since:.3}")),
        restarts: 0,
        url: usable.then(|| cx.link(path, query)),
        can_start: matches!(state, ServiceState::Off | ServiceState::Failed),
        can_stop: matches!(state, ServiceState::Starting | ServiceState::Running),
    }
}

pub(super) fn unit_info(unit: &Unit, cx: &Context) -> ServiceInfo {
    use ServiceState::{Backoff, Failed, Missing, Off, Running, Starting};
    let Standing { state, detail, pid, since, restarts, .. } = unit.standing();
    let definition = &unit.definition;
    ServiceInfo {
        name: definition.name.clone(),
        title: definition.title.clone().unwrap_or_else(|| definition.name.clone()),
        kind: ServiceKind::User,
        state,
        detail,
        pid,
        since: since.map(|since| format!("{since:.3}")),
        restarts,
        url: definition.port.map(|port| cx.link(&format!("/proxy/{port}/"), &[])),
        can_start: matches!(state, Off | Failed | Missing | Backoff),
        can_stop: matches!(state, Starting | Running | Backoff),
    }
}

fn broken_info(broken: &Broken) -> ServiceInfo {
    ServiceInfo {
        name: broken.name.clone(),
        title: broken.name.clone(),
        kind: ServiceKind::User,
        state: ServiceState::Failed,
        detail: Some(broken.problem.to_string()),
        pid: None,
        since: None,
        restarts: 0,
        url: None,
        can_start: false,
        can_stop: false,
    }
}

fn problem_info(problem: &Problem) -> ServiceProblem {
    ServiceProblem {
        file: problem.file.display().to_string(),
        line: problem.line,
        message: problem.message.clone(),
    }
}

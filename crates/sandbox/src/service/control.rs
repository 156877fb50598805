//! Starting and stopping one service, and reading the files again.

use std::sync::Arc;
use std::time::Duration;

use atoll_api::service::{
    ReloadServices, RestartService, ServiceInfo, ServiceList, ServiceState, StartService,
    StopService,
};
use atoll_operation::{Context, Error, Handle, Kind};
use tokio::time::timeout;

use super::list::{part_info, unit_info};
use super::part::Part;
use super::services::Services;
use super::unit::Unit;

/// How long an answer waits for a service to be up.
const UP: Duration = Duration::from_mins(1);
/// How long an answer waits for a service to be gone, beside the time it may take itself.
const GONE: Duration = Duration::from_secs(20);

/// A service that was asked for by name.
pub(super) enum Found {
    Part(Arc<dyn Part>),
    Unit(Arc<Unit>),
}

impl Services {
    pub(super) fn find(&self, name: &str) -> Result<Found, Error> {
        if let Some(part) = self.parts.iter().find(|part| part.name() == name) {
            return Ok(Found::Part(Arc::clone(part)));
        }
        let table = self.table();
        if let Some(unit) = table.find(name) {
            return Ok(Found::Unit(unit));
        }
        if let Some(broken) = table.broken.iter().find(|broken| broken.name == name) {
            let cure = "correct it, then reload the services";
            return Err(not_startable(format!("{name}: {}; {cure}", broken.problem)));
        }
        let parts = self.parts.iter().map(|part| part.name());
        let units = table.units.iter().map(|unit| unit.definition.name.as_str());
        let known: Vec<_> = parts.chain(units).collect();
        Err(Error::new(
            Kind::NotFound,
            "service.not_found",
            format!("there is no service {name:?}; there are: {}", known.join(", ")),
        ))
    }

    /// Starts a part; goes on when the caller leaves, since half a start is of no use.
    async fn start_part(&self, part: &Arc<dyn Part>) -> Result<(), Error> {
        let before = part.state();
        if matches!(before.state, ServiceState::Disabled | ServiceState::Missing) {
            let reason = before.detail.unwrap_or_default();
            return Err(not_startable(format!("{} cannot be started: {reason}", part.name())));
        }
        if before.state == ServiceState::Running {
            return Ok(());
        }
        let starting = Arc::clone(part);
        let tasks = self.surroundings.programs.tasks();
        let started = tasks.spawn(async move { starting.start().await });
        if let Ok(Ok(Err(error))) = timeout(UP, started).await {
            tracing::warn!(part = part.name(), %error, "a part of the sandbox did not start");
        }
        Ok(())
    }
}

/// Starts a unit, or only waits for one that is on its way; again when it shall be.
async fn start_unit(unit: &Unit, again: bool) {
    let state = unit.standing().state;
    let up = matches!(state, ServiceState::Running | ServiceState::Starting);
    let order = if up && !again { unit.latest_order() } else { unit.order_start() };
    // Whatever came of it, the answer tells how it stands.
    let _in_time = timeout(UP, unit.answered(order)).await;
}

async fn stop_unit(unit: &Unit) {
    let order = unit.order_stop();
    let _in_time = timeout(unit.definition.stop_time + GONE, unit.answered(order)).await;
}

fn not_startable(message: String) -> Error {
    Error::new(Kind::FailedPrecondition, "service.not_startable", message)
}

impl Handle<StartService> for Services {
    async fn handle(&self, cx: &Context, input: StartService) -> Result<ServiceInfo, Error> {
        match self.find(&input.name)? {
            Found::Part(part) => {
                self.start_part(&part).await?;
                Ok(part_info(part.as_ref(), cx))
            }
            Found::Unit(unit) => {
                start_unit(&unit, false).await;
                Ok(unit_info(&unit, cx))
            }
        }
    }
}

impl Handle<StopService> for Services {
    async fn handle(&self, cx: &Context, input: StopService) -> Result<ServiceInfo, Error> {
        match self.find(&input.name)? {
            Found::Part(part) => {
                let _in_time = timeout(UP, part.stop()).await;
                Ok(part_info(part.as_ref(), cx))
            }
            Found::Unit(unit) => {
                stop_unit(&unit).await;
                Ok(unit_info(&unit, cx))
            }
        }
    }
}

impl Handle<RestartService> for Services {
    async fn handle(&self, cx: &Context, input: RestartService) -> Result<ServiceInfo, Error> {
        match self.find(&input.name)? {
            Found::Part(part) => {
                let _in_time = timeout(UP, part.stop()).await;
                self.start_part(&part).await?;
                Ok(part_info(part.as_ref(), cx))
            }
            Found::Unit(unit) => {
                start_unit(&unit, true).await;
                Ok(unit_info(&unit, cx))
            }
        }
    }
}

impl Handle<ReloadServices> for Services {
    async fn handle(&self, cx: &Context, _: ReloadServices) -> Result<ServiceList, Error> {
        let services = self.this.upgrade();
        if let Some(services) = services {
            // Goes on when the caller leaves: half of the files would be followed.
            let tasks = self.surroundings.programs.tasks();
            let loaded = tasks.spawn(async move { services.load().await });
            let _in_time = timeout(UP, loaded).await;
        }
        Ok(self.list(cx))
    }
}

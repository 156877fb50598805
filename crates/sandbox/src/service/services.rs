//! [`Services`]: every service of the sandbox, and what happens to all of them at once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use atoll_observe::Journal;
use futures::future::join_all;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::load::{Loaded, Sources, load};
use super::part::Part;
use super::table::{Table, by_priority};
use super::unit::{Surroundings, Unit};
use crate::programs::Programs;

/// How long the start of one service may hold up those of a higher priority.
const LAUNCH: Duration = Duration::from_secs(10);

/// Where services are set up, as the operator chose.
#[derive(Debug, Clone, Default)]
pub struct ServiceSettings {
    /// Directory with supervisord's `*.conf` files.
    pub conf_dir: Option<PathBuf>,
    /// Our own file; one in the home is looked for otherwise.
    pub file: Option<PathBuf>,
    /// Ports that services shall listen on before the sandbox says that it is ready.
    pub wait_ports: Vec<u16>,
    /// Variables of the server's that services may see beside what every program gets.
    pub variables: BTreeMap<String, String>,
}

/// Every service of the sandbox.
#[derive(Debug)]
pub struct Services {
    pub(super) parts: Vec<Arc<dyn Part>>,
    pub(super) surroundings: Surroundings,
    pub(super) waiting: watch::Sender<Vec<u16>>,
    pub(super) wait_ports: Vec<u16>,
    /// Itself, for what goes on when a caller leaves.
    pub(super) this: Weak<Self>,
    sources: Sources,
    table: Mutex<Table>,
    /// Files are read, and everything is stopped, one after the other.
    changing: tokio::sync::Mutex<Phase>,
}

#[derive(Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Nothing is started any more.
    Over,
}

impl Services {
    /// Starts nothing and reads nothing yet.
    pub fn new(
        programs: &Programs,
        journal: &Arc<Journal>,
        parts: Vec<Arc<dyn Part>>,
        settings: ServiceSettings,
    ) -> Arc<Self> {
        let foundation = programs.foundation();
        let own = foundation.home.join(".config/atoll/services.toml");
        let mut variables = programs.environment(None);
        variables.extend(settings.variables.clone());
        let sources = Sources {
            conf_dir: settings.conf_dir,
            file_expected: settings.file.is_some(),
            file: Some(settings.file.unwrap_or(own)),
            directory: foundation.workspace.clone(),
            variables,
            taken: parts.iter().map(|part| part.name()).collect(),
            most: usize::try_from(foundation.limits.services).unwrap_or(usize::MAX),
        };
        let surroundings = Surroundings {
            programs: programs.clone(),
            variables: Arc::new(settings.variables),
            journal: Arc::clone(journal),
            changed: watch::Sender::default(),
            hurry: CancellationToken::new(),
        };
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            parts,
            surroundings,
            waiting: watch::Sender::default(),
            wait_ports: settings.wait_ports,
            sources,
            table: Mutex::default(),
            changing: tokio::sync::Mutex::new(Phase::Open),
        })
    }

    /// Reads the files and starts what shall start with the server, by priority. Later, the same reads them again.
    pub async fn load(&self) {
        let phase = self.changing.lock().await;
        if *phase == Phase::Over {
            return;
        }
        let sources = self.sources.clone();
        let loaded = tokio::task::spawn_blocking(move || load(&sources)).await;
        let loaded = loaded.unwrap_or_else(|_| Loaded::default());
        for problem in &loaded.problems {
            tracing::warn!("services: {problem}");
        }
        let change = self.table().follow(loaded, &self.surroundings);
        self.surroundings.changed.send_modify(|count| *count += 1);
        end(&change.gone).await;
        for group in by_priority(&change.fresh) {
            let orders = group.iter().map(|unit| (unit, unit.order_start()));
            let launches: Vec<_> = orders.map(|(unit, order)| unit.launched(order)).collect();
            if timeout(LAUNCH, join_all(launches)).await.is_err() {
                tracing::warn!(
                    "some services take their time to start; others are not kept waiting"
                );
            }
        }
    }

    /// Ends every service of users, the last started first, and starts none any more. Takes as long as their stop times
    /// say, up to the limit.
    pub async fn close(&self) {
        let bound = self.surroundings.programs.foundation().limits.services_stop_seconds;
        let ended = async {
            let mut phase = self.changing.lock().await;
            *phase = Phase::Over;
            let units = self.table().units.clone();
            for group in by_priority(&units).iter().rev() {
                end(group).await;
            }
        };
        if timeout(Duration::from_secs(bound), ended).await.is_err() {
            tracing::warn!("services did not end in time; they are killed");
        }
        self.surroundings.hurry.cancel();
        // Those whose turn had not come yet.
        for unit in &self.table().units {
            unit.order_end();
        }
        for unit in &self.table().units {
            unit.order_end();
        }
    }

    pub(super) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn end(units: &[Arc<Unit>]) {
    let orders: Vec<_> = units.iter().map(|unit| (unit, unit.order_end())).collect();
    join_all(orders.iter().map(|(unit, order)| unit.answered(*order))).await;
}

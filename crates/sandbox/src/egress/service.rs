//! What the operations on the proxy share.

use std::sync::Arc;
use std::time::Duration;

use atoll_egress::{Egress, Limits, Means, OwnPorts, Setup};
use atoll_operation::{Error, Kind};

use super::command::Commands;
use super::error::unavailable;
use crate::programs::Programs;
use crate::window::InternalPorts;

/// How the operator wants the way out.
#[derive(Debug, Clone, Default)]
pub struct EgressSettings {
    /// Offer no proxy: everything connects for itself.
    pub off: bool,
    /// What is chosen from the start.
    pub setup: Setup,
}

/// The proxy capability.
#[derive(Debug)]
pub struct Proxies {
    pub(super) egress: Egress,
}

impl Proxies {
    /// Listens nowhere yet.
    pub fn new(egress: &Egress) -> Arc<Self> {
        Arc::new(Self { egress: egress.clone() })
    }

    /// The mechanism, made before whatever starts programs: those ask it for their environment.
    pub(crate) fn mechanism(
        programs: &Programs,
        internal_ports: &Arc<InternalPorts>,
        settings: EgressSettings,
    ) -> Egress {
        let foundation = programs.foundation();
        let bounds = &foundation.limits;
        let count = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        let means = Means {
            tasks: programs.tasks().clone(),
            stop: foundation.stop.clone(),
            commands: Arc::new(Commands::new(programs)),
            own_ports: Arc::clone(internal_ports) as Arc<dyn OwnPorts>,
            limits: Limits {
                connections: count(bounds.egress_connections).min(MOST_CONNECTIONS),
                mappings: count(bounds.egress_mappings),
                patterns: count(bounds.egress_patterns),
                refusals: count(bounds.egress_refusals),
                idle_time: Duration::from_secs(bounds.egress_idle_seconds),
                ..Limits::default()
            },
        };
        let EgressSettings { off, setup } = settings;
        let egress = if off { Egress::off(means) } else { Egress::new(setup, means) };
        let listening = egress.downgrade();
        internal_ports.add_source(move || listening.port());
        egress
    }

    /// The mechanism, for a change.
    pub(super) fn changing(&self) -> Result<&Egress, Error> {
        if self.egress.is_off() {
            return Err(Error::new(
                Kind::Unavailable,
                "proxy.disabled",
                "the egress proxy is switched off in this sandbox (ATOLL_EGRESS=off)",
            ));
        }
        Ok(&self.egress)
    }

    /// The port it listens on; it does from now on.
    pub(super) fn port(&self) -> Result<u16, Error> {
        Ok(self.egress.listen().map_err(unavailable)?.port())
    }
}

/// More than any system has files for.
const MOST_CONNECTIONS: usize = 1 << 20;

impl OwnPorts for InternalPorts {
    fn holds(&self, port: u16) -> bool {
        self.contains(port)
    }
}

//! What may be reached, and what was refused.

use atoll_api::proxy::{
    EgressDefault, EgressPolicy, EgressRefusal, EgressRefusals, GetPolicy, ListRefusals, SetPolicy,
};
use atoll_egress::{Policy, Refusal};
use atoll_operation::{Context, Error, Handle};
use jiff::Timestamp;

use super::error::failure;
use super::lists::texts;
use super::service::Proxies;

/// Told when a caller does not say how many.
const TOLD: u32 = 100;

impl Handle<GetPolicy> for Proxies {
    async fn handle(&self, _: &Context, _: GetPolicy) -> Result<EgressPolicy, Error> {
        Ok(shown(&self.egress.setup().policy))
    }
}

impl Handle<SetPolicy> for Proxies {
    async fn handle(&self, _: &Context, input: SetPolicy) -> Result<EgressPolicy, Error> {
        let egress = self.changing()?;
        self.port()?;
        let policy = Policy {
            deny_by_default: input.default == EgressDefault::Deny,
            allow: egress.rules("allowed patterns", &input.allow).map_err(failure)?,
            deny: egress.rules("denied patterns", &input.deny).map_err(failure)?,
            allow_metadata: input.allow_metadata,
        };
        let told = shown(&policy);
        egress.set_policy(policy);
        Ok(told)
    }
}

impl Handle<ListRefusals> for Proxies {
    async fn handle(&self, _: &Context, input: ListRefusals) -> Result<EgressRefusals, Error> {
        let most = usize::try_from(input.limit.unwrap_or(TOLD)).unwrap_or(usize::MAX);
        let (latest, total) = self.egress.refusals(most);
        Ok(EgressRefusals { refusals: latest.into_iter().map(told).collect(), total })
    }
}

fn shown(policy: &Policy) -> EgressPolicy {
    EgressPolicy {
        default: if policy.deny_by_default { EgressDefault::Deny } else { EgressDefault::Allow },
        allow: texts(&policy.allow),
        deny: texts(&policy.deny),
        allow_metadata: policy.allow_metadata,
    }
}

fn told(refusal: Refusal) -> EgressRefusal {
    EgressRefusal {
        at: Timestamp::try_from(refusal.at).unwrap_or_default().to_string(),
        via: refusal.way.as_str().to_owned(),
        host: refusal.host,
        port: refusal.port,
        address: refusal.address.map(|address| address.to_string()),
        reason: refusal.reason,
    }
}

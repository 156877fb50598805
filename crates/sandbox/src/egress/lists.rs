//! Who meets the upstream proxy and who does not.

use atoll_api::proxy::{AddExclude, ListExcludes, ListIncludes, RemoveExclude, SetIncludes};
use atoll_egress::Rule;
use atoll_operation::{Context, Error, Handle, Kind};

use super::error::failure;
use super::service::Proxies;

impl Handle<ListExcludes> for Proxies {
    async fn handle(&self, _: &Context, _: ListExcludes) -> Result<Vec<String>, Error> {
        Ok(texts(&self.egress.setup().excludes))
    }
}

impl Handle<AddExclude> for Proxies {
    async fn handle(&self, _: &Context, input: AddExclude) -> Result<Vec<String>, Error> {
        self.changing()?.add_exclude(&input.pattern).map_err(failure)?;
        Ok(texts(&self.egress.setup().excludes))
    }
}

impl Handle<RemoveExclude> for Proxies {
    async fn handle(&self, _: &Context, input: RemoveExclude) -> Result<Vec<String>, Error> {
        if self.changing()?.remove_exclude(&input.pattern) {
            return Ok(texts(&self.egress.setup().excludes));
        }
        let shown: String = input.pattern.chars().take(200).collect();
        Err(Error::new(
            Kind::NotFound,
            "proxy.exclude_not_found",
            format!("{shown:?} is not excluded; GET /v1/proxy/excludes lists what is"),
        ))
    }
}

impl Handle<ListIncludes> for Proxies {
    async fn handle(&self, _: &Context, _: ListIncludes) -> Result<Vec<String>, Error> {
        Ok(texts(&self.egress.setup().includes))
    }
}

impl Handle<SetIncludes> for Proxies {
    async fn handle(&self, _: &Context, input: SetIncludes) -> Result<Vec<String>, Error> {
        self.changing()?.set_includes(&input.patterns).map_err(failure)?;
        Ok(texts(&self.egress.setup().includes))
    }
}

pub(super) fn texts(rules: &[Rule]) -> Vec<String> {
    rules.iter().map(|rule| rule.text().to_owned()).collect()
}

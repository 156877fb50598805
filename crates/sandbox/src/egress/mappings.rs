//! Hosts that are answered elsewhere.

use atoll_api::proxy::{AddMapping, ListMappings, MappingRoute, RemoveMapping, RemovedMapping};
use atoll_egress::Mapping;
use atoll_operation::{Context, Error, Handle, Kind};

use super::error::failure;
use super::service::Proxies;

impl Handle<ListMappings> for Proxies {
    async fn handle(&self, _: &Context, _: ListMappings) -> Result<Vec<MappingRoute>, Error> {
        let setup = self.egress.setup();
        if setup.mappings.is_empty() {
            return Ok(Vec::new());
        }
        let port = self.port()?;
        Ok(setup.mappings.iter().map(|mapping| route(mapping, port)).collect())
    }
}

impl Handle<AddMapping> for Proxies {
    async fn handle(&self, _: &Context, input: AddMapping) -> Result<MappingRoute, Error> {
        let egress = self.changing()?;
        let port = self.port()?;
        let mapping = egress.add_mapping(&input.source, &input.target).map_err(failure)?;
        Ok(route(&mapping, port))
    }
}

impl Handle<RemoveMapping> for Proxies {
    async fn handle(&self, _: &Context, input: RemoveMapping) -> Result<RemovedMapping, Error> {
        let RemoveMapping { source } = input;
        if self.changing()?.remove_mapping(&source) {
            return Ok(RemovedMapping { source });
        }
        let shown: String = source.chars().take(200).collect();
        Err(Error::new(
            Kind::NotFound,
            "proxy.mapping_not_found",
            format!(
                "there is no mapping of {shown:?}; GET /v1/proxy/mappings lists those there are"
            ),
        ))
    }
}

pub(super) fn route(mapping: &Mapping, port: u16) -> MappingRoute {
    MappingRoute {
        source: mapping.source.clone(),
        target: mapping.target.clone(),
        source_host: mapping.source_host().to_owned(),
        source_path: mapping.source_path(),
        internal_port: port,
    }
}

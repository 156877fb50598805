//! Which way something goes, whether all is well, and the same as a script for browsers.

use atoll_api::proxy::{CheckProxy, DiagnoseUrl, Diagnosis, GetProxyPac, ProxyHealth};
use atoll_operation::{Content, Context, Error, Fetch, Handle, Kind, Source};

use super::mappings::route;
use super::service::Proxies;

const MEDIA_TYPE: &str = "application/x-ns-proxy-autoconfig";

impl Handle<DiagnoseUrl> for Proxies {
    async fn handle(&self, _: &Context, input: DiagnoseUrl) -> Result<Diagnosis, Error> {
        let found = self.egress.diagnose(&input.url).await.map_err(|error| {
            Error::new(Kind::InvalidArgument, "proxy.invalid_url", error.to_string())
        })?;
        let port = self.egress.address().map_or(0, |address| address.port());
        Ok(Diagnosis {
            url: input.url,
            matched_mapping: found.mapping.map(|mapping| route(&mapping, port)),
            resolved_target: found.target,
            target_reachable: found.reachable,
            route: found.route.to_owned(),
            problem: found.problem,
        })
    }
}

impl Handle<CheckProxy> for Proxies {
    async fn handle(&self, _: &Context, _: CheckProxy) -> Result<ProxyHealth, Error> {
        let health = self.egress.health().await;
        let mut inconsistencies = health.contradictions;
        if self.egress.is_off() {
            inconsistencies.push("the proxy is switched off (ATOLL_EGRESS=off)".to_owned());
        }
        let config_consistent = inconsistencies.is_empty();
        Ok(ProxyHealth {
            healthy: health.listening && config_consistent,
            gost_alive: health.listening,
            nginx_alive: health.listening,
            config_consistent,
            inconsistencies,
        })
    }
}

impl Fetch<GetProxyPac> for Proxies {
    async fn fetch(&self, _: &Context, _: GetProxyPac) -> Result<Content, Error> {
        Ok(Content {
            media_type: MEDIA_TYPE.to_owned(),
            filename: Some("proxy.pac".to_owned()),
            inline: true,
            version: None,
            headers: Vec::new(),
            source: Source::Bytes(self.egress.pac().into()),
        })
    }
}

//! The proxy behind the sandbox's own.

use atoll_api::proxy::{GetUpstream, RemoveUpstream, RemovedUpstream, SetUpstream, UpstreamInfo};
use atoll_egress::{Protocol, Upstream};
use atoll_operation::{Context, Error, Handle, Kind};

use super::error::failure;
use super::service::Proxies;

impl Handle<GetUpstream> for Proxies {
    async fn handle(&self, _: &Context, _: GetUpstream) -> Result<Option<UpstreamInfo>, Error> {
        match &self.egress.setup().upstream {
            Some(upstream) => Ok(Some(shown(upstream).await)),
            None => Ok(None),
        }
    }
}

impl Handle<SetUpstream> for Proxies {
    async fn handle(&self, _: &Context, input: SetUpstream) -> Result<UpstreamInfo, Error> {
        let egress = self.changing()?;
        self.port()?;
        let command = input.auth_cmd.as_deref();
        egress.set_upstream(&input.server, command).await.map_err(failure)?;
        match &egress.setup().upstream {
            Some(upstream) => Ok(shown(upstream).await),
            None => Err(Error::new(
                Kind::Conflict,
                "proxy.invalid_upstream",
                "the upstream proxy was removed by another call at the same time; set it again",
            )),
        }
    }
}

impl Handle<RemoveUpstream> for Proxies {
    async fn handle(&self, _: &Context, _: RemoveUpstream) -> Result<RemovedUpstream, Error> {
        Ok(RemovedUpstream { removed: self.changing()?.remove_upstream() })
    }
}

async fn shown(upstream: &Upstream) -> UpstreamInfo {
    let (username, password) = upstream.credentials_shown().await.unzip();
    let protocol = match upstream.protocol {
        Protocol::Http => "http",
        Protocol::Socks => "socks5",
    };
    UpstreamInfo {
        addr: upstream.address(),
        username,
        password: password.flatten().map(str::to_owned),
        protocol: protocol.to_owned(),
        auth_cmd: upstream.has_command(),
    }
}

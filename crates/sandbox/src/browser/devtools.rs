//! The browser's own protocol, for clients that speak it.

use std::net::{IpAddr, SocketAddr};

use atoll_api::window::{ListDevTools, OpenDevTools};
use atoll_operation::{Context, Error, Kind, Open, Upstream};

use super::error::failure;
use super::service::Browsers;

impl Open<OpenDevTools> for Browsers {
    async fn open(&self, _: &Context, _: OpenDevTools) -> Result<Upstream, Error> {
        self.devtools().await
    }
}

impl Open<ListDevTools> for Browsers {
    async fn open(&self, _: &Context, _: ListDevTools) -> Result<Upstream, Error> {
        self.devtools().await
    }
}

impl Browsers {
    async fn devtools(&self) -> Result<Upstream, Error> {
        let endpoint = self.browser()?.debug_endpoint().await.map_err(failure)?;
        let host: IpAddr = endpoint.host.parse().map_err(|_| {
            let message = format!("the browser listens on {}, which is no address", endpoint.host);
            Error::new(Kind::Internal, "internal", message)
        })?;
        Ok(Upstream::DevTools(SocketAddr::new(host, endpoint.port)))
    }
}

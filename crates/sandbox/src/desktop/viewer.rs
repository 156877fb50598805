//! The socket viewers connect to.

use atoll_api::desktop::WatchDesktop;
use atoll_operation::{Context, Error, Open, Upstream};

use super::service::Desktops;

impl Open<WatchDesktop> for Desktops {
    async fn open(&self, _: &Context, _: WatchDesktop) -> Result<Upstream, Error> {
        let session = self.session_at_once().await?;
        Ok(Upstream::Rfb(session.rfb_socket().to_owned()))
    }
}

//! Apps that run in the sandbox, and which of its ports are theirs.

use std::sync::Arc;

use atoll_api::window::{OpenAbsolutePreview, OpenApp, OpenPreview};
use atoll_operation::{Context, Error, Kind, Open, Upstream};

use super::internal::InternalPorts;

/// The app's port where the operator names none.
const APP_PORT: u16 = 9000;

/// The windows on apps.
#[derive(Debug)]
pub struct Previews {
    internal: Arc<InternalPorts>,
    app: u16,
}

impl Previews {
    /// Shows every port but these. `app` is the port of the app that needs no port to be named.
    pub fn new(internal: &Arc<InternalPorts>, app: Option<u16>) -> Arc<Self> {
        Arc::new(Self { internal: Arc::clone(internal), app: app.unwrap_or(APP_PORT) })
    }

    fn show(&self, port: u16, strip: bool) -> Result<Upstream, Error> {
        if self.internal.contains(port) {
            let message = format!("port {port} belongs to the sandbox itself and is not shown");
            return Err(Error::new(Kind::PermissionDenied, "preview.internal_port", message)
                .with_hint("Use the operation or page that is meant for it."));
        }
        Ok(Upstream::App { port, strip })
    }
}

impl Open<OpenPreview> for Previews {
    async fn open(&self, _: &Context, input: OpenPreview) -> Result<Upstream, Error> {
        self.show(input.port, true)
    }
}

impl Open<OpenAbsolutePreview> for Previews {
    async fn open(&self, _: &Context, input: OpenAbsolutePreview) -> Result<Upstream, Error> {
        self.show(input.port, false)
    }
}

impl Open<OpenApp> for Previews {
    async fn open(&self, _: &Context, _: OpenApp) -> Result<Upstream, Error> {
        self.show(self.app, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_sandboxs_own_ports_are_not_shown() {
        let internal = Arc::new(InternalPorts::default());
        let previews = Previews::new(&internal, None);
        let cx = Context::new("test");
        let shown = previews.open(&cx, OpenPreview { port: 3000 }).await.unwrap();
        assert_eq!(shown, Upstream::App { port: 3000, strip: true });
        let shown = previews.open(&cx, OpenApp {}).await.unwrap();
        assert_eq!(shown, Upstream::App { port: APP_PORT, strip: true });
        internal.add(3000);
        internal.add(APP_PORT);
        let refused = previews.open(&cx, OpenAbsolutePreview { port: 3000 }).await.unwrap_err();
        assert_eq!(refused.code(), "preview.internal_port");
        assert!(previews.open(&cx, OpenApp {}).await.is_err());
    }
}

//! The desktop as what the browser shows itself on.

use std::sync::Arc;

use atoll_browser::{Scene, Stage};
use atoll_desktop::Desktop;
use futures::future::BoxFuture;

use super::service::DesktopSettings;

/// Shows the browser on the desktop, once that was needed or when it always shall. Otherwise the browser has no window.
#[derive(Debug)]
pub(crate) struct DesktopStage {
    desktop: Arc<Desktop>,
    always: bool,
}

impl DesktopStage {
    /// The stage, unless the desktop is switched off.
    pub(crate) fn of(desktop: &Arc<Desktop>, settings: &DesktopSettings) -> Option<Arc<dyn Stage>> {
        if settings.disabled {
            return None;
        }
        let always = settings.browser_always;
        Some(Arc::new(Self { desktop: Arc::clone(desktop), always }))
    }
}

impl Stage for DesktopStage {
    fn enter(&self) -> BoxFuture<'_, Option<Scene>> {
        Box::pin(async {
            let wanted = self.always || self.desktop.was_started();
            if !wanted || !self.desktop.is_installed() {
                return None;
            }
            let entered = async {
                let session = self.desktop.session().await?;
                let size = session.size().await?;
                Ok::<_, atoll_desktop::Error>(Scene {
                    display: session.display().to_owned(),
                    environment: session.environment(),
                    window: (size.width.into(), size.height.into()),
                })
            };
            let entered = entered.await;
            if let Err(error) = &entered {
                tracing::warn!(%error, "the browser starts without a window");
            }
            entered.ok()
        })
    }

    fn size(&self) -> (u32, u32) {
        let size = self.desktop.size();
        (size.width.into(), size.height.into())
    }
}

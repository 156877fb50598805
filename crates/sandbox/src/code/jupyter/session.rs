//! A session in the table.

use std::path::PathBuf;
use std::sync::Arc;

use atoll_kernel::{Host, KernelSpec};

/// A kernel's session, in the words of the table.
#[derive(Debug)]
pub(crate) struct Session(pub(super) atoll_kernel::Session);

impl Session {
    pub(super) fn new(host: &Arc<Host>, spec: Arc<KernelSpec>, directory: PathBuf) -> Self {
        Self(atoll_kernel::Session::new(host, spec, directory))
    }

    /// Name of the kernel it runs.
    pub(super) fn kernel_name(&self) -> &str {
        &self.0.spec().name
    }
}

impl crate::session::Session for Session {
    fn busy(&self) -> bool {
        self.0.busy()
    }

    async fn close(&self) {
        self.0.close().await;
    }
}

//! Which kernels there are.

use atoll_api::jupyter::{GetJupyterInfo, JupyterInfo};
use atoll_kernel::{KernelSpec, PYTHON};
use atoll_operation::{Context, Error, Handle};

use super::error::CURE;
use super::service::Jupyters;

impl Handle<GetJupyterInfo> for Jupyters {
    async fn handle(&self, _cx: &Context, _input: GetJupyterInfo) -> Result<JupyterInfo, Error> {
        let kernels = self.catalogue.list().await;
        let default = match self.default_kernel().await {
            Ok(spec) => spec.name,
            Err(_) => PYTHON.to_owned(),
        };
        let limits = &self.programs.foundation().limits;
        Ok(JupyterInfo {
            default_kernel: default,
            description: describe(&kernels),
            kernel_detection: detection(&kernels),
            available_kernels: kernels.into_iter().map(|kernel| kernel.name).collect(),
            active_sessions: u64::try_from(self.count()).unwrap_or(u64::MAX),
            session_timeout_seconds: limits.jupyter_idle_seconds,
            max_sessions: limits.jupyter_sessions,
        })
    }
}

fn describe(kernels: &[KernelSpec]) -> String {
    if kernels.is_empty() {
        return format!("Jupyter kernels run code in sessions that keep its state, but {CURE}");
    }
    let names: Vec<_> =
        kernels.iter().map(|kernel| format!("{} ({})", kernel.name, kernel.display_name)).collect();
    format!("Jupyter kernels run code in sessions that keep its state: {}", names.join(", "))
}

fn detection(kernels: &[KernelSpec]) -> String {
    let mut programs: Vec<_> = kernels.iter().map(KernelSpec::program).collect();
    programs.sort_unstable();
    programs.dedup();
    let found = if programs.is_empty() {
        "none was found".to_owned()
    } else {
        format!("they run {}", programs.join(", "))
    };
    format!(
        "every Python on PATH that can import ipykernel, and every kernel.json in Jupyter's data directories; {found}"
    )
}

//! Windows for people: programs with pages of their own, started on first visit.

use atoll_operation::{Declaration, Spec, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[Declaration::of_window::<OpenLab>()];

/// JupyterLab: notebooks in the workspace, for people.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct OpenLab {}

impl Window for OpenLab {
    const SPEC: Spec = Spec::window("jupyter_lab", "/jupyter", "jupyter:write").errors(&[
        "lab.disabled",
        "lab.missing",
        "lab.failed",
    ]);
}

//! Jupyter: code in kernels, in sessions that keep their state.

mod error;
mod execute;
mod follow;
mod info;
mod manage;
mod outputs;
mod run;
mod service;
mod session;

pub(crate) use run::{Answer, Request};
pub use service::{JupyterSettings, Jupyters};

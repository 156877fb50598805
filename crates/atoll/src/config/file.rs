//! The configuration file: TOML, with the settings' own names. An unknown key is an error, since it would be a typing
//! mistake that silently does nothing.

use std::path::{Path, PathBuf};

use super::ConfigError;
use super::layer::{self, Layer};

/// Reads the file. Paths in it are meant from the directory it lies in.
pub(crate) fn read(path: &Path) -> Result<Layer, ConfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
    let wrong = |message: String| ConfigError::Wrong { path: path.to_owned(), message };
    let mut layer: Layer = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    for name in layer.limits.keys() {
        layer::check_limit(name, || format!("key limits.{name}"))
            .map_err(|error| wrong(error.to_string()))?;
    }
    let directory = path.parent().unwrap_or(Path::new(""));
    let paths = [&mut layer.home, &mut layer.workspace, &mut layer.runtime_dir, &mut layer.log_dir];
    for given in paths
        .into_iter()
        .flatten()
        .chain(layer.auth.paths())
        .chain(&mut layer.mcp.servers)
        .chain(&mut layer.hooks.init_dir)
        .chain(&mut layer.skills.path)
        .chain(&mut layer.services.conf_dir)
        .chain(&mut layer.services.file)
        .chain(&mut layer.observe.report_dir)
        .chain(&mut layer.windows.code_server)
    {
        *given = directory.join(std::mem::take::<PathBuf>(given));
    }
    Ok(layer)
}

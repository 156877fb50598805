//! Init scripts of an image: every file of a directory, in the order of their names, before anything is served.
//!
//! A `*.sh` that may be executed is run, one that may not is sourced, so that what it exports is there for everything
//! that runs later; other files are run if they may be executed. The first that fails stops the start.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atoll_process::Exit;
use rustix::fs::{Access, access};

use super::run::last_words;
use super::service::Hooks;

/// Runs the files given as arguments; the first two are where to say which one it is at, and where to leave variables.
/// Files are told apart beforehand: a letter before each path says what to do.
const DRIVER: &str = r#"exec 2>&1
set -e
__atoll_at=$1 __atoll_exports=$2
shift 2
for __atoll_file in "$@"; do
    printf %s "${__atoll_file:2}" >"$__atoll_at"
    case $__atoll_file in
        s:*) . "${__atoll_file:2}" ;;
        x:*) "${__atoll_file:2}" ;;
    esac
done
unset __atoll_at __atoll_file
env -0 >"$__atoll_exports"
"#;

/// Variables that bash sets for itself.
const ITS_OWN: [&str; 5] = ["_", "PWD", "OLDPWD", "SHLVL", "__atoll_exports"];

impl Hooks {
    /// Runs the scripts of a directory. Gives the variables that they have changed, or says what stops the start.
    pub async fn run_scripts(&self, directory: &Path) -> Result<BTreeMap<String, String>, String> {
        let files = plan(directory).map_err(|error| {
            format!("the init scripts in {} cannot be read: {error}", directory.display())
        })?;
        if files.is_empty() {
            return Ok(BTreeMap::new());
        }
        tracing::info!(directory = %directory.display(), count = files.len(), "running init scripts");
        let at = self.runner.directory().join("init-script");
        let exports = self.runner.directory().join("init-exports");
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut arguments = vec!["-c".to_owned(), DRIVER.to_owned(), "atoll-init".to_owned()];
        arguments.extend([text(&at), text(&exports)]);
        arguments.extend(files);
        let piped = self.runner.start(arguments, &self.workspace).await;
        let piped = piped.map_err(|error| format!("init scripts cannot be run: {error}"))?;
        let seconds = self.limits.hooks_startup_seconds;
        let ended = tokio::time::timeout(Duration::from_secs(seconds), piped.wait()).await;
        let output = last_words(&piped);
        let failed = |how: String| {
            let script = std::fs::read_to_string(&at).unwrap_or_default();
            format!("the init script {script} {how}; it said:\n{output}")
        };
        match ended {
            Ok(Exit::Code(0)) => {}
            Ok(exit) => return Err(failed(exit.to_string())),
            Err(_) => {
                piped.child().kill_all().await;
                return Err(failed(format!(
                    "took longer than {seconds} s (limit hooks_startup_seconds)"
                )));
            }
        }
        if !output.is_empty() {
            tracing::info!(output, "init scripts have ended");
        }
        let left = std::fs::read(&exports)
            .map_err(|error| format!("init scripts ended before their end: {error}"))?;
        let before = self.runner.environment();
        // What they started in the background goes on.
        self.keep(piped);
        Ok(changed(&left, &before))
    }
}

/// What to do with each file, in order.
fn plan(directory: &Path) -> io::Result<Vec<String>> {
    let entries = std::fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> =
        entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    let step = |path: PathBuf| {
        let name = path.to_string_lossy().into_owned();
        let executable = access(&path, Access::EXEC_OK).is_ok() && is_marked(&path);
        match (executable, path.extension().is_some_and(|kind| kind == "sh")) {
            (true, _) => Some(format!("x:{name}")),
            (false, true) => Some(format!("s:{name}")),
            (false, false) => {
                tracing::info!(path = name, "not an init script: it may not be executed");
                None
            }
        }
    };
    Ok(files.into_iter().filter_map(step).collect())
}

/// Whether anybody may execute it. Asking the system alone would do, were some not allowed to do everything.
fn is_marked(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|data| data.permissions().mode() & 0o111 != 0)
}

fn changed(left: &[u8], before: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let variables = left.split(|byte| *byte == 0).filter_map(|variable| {
        let (name, value) = std::str::from_utf8(variable).ok()?.split_once('=')?;
        let own = ITS_OWN.contains(&name) || name.starts_with("BASH_FUNC_");
        let same = before.get(name).is_some_and(|known| known == value);
        (!own && !same).then(|| (name.to_owned(), value.to_owned()))
    });
    variables.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_changed_is_taken_over() {
        let before =
            BTreeMap::from([("A".to_owned(), "1".to_owned()), ("B".to_owned(), "2".to_owned())]);
        let left = b"A=1\0B=3\0C=4=5\nx\0PWD=/\0SHLVL=1\0BASH_FUNC_f%%=() { :; }\0_=/usr/bin/env\0";
        let expected = BTreeMap::from([
            ("B".to_owned(), "3".to_owned()),
            ("C".to_owned(), "4=5\nx".to_owned()),
        ]);
        assert_eq!(changed(left, &before), expected);
    }

    #[test]
    fn files_are_run_sourced_or_left_alone_by_name_and_permission() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        for (name, mode) in
            [("20-b.sh", 0o644), ("10-a.sh", 0o755), ("30-program", 0o755), ("40-notes.txt", 0o644)]
        {
            let path = directory.path().join(name);
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        std::fs::create_dir(directory.path().join("15-directory.sh")).unwrap();
        let plan = plan(directory.path()).unwrap();
        let short = |step: &String| {
            let (what, path) = step.split_at(2);
            format!("{what}{}", path.rsplit('/').next().unwrap())
        };
        let steps: Vec<_> = plan.iter().map(short).collect();
        assert_eq!(steps, ["x:10-a.sh", "s:20-b.sh", "x:30-program"]);
    }
}

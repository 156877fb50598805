//! From a definition to a running program: where its program is, what it sees, whom it runs as.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use atoll_process::{Command, LogSettings, Piped, PipedSettings};

use super::definition::Definition;
use crate::programs::Programs;

/// Bytes of a stream that may wait to be carried away.
const STREAM_BYTES: u64 = 4 << 20;

/// Why a program could not be started.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is not there: trying again changes nothing.
    Missing(String),
    /// It may be different the next time.
    Failed(String),
}

/// Starts the program of a service.
pub(super) async fn launch(
    programs: &Programs,
    variables: &BTreeMap<String, String>,
    definition: &Definition,
) -> Result<Piped, Refusal> {
    let mut environment = programs.environment(Some(variables));
    // As supervisord tells its programs what they are.
    let told = [
        ("SUPERVISOR_ENABLED", "1"),
        ("SUPERVISOR_PROCESS_NAME", &definition.name),
        ("SUPERVISOR_GROUP_NAME", &definition.name),
    ];
    environment.extend(told.map(|(name, value)| (name.to_owned(), value.to_owned())));
    environment.extend(definition.environment.clone());
    let workspace = &programs.foundation().workspace;
    let directory = definition.directory.clone().unwrap_or_else(|| workspace.clone());
    let Some((name, arguments)) = definition.command.split_first() else {
        return Err(Refusal::Missing("it has no command".to_owned()));
    };
    let program = find(name, &directory, &environment)?;
    let command = Command { program, arguments: arguments.to_vec(), environment, directory };
    let command = as_user(command, definition.user.as_deref())?;
    let settings = PipedSettings {
        log: LogSettings { kept_bytes: STREAM_BYTES, ..programs.log_settings() },
        input_queue_bytes: programs.input_queue_bytes(),
    };
    let piped = Piped::start(programs.confined_spawner(), &command, &settings).await;
    // Its input stays open although nobody types: there are programs that end with it.
    piped.map_err(|error| Refusal::Failed(error.to_string()))
}

/// The program: a path, from the service's directory on when it is relative, or a name on its search path.
fn find(
    name: &str,
    directory: &Path,
    environment: &BTreeMap<String, String>,
) -> Result<PathBuf, Refusal> {
    if name.contains('/') {
        let path = directory.join(name);
        return match path.metadata() {
            Ok(data) if data.is_file() => Ok(path),
            Ok(_) => Err(Refusal::Missing(format!("{} is not a program", path.display()))),
            Err(error) => Err(Refusal::Missing(format!("{}: {error}", path.display()))),
        };
    }
    on_path(name, environment).ok_or_else(|| {
        let path = environment.get("PATH").map(String::as_str).unwrap_or_default();
        Refusal::Missing(format!("there is no program {name} in {path}"))
    })
}

fn on_path(name: &str, environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    let path = environment.get("PATH").map(String::as_str).unwrap_or_default();
    let executable = |path: &PathBuf| {
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    path.split(':').map(|place| Path::new(place).join(name)).find(executable)
}

/// The same command run as another user: by util-linux' setpriv, which becomes the program.
fn as_user(command: Command, user: Option<&str>) -> Result<Command, Refusal> {
    let Some(user) = user else { return Ok(command) };
    let account = std::fs::read_to_string("/etc/passwd")
        .unwrap_or_default()
        .lines()
        .filter_map(Account::read)
        .find(|account| account.name == user || account.uid.to_string() == user)
        .ok_or_else(|| Refusal::Missing(format!("there is no user {user}")))?;
    let own = rustix::process::geteuid();
    if account.uid == own.as_raw() {
        return Ok(command);
    }
    if !own.is_root() {
        return Err(Refusal::Missing(format!(
            "only a server that runs as root can run it as {user}"
        )));
    }
    let setpriv = on_path("setpriv", &command.environment).ok_or_else(|| {
        let cure = "install it with: apt-get install util-linux";
        Refusal::Missing(format!("setpriv is needed to run it as {user}; {cure}"))
    })?;
    let mut arguments = vec![
        format!("--reuid={}", account.uid),
        format!("--regid={}", account.gid),
        "--init-groups".to_owned(),
        "--".to_owned(),
        command.program.display().to_string(),
    ];
    arguments.extend(command.arguments);
    Ok(Command { program: setpriv, arguments, ..command })
}

struct Account {
    name: String,
    uid: u32,
    gid: u32,
}

impl Account {
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split(':');
        let name = fields.next()?.to_owned();
        let mut numbers = fields.skip(1).map(str::parse);
        Some(Self { name, uid: numbers.next()?.ok()?, gid: numbers.next()?.ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_path_and_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("run");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        let path = format!("/nowhere:{}", directory.path().display());
        let environment = BTreeMap::from([("PATH".to_owned(), path)]);
        let find = |name: &str| find(name, directory.path(), &environment);
        // Not executable: a name does not find it, a path does and the system refuses it.
        assert!(find("run").is_err());
        assert_eq!(find("./run").map(|found| found.is_file()), Ok(true));
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find("run"), Ok(program.clone()));
        assert_eq!(find(program.to_str().unwrap()), Ok(program));
        assert!(matches!(find("absent"), Err(Refusal::Missing(_))));
        assert!(matches!(find("./absent"), Err(Refusal::Missing(_))));
    }

    #[test]
    fn a_user_that_is_not_there_is_named() {
        let command = Command {
            program: PathBuf::from("/bin/true"),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            directory: PathBuf::from("/"),
        };
        let refusal = as_user(command.clone(), Some("nobody-of-this-name")).unwrap_err();
        assert!(matches!(refusal, Refusal::Missing(text) if text.contains("nobody-of-this-name")));
        assert_eq!(as_user(command, None).unwrap().program, Path::new("/bin/true"));
    }
}

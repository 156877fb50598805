//! Our own file: `[services.name]` tables with the same rules as supervisord's programs, under plainer names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::definition::{
    Definition, Destination, LOG_BACKUPS, LOG_BYTES, LONGEST, MOST_BACKUPS, Restart, check_name,
    signal,
};
use super::load::{Loaded, Problem, Sources};
use super::words;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    services: BTreeMap<toml::Spanned<String>, toml::Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    command: CommandLine,
    title: Option<String>,
    directory: Option<PathBuf>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    user: Option<String>,
    autostart: Option<bool>,
    restart: Option<RestartRule>,
    exit_codes: Option<Vec<u8>>,
    priority: Option<i64>,
    start_seconds: Option<f64>,
    start_retries: Option<u32>,
    stop_signal: Option<String>,
    stop_group: Option<bool>,
    stop_seconds: Option<f64>,
    log_file: Option<PathBuf>,
    log_file_bytes: Option<u64>,
    log_file_backups: Option<u32>,
    port: Option<u16>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "command must be a text or a list of texts")]
enum CommandLine {
    Text(String),
    Words(Vec<String>),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RestartRule {
    Always,
    OnFailure,
    Never,
}

/// The services of the file.
pub(super) fn read(text: &str, file: &Path, sources: &Sources) -> Loaded {
    let mut loaded = Loaded::default();
    let at = |position: usize| {
        let before = text.get(..position).unwrap_or_default();
        Some(before.matches('\n').count() as u64 + 1)
    };
    let problem = |line, message: String| Problem { file: file.to_owned(), line, message };
    let tables: File = match toml::from_str(text) {
        Ok(tables) => tables,
        Err(error) => {
            let line = error.span().and_then(|span| at(span.start));
            loaded.problems.push(problem(line, error.message().to_owned()));
            return loaded;
        }
    };
    for (name, value) in tables.services {
        let line = at(name.span().start);
        let name = name.into_inner();
        match definition(&name, value, sources) {
            Ok(definition) => loaded.definitions.push(definition),
            Err(message) => {
                loaded.break_off(&name, problem(line, format!("service {name}: {message}")));
            }
        }
    }
    loaded
}

fn definition(name: &str, value: toml::Value, sources: &Sources) -> Result<Definition, String> {
    check_name(name)?;
    let table: Table = value.try_into().map_err(|error| error.to_string().trim().to_owned())?;
    let command = match table.command {
        CommandLine::Text(text) => {
            words::split(&text).map_err(|message| format!("command: {message}"))?
        }
        CommandLine::Words(words) => words,
    };
    if command.first().is_none_or(String::is_empty) {
        return Err("command is empty".to_owned());
    }
    let wrong = table.environment.keys().find(|name| !atoll_process::is_variable_name(name));
    if let Some(variable) = wrong {
        return Err(format!("environment: {variable:?} cannot be the name of a variable"));
    }
    let otherwise = Definition::new(name.to_owned(), command);
    let seconds = |key: &str, seconds: Option<f64>, otherwise| match seconds {
        None => Ok(otherwise),
        Some(seconds) => Duration::try_from_secs_f64(seconds)
            .map(|time| time.min(LONGEST))
            .map_err(|_| format!("{key} must be 0 or more")),
    };
    let stdout = table.log_file.map_or(Destination::Nowhere, |path| Destination::File {
        path: sources.directory.join(path),
        most_bytes: table.log_file_bytes.unwrap_or(LOG_BYTES),
        backups: table.log_file_backups.unwrap_or(LOG_BACKUPS).min(MOST_BACKUPS),
    });
    Ok(Definition {
        title: table.title,
        directory: table.directory.map(|path| sources.directory.join(path)),
        environment: table.environment,
        user: table.user,
        autostart: table.autostart.unwrap_or(true),
        restart: match table.restart {
            Some(RestartRule::Always) => Restart::Always,
            Some(RestartRule::Never) => Restart::Never,
            Some(RestartRule::OnFailure) | None => Restart::Unexpected,
        },
        exit_codes: table
            .exit_codes
            .map_or(otherwise.exit_codes, |codes| codes.into_iter().map(i32::from).collect()),
        priority: table.priority.unwrap_or(otherwise.priority),
        start_time: seconds("start_seconds", table.start_seconds, otherwise.start_time)?,
        start_retries: table.start_retries.unwrap_or(otherwise.start_retries),
        stop_signal: match table.stop_signal {
            Some(name) => signal(&name).map_err(|message| format!("stop_signal: {message}"))?,
            None => otherwise.stop_signal,
        },
        stop_group: table.stop_group.unwrap_or(false),
        stop_time: seconds("stop_seconds", table.stop_seconds, otherwise.stop_time)?,
        stdout,
        stderr: Destination::Together,
        port: table.port,
        ..Definition::new(name.to_owned(), otherwise.command)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(text: &str) -> Loaded {
        let sources = Sources { directory: PathBuf::from("/data"), ..Sources::default() };
        read(text, Path::new("/etc/services.toml"), &sources)
    }

    #[test]
    fn every_key_is_honoured() {
        let loaded = loaded(
            "[services.web]\ncommand = [\"python3\", \"a b\"]\ntitle = \"Web\"\ndirectory = \"site\"\n\
             environment = { A = \"1\" }\nuser = \"nobody\"\nautostart = false\nrestart = \"on-failure\"\n\
             exit_codes = [0, 3]\npriority = 1\nstart_seconds = 0.5\nstart_retries = 2\nstop_signal = \"INT\"\n\
             stop_group = true\nstop_seconds = 4\nlog_file = \"web.log\"\nlog_file_bytes = 10\nlog_file_backups = 2\n\
             port = 9000\n[services.bare]\ncommand = \"sleep '1 0'\"\nrestart = \"always\"\n",
        );
        assert_eq!(loaded.problems, []);
        let [bare, web] = &loaded.definitions[..] else { panic!("{loaded:?}") };
        assert_eq!(bare.command, ["sleep", "1 0"]);
        assert_eq!(bare.restart, Restart::Always);
        assert_eq!(web.command, ["python3", "a b"]);
        assert_eq!(web.title.as_deref(), Some("Web"));
        assert_eq!(web.directory.as_deref(), Some(Path::new("/data/site")));
        assert_eq!(web.start_time, Duration::from_millis(500));
        assert_eq!((web.stop_signal, web.stop_group, web.port), (2, true, Some(9000)));
        assert_eq!(web.exit_codes, [0, 3]);
        let path = PathBuf::from("/data/web.log");
        assert_eq!(web.stdout, Destination::File { path, most_bytes: 10, backups: 2 });
    }

    #[test]
    fn mistakes_are_told_by_line_and_cost_their_service_only() {
        let cases = [
            ("command = 1", "command"),
            ("title = 'x'", "command"),
            ("command = ''", "empty"),
            ("command = 'a'\nnonsense = 1", "nonsense"),
            ("command = 'a'\nrestart = 'sometimes'", "sometimes"),
            ("command = 'a'\nstart_seconds = -1", "0 or more"),
            ("command = 'a'\nstop_signal = 'x'", "signal"),
            ("command = 'a'\nenvironment = { 'a b' = '1' }", "a b"),
        ];
        for (text, part) in cases {
            let text = format!("[services.good]\ncommand = 'b'\n\n[services.bad]\n{text}\n");
            let loaded = loaded(&text);
            assert_eq!(loaded.definitions.len(), 1, "{text}");
            let [broken] = &loaded.broken[..] else { panic!("{loaded:?}") };
            assert_eq!((broken.name.as_str(), broken.problem.line), ("bad", Some(4)), "{text}");
            assert!(broken.problem.message.contains(part), "{}", broken.problem);
        }
        let broken = loaded("[services.a]\ncommand = 'a'\n= 1\n");
        assert_eq!(broken.problems[0].line, Some(3));
        assert!(loaded("[other]\n").problems[0].message.contains("other"));
    }
}

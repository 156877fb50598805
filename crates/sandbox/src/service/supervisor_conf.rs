//! `[program:x]` sections of supervisord's files as services.
//!
//! What decides how a program runs is honoured; what only concerns supervisord itself is passed over in silence; what
//! would change how a program runs and cannot be done is told.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::definition::{
    Definition, Destination, LOG_BACKUPS, LOG_BYTES, LONGEST, MOST_BACKUPS, Restart, check_name,
    signal,
};
use super::expand::expand;
use super::ini::{self, Fault, Section};
use super::load::{Loaded, Problem, Sources};
use super::words;

/// Processes that one program may stand for.
const MOST_PROCESSES: u64 = 64;
/// Sections that concern supervisord itself.
const ITS_OWN: &[&str] = &[
    "supervisord",
    "supervisorctl",
    "unix_http_server",
    "inet_http_server",
    "rpcinterface",
    "group",
];
/// Keys that are honoured.
const KNOWN: &[&str] = &[
    "autorestart",
    "autostart",
    "command",
    "directory",
    "environment",
    "exitcodes",
    "numprocs",
    "numprocs_start",
    "priority",
    "process_name",
    "redirect_stderr",
    "startretries",
    "startsecs",
    "stderr_logfile",
    "stderr_logfile_backups",
    "stderr_logfile_maxbytes",
    "stdout_logfile",
    "stdout_logfile_backups",
    "stdout_logfile_maxbytes",
    "stopasgroup",
    "stopsignal",
    "stopwaitsecs",
    "user",
];
/// Keys that change nothing here: what a service leaves behind is always killed, and output is always kept.
const MOOT: &[&str] = &[
    "killasgroup",
    "serverurl",
    "stderr_capture_maxbytes",
    "stderr_events_enabled",
    "stderr_syslog",
    "stdout_capture_maxbytes",
    "stdout_events_enabled",
    "stdout_syslog",
];

/// The services of one file.
pub(super) fn read(text: &str, file: &Path, sources: &Sources) -> Loaded {
    let mut loaded = Loaded::default();
    let problem = |fault: Fault| Problem {
        file: file.to_owned(),
        line: Some(fault.line),
        message: fault.message,
    };
    let (sections, faults) = ini::parse(text);
    loaded.problems.extend(faults.into_iter().map(problem));
    for mut section in sections {
        let kind = section.name.split(':').next().unwrap_or_default();
        let Some(name) = section.name.strip_prefix("program:").map(|name| name.trim().to_owned())
        else {
            if !ITS_OWN.contains(&kind) {
                let message = format!("[{}] is not supported; it is passed over", section.name);
                loaded.problems.push(problem(Fault::new(section.line, message)));
            }
            continue;
        };
        let faults = std::mem::take(&mut section.faults);
        if !faults.is_empty() {
            for fault in faults {
                loaded.break_off(&name, problem(fault));
            }
            continue;
        }
        let program = Program { section: &section, name: &name, file, sources, number: None };
        match program.read() {
            Ok(definitions) => loaded.definitions.extend(definitions),
            Err(fault) => loaded.break_off(&name, problem(fault)),
        }
        for entry in &section.entries {
            let key = entry.key.as_str();
            if !KNOWN.contains(&key) && !MOOT.contains(&key) {
                let message = format!("{key} of {name} is not supported; it is passed over");
                loaded.problems.push(problem(Fault::new(entry.line, message)));
            }
        }
    }
    loaded
}

/// A section, and what names in it mean.
#[derive(Clone, Copy)]
struct Program<'a> {
    section: &'a Section,
    name: &'a str,
    file: &'a Path,
    sources: &'a Sources,
    /// Which of several processes, and how many there are.
    number: Option<(u64, u64)>,
}

impl Program<'_> {
    fn read(self) -> Result<Vec<Definition>, Fault> {
        let count = self.number("numprocs", 1)?;
        let first = self.number("numprocs_start", 0)?;
        let pattern = self.section.get("process_name");
        if count == 0 || count > MOST_PROCESSES {
            return Err(self.wrong("numprocs", format!("must be 1 to {MOST_PROCESSES}")));
        }
        if count > 1 && !pattern.is_some_and(|entry| entry.value.contains("%(process_num)")) {
            let cure = "process_name must contain %(process_num) when numprocs is more than 1, as in \
                        %(program_name)s_%(process_num)02d";
            return Err(self.wrong("numprocs", cure));
        }
        let numbers = first..first.saturating_add(count);
        numbers.map(|number| Self { number: Some((number, count)), ..self }.one()).collect()
    }

    fn one(self) -> Result<Definition, Fault> {
        let name = self.text("process_name")?.unwrap_or_else(|| self.name.to_owned());
        let line = self.section.line;
        check_name(&name).map_err(|message| Fault::new(line, message))?;
        let Some(command) = self.text("command")? else {
            return Err(Fault::new(line, format!("[program:{}] has no command", self.name)));
        };
        let command = words::split(&command).map_err(|message| self.wrong("command", message))?;
        if command.is_empty() {
            return Err(self.wrong("command", "it is empty"));
        }
        let otherwise = Definition::new(name, command);
        let seconds = |key: &str, otherwise: Duration| {
            let seconds = self.number(key, otherwise.as_secs())?;
            Ok(Duration::from_secs(seconds).min(LONGEST))
        };
        let together = self.switch("redirect_stderr", false)?;
        Ok(Definition {
            directory: self.text("directory")?.map(|path| self.path(&path)),
            environment: self.environment()?,
            user: self.text("user")?.filter(|user| !user.is_empty()),
            autostart: self.switch("autostart", true)?,
            restart: self.restart()?,
            exit_codes: self.exit_codes()?,
            priority: self.parsed("priority", otherwise.priority, "a whole number")?,
            start_time: seconds("startsecs", otherwise.start_time)?,
            start_retries: self.parsed("startretries", 3, "a whole number, 0 or more")?,
            stop_signal: match self.text("stopsignal")? {
                Some(name) => signal(&name).map_err(|message| self.wrong("stopsignal", message))?,
                None => otherwise.stop_signal,
            },
            stop_group: self.switch("stopasgroup", false)?,
            stop_time: seconds("stopwaitsecs", otherwise.stop_time)?,
            stdout: self.destination("stdout")?,
            stderr: if together { Destination::Together } else { self.destination("stderr")? },
            ..otherwise
        })
    }

    /// The value of a key, with what it refers to put in.
    fn text(&self, key: &str) -> Result<Option<String>, Fault> {
        let Some(entry) = self.section.get(key) else { return Ok(None) };
        let expanded = expand(&entry.value, |name| self.meaning(name));
        expanded.map(Some).map_err(|message| self.wrong(key, message))
    }

    fn meaning(&self, name: &str) -> Option<String> {
        if let Some(variable) = name.strip_prefix("ENV_") {
            return self.sources.variables.get(variable).cloned();
        }
        match name {
            "program_name" | "group_name" => Some(self.name.to_owned()),
            "process_num" => Some(self.number.unwrap_or((0, 1)).0.to_string()),
            "numprocs" => Some(self.number.unwrap_or((0, 1)).1.to_string()),
            "here" => self.file.parent().map(|parent| parent.display().to_string()),
            "host_node_name" => {
                Some(rustix::system::uname().nodename().to_string_lossy().into_owned())
            }
            _ => None,
        }
    }

    fn environment(&self) -> Result<std::collections::BTreeMap<String, String>, Fault> {
        let Some(entry) = self.section.get("environment") else {
            return Ok(std::collections::BTreeMap::new());
        };
        let wrong = |message| self.wrong("environment", message);
        let variables = words::variables(&entry.value).map_err(wrong)?;
        let expanded = variables.into_iter().map(|(name, value)| {
            expand(&value, |name| self.meaning(name)).map(|value| (name, value))
        });
        expanded.collect::<Result<_, _>>().map_err(wrong)
    }

    fn restart(&self) -> Result<Restart, Fault> {
        match self.text("autorestart")? {
            Some(text) if text.eq_ignore_ascii_case("unexpected") => Ok(Restart::Unexpected),
            None => Ok(Restart::Unexpected),
            Some(text) => match switch(&text) {
                Some(true) => Ok(Restart::Always),
                Some(false) => Ok(Restart::Never),
                None => Err(self.wrong("autorestart", "must be true, false or unexpected")),
            },
        }
    }

    fn exit_codes(&self) -> Result<Vec<i32>, Fault> {
        let Some(text) = self.text("exitcodes")? else { return Ok(vec![0]) };
        let codes = text.split(',').map(str::trim).filter(|code| !code.is_empty());
        let codes: Result<Vec<u8>, _> = codes.map(str::parse).collect();
        codes
            .map(|codes| codes.into_iter().map(i32::from).collect())
            .map_err(|_| self.wrong("exitcodes", "must be codes from 0 to 255 with commas"))
    }

    fn destination(&self, stream: &str) -> Result<Destination, Fault> {
        let Some(path) = self.text(&format!("{stream}_logfile"))? else {
            return Ok(Destination::Nowhere);
        };
        match path.as_str() {
            "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => {
                return Ok(Destination::ServerOutput);
            }
            "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2" => {
                return Ok(Destination::ServerErrors);
            }
            "" | "/dev/null" | "syslog" => return Ok(Destination::Nowhere),
            _ if ["NONE", "AUTO"].contains(&path.to_ascii_uppercase().as_str()) => {
                return Ok(Destination::Nowhere);
            }
            _ => {}
        }
        let key = format!("{stream}_logfile_maxbytes");
        let most_bytes = match self.text(&key)? {
            None => LOG_BYTES,
            Some(text) => size(&text)
                .ok_or_else(|| self.wrong(&key, "must be bytes, or a number with KB, MB or GB"))?,
        };
        let backups = self.number(&format!("{stream}_logfile_backups"), LOG_BACKUPS.into())?;
        let backups = u32::try_from(backups).unwrap_or(MOST_BACKUPS).min(MOST_BACKUPS);
        Ok(Destination::File { path: self.path(&path), most_bytes, backups })
    }

    /// A path, from the workspace on when it is relative.
    fn path(&self, text: &str) -> PathBuf {
        let home = self.sources.variables.get("HOME");
        match (text.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => Path::new(home).join(rest),
            _ => self.sources.directory.join(text),
        }
    }

    fn switch(&self, key: &str, otherwise: bool) -> Result<bool, Fault> {
        match self.text(key)? {
            None => Ok(otherwise),
            Some(text) => switch(&text).ok_or_else(|| self.wrong(key, "must be true or false")),
        }
    }

    fn number(&self, key: &str, otherwise: u64) -> Result<u64, Fault> {
        self.parsed(key, otherwise, "a whole number, 0 or more")
    }

    fn parsed<T: std::str::FromStr>(
        &self,
        key: &str,
        otherwise: T,
        allowed: &str,
    ) -> Result<T, Fault> {
        match self.text(key)? {
            None => Ok(otherwise),
            Some(text) => text
                .trim()
                .parse()
                .map_err(|_| self.wrong(key, format!("must be {allowed}, not {text:?}"))),
        }
    }

    fn wrong(&self, key: &str, message: impl std::fmt::Display) -> Fault {
        let line = self.section.get(key).map_or(self.section.line, |entry| entry.line);
        Fault::new(line, format!("{key} of {}: {message}", self.name))
    }
}

fn switch(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Some(true),
        "false" | "off" | "no" | "0" => Some(false),
        _ => None,
    }
}

fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let units = [("kb", 1 << 10), ("mb", 1 << 20), ("gb", 1 << 30)];
    let unit = units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)));
    let (number, factor) = unit.unwrap_or((&text, 1_u64));
    number.trim().parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
#[path = "supervisor_conf_tests.rs"]
mod tests;

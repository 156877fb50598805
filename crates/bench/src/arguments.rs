//! The command line: `atoll-bench --atoll PATH --peers DIR [--python DIR] [--quick] [--markdown FILE] [CONTEST…]`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::Failure;

/// How the program is called.
pub(crate) const USAGE: &str = "\
usage: atoll-bench --atoll PATH [--peers DIRECTORY] [--python DIRECTORY] [--quick] [--markdown FILE] [CONTEST...]

  --atoll PATH       the server to measure, best a release build
  --peers DIRECTORY  where scripts/setup-bench.sh installed the peers; without it they are left out
  --python DIRECTORY where the python lies that has a Jupyter kernel; programs are looked for there first
  --quick            few samples and small amounts: a look, not a measurement
  --markdown FILE    also write the tables to this file as Markdown
  CONTEST            run only these:";

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) atoll: PathBuf,
    pub(crate) peers: Option<PathBuf>,
    pub(crate) python: Option<PathBuf>,
    pub(crate) quick: bool,
    pub(crate) markdown: Option<PathBuf>,
    pub(crate) contests: Vec<String>,
    pub(crate) help: bool,
}

impl Arguments {
    /// Reads the words of the command line, the program's own name left out.
    pub(crate) fn read(words: impl Iterator<Item = OsString>) -> Result<Self, Failure> {
        let mut arguments = Self::default();
        let mut words = words;
        while let Some(word) = words.next() {
            let text = word.to_string_lossy();
            // Servers run in directories of their own: a relative path would mean something else there.
            let mut value = || -> Result<PathBuf, Failure> {
                let word = words.next().ok_or_else(|| format!("{text} needs a value"))?;
                Ok(std::path::absolute(word)?)
            };
            match &*text {
                "--atoll" => arguments.atoll = value()?,
                "--peers" => arguments.peers = Some(value()?),
                "--python" => arguments.python = Some(value()?),
                "--markdown" => arguments.markdown = Some(value()?),
                "--quick" => arguments.quick = true,
                "--help" | "-h" => arguments.help = true,
                flag if flag.starts_with('-') => return Err(format!("unknown flag {flag}").into()),
                contest => arguments.contests.push(contest.to_owned()),
            }
        }
        if arguments.atoll.as_os_str().is_empty() && !arguments.help {
            return Err("--atoll is required: the program to measure".into());
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Arguments, Failure> {
        Arguments::read(words.iter().map(OsString::from))
    }

    #[test]
    fn flags_and_contests_mix() {
        let arguments =
            read(&["exec", "--atoll", "/a", "--quick", "start", "--peers", "/p"]).unwrap();
        let wanted = Arguments {
            atoll: "/a".into(),
            peers: Some("/p".into()),
            quick: true,
            contests: vec!["exec".to_owned(), "start".to_owned()],
            ..Arguments::default()
        };
        assert_eq!(arguments, wanted);
    }

    #[test]
    fn paths_hold_wherever_a_server_runs() {
        assert!(read(&["--atoll", "target/atoll"]).unwrap().atoll.is_absolute());
    }

    #[test]
    fn mistakes_are_named() {
        for (words, named) in [
            (&["--atoll"][..], "--atoll needs a value"),
            (&["--fast"], "unknown flag --fast"),
            (&["exec"], "--atoll is required"),
        ] {
            let error = read(words).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}

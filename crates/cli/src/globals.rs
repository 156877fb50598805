//! The flags every verb takes: which sandbox, and what becomes of the answer.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// Flags every verb takes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which sandbox, and what becomes of the answer")]
pub(crate) struct Globals {
    /// Address of the sandbox: http://host:port[/prefix], https://…, or unix:/path [env: ATOLL_URL, AIO_BASE_URL]
    /// [default: http://127.0.0.1:8080].
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) api_url: Option<String>,

    /// Use the address and the key that this name has in ~/.config/atoll/profiles.toml [env: ATOLL_PROFILE].
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) profile: Option<String>,

    /// Send this header with every request, written `Name: value`; repeatable.
    #[arg(long, global = true, value_name = "HEADER")]
    pub(crate) header: Vec<String>,

    /// Print JSON also on a terminal.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Write the answer, or the bytes of a download, to this file; - means standard output.
    #[arg(long, short, global = true, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Long names that no generated flag may have.
pub(crate) const RESERVED: &[&str] =
    &["api-url", "profile", "header", "json", "output", "data", "follow", "help", "version"];

/// The words of a command line that are neither flags of these nor their values: the verb comes first.
pub(crate) fn bare_words(words: &[OsString]) -> impl Iterator<Item = &str> {
    let mut words = words.iter().skip(1).map_while(|word| word.to_str());
    std::iter::from_fn(move || {
        loop {
            let word = words.next()?;
            match word {
                "--api-url" | "--profile" | "--header" | "--output" | "-o" => {
                    words.next()?;
                }
                word if word.starts_with('-') => {}
                word => return Some(word),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verb_is_found_behind_flags() {
        let found = |line: &str| -> Vec<String> {
            let words: Vec<_> = line.split(' ').map(OsString::from).collect();
            bare_words(&words).map(str::to_owned).collect()
        };
        assert_eq!(found("atoll browser navigate u"), ["browser", "navigate", "u"]);
        assert_eq!(
            found("aio --api-url http://h --json gui -o f screenshot"),
            ["gui", "screenshot"]
        );
        assert!(found("atoll --help").is_empty());
    }
}

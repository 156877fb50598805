//! What the shell is told: its start-up file, and the script that runs one job.
//!
//! Jobs reach the shell as files it sources, never as typed text: any length, any quoting, and no echo to tell from
//! output. Marks go to `/dev/tty`, wherever the job has sent its own output, and never stand complete in a variable or
//! function, so that printing those cannot forge one.

use std::collections::BTreeMap;
use std::path::Path;

/// The start-up file of a session's shell.
pub(super) fn startup(token: &str) -> String {
    format!(
        r#"[ -r /etc/bash.bashrc ] && . /etc/bash.bashrc
[ -r ~/.bashrc ] && . ~/.bashrc
__atoll_escape=$'\e' __atoll_bell=$'\a' __atoll_token={token}
__atoll_mark() {{ builtin printf '%s]133;%s%s' "$__atoll_escape" "$1" "$__atoll_bell" >/dev/tty; }}
__atoll_return() {{ return "$1"; }}
__atoll_prompt() {{
  {{ local status=$?; __atoll_mark "A;$__atoll_token;$status"; }} 2>/dev/null
  return "$status"
}}
__atoll_watch() {{
  [[ "${{PROMPT_COMMAND[*]-}}" == *__atoll_prompt* ]] || PROMPT_COMMAND="__atoll_prompt${{PROMPT_COMMAND:+; $PROMPT_COMMAND}}"
}}
__atoll_watch
PS0='${{__atoll_escape}}]133;C;${{__atoll_token}}${{__atoll_bell}}'"${{PS0-}}"
HISTCONTROL=ignorespace${{HISTCONTROL:+:$HISTCONTROL}}
"#
    )
}

/// The script that runs one job and marks its beginning and end.
pub(super) fn wrapper(
    token: &str,
    source: &Path,
    directory: Option<(&str, bool)>,
    environment: &BTreeMap<String, String>,
) -> String {
    let enter = directory.map_or(String::new(), |(directory, keep_links)| {
        format!(
            "builtin cd {} -- {} || :; ",
            if keep_links { "-L" } else { "-P" },
            quote(directory)
        )
    });
    let set: String = environment
        .iter()
        .map(|(name, value)| {
            let value = quote(value);
            format!("__atoll_old_{name}=${{{name}-}}; __atoll_had_{name}=${{{name}+x}}; export {name}={value}; ")
        })
        .collect();
    let restore: String = environment
        .keys()
        .map(|name| {
            format!(
                "if [ -n \"$__atoll_had_{name}\" ]; then {name}=$__atoll_old_{name}; else unset {name}; fi; \
                 unset __atoll_old_{name} __atoll_had_{name}; "
            )
        })
        .collect();
    // A line may be typed twice, when its first prompt came late; the job must run once. `jobs` lets bash say now, to
    // nobody, what became of earlier background jobs, or it would say so in the middle of this one's output.
    // The status of the command before stays visible to the job, as at a prompt; with `set -e` it cannot be other than
    // zero, and raising it would end the shell.
    format!(
        r#"{{ __atoll_status=$?; }} 2>/dev/null
[[ ${{__atoll_job-}} != {token} ]] 2>/dev/null || builtin return "$__atoll_status"
{{ __atoll_job={token}; builtin jobs >/dev/null; __atoll_mark 'S;{token}'; {enter}{set}[[ $- == *e* ]] || __atoll_return "$__atoll_status"; }} 2>/dev/null
. {source}
{{ __atoll_status=$?; {restore}__atoll_mark "E;{token};$__atoll_status"; __atoll_watch; [[ $- == *e* ]] && __atoll_status=0; }} 2>/dev/null
builtin return "$__atoll_status"
"#,
        source = quote(&source.to_string_lossy()),
    )
}

/// Whether a name can be a shell variable.
pub fn is_variable_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|rest| rest.is_ascii_alphanumeric() || rest == '_')
}

/// Quotes text so that the shell reads it as one word, unchanged.
pub(super) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn variable_names_are_told_from_others() {
        assert!(is_variable_name("PATH") && is_variable_name("_x1"));
        assert!(
            !is_variable_name("1x")
                && !is_variable_name("a-b")
                && !is_variable_name("")
                && !is_variable_name("a b")
        );
    }

    #[test]
    fn a_job_whose_line_was_typed_twice_runs_once_and_returns_its_status() {
        let directory = tempfile::tempdir().unwrap();
        let (startup_file, source) = (directory.path().join("rc"), directory.path().join("job.sh"));
        let job = directory.path().join("job");
        std::fs::write(&startup_file, startup("0123")).unwrap();
        std::fs::write(&source, "echo ran; (exit 7)\n").unwrap();
        std::fs::write(&job, wrapper("4567", &source, None, &BTreeMap::new())).unwrap();
        let [startup_file, job] = [startup_file, job].map(|path| quote(&path.to_string_lossy()));
        let script = format!(
            ". {startup_file}; . {job}; echo $?; . {job}; echo $?; (exit 3); . {job}; echo $?"
        );
        let output = std::process::Command::new("bash")
            .args(["-c", &script])
            .env("HOME", directory.path())
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "ran\n7\n0\n3\n");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn quoted_text_reaches_the_shell_unchanged(text in "[^\\x00]{0,40}") {
            let output = std::process::Command::new("bash")
                .args(["-c", &format!("printf %s {}", quote(&text))])
                .env("LC_ALL", "C.UTF-8")
                .output()
                .unwrap();
            prop_assert_eq!(String::from_utf8_lossy(&output.stdout), text);
        }
    }
}

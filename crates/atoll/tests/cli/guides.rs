//! Help, completions and manual pages.

use crate::{plain, printed, refused, text};

/// Every verb with the word before it, where it has one.
fn verbs() -> Vec<String> {
    let ids = atoll_api::operations().map(|declaration| declaration.spec.id);
    let verbs = ids.filter_map(|id| id.split_once('_').map(|(_, verb)| verb.replace('_', "-")));
    // Those made by hand stand for what is generated under the same name.
    let by_hand = [
        "exec", "file", "cp", "cat", "edit", "browser", "gui", "code", "run", "mcp", "list",
        "sandbox",
    ];
    let more = ["logs", "open", "doctor", "completions", "man", "call", "serve", "openapi"];
    verbs.chain(by_hand.iter().chain(&more).map(|verb| (*verb).to_owned())).collect()
}

#[test]
fn completions_know_every_verb() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&plain(&["completions", shell]).output().unwrap());
        for verb in verbs() {
            assert!(script.contains(&verb), "{shell} lacks {verb}");
        }
        for id in atoll_api::operations().map(|declaration| declaration.spec.id) {
            assert!(script.contains(id), "{shell} lacks {id}");
        }
    }
    refused(&plain(&["completions", "tcsh"]).output().unwrap(), 2, &["tcsh", "bash"]);
}

#[test]
fn completions_for_bash_are_bash() {
    let script = printed(&plain(&["completions", "bash"]).output().unwrap());
    let mut check = std::process::Command::new("bash");
    let check = crate::run_with_input(
        {
            check.arg("-n");
            check
        },
        script.as_bytes(),
    );
    assert!(check.status.success(), "{}", text(&check.stderr));
}

#[test]
fn manual_pages_know_every_verb() {
    let page = printed(&plain(&["man"]).output().unwrap());
    assert!(page.contains(".TH atoll 1"), "{page}");
    for verb in ["exec", "file", "browser", "serve", "doctor", "ATOLL_API_KEY"] {
        assert!(page.contains(&verb.replace('-', "\\-")), "{verb}");
    }
    let page = printed(&plain(&["man", "browser", "navigate"]).output().unwrap());
    assert!(page.contains("navigate") && page.contains("\\-\\-url"), "{page}");

    let here = tempfile::tempdir().unwrap();
    let directory = here.path().join("man1");
    printed(&plain(&["man", "--directory", crate::name(&directory)]).output().unwrap());
    let pages: Vec<String> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    for verb in verbs() {
        assert!(
            pages.iter().any(|page| page.ends_with(&format!("-{verb}.1"))),
            "no page of {verb}"
        );
    }
    refused(&plain(&["man", "nothing"]).output().unwrap(), 2, &["nothing"]);
}

#[test]
fn installing_puts_both_names_and_their_guides_where_shells_find_them() {
    let prefix = tempfile::tempdir().unwrap();
    // Twice: what is there is replaced.
    for _ in 0..2 {
        let installed = std::process::Command::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../scripts/install.sh"
        ))
        .args([env!("CARGO_BIN_EXE_atoll"), crate::name(prefix.path())])
        .output()
        .unwrap();
        assert!(installed.status.success(), "{}", text(&installed.stderr));
    }
    for name in ["atoll", "aio"] {
        let program = prefix.path().join("bin").join(name);
        let output = std::process::Command::new(program).arg("--version").output().unwrap();
        assert_eq!(printed(&output).trim(), format!("{name} {}", env!("CARGO_PKG_VERSION")));
    }
    for guide in [
        "man/man1/atoll-exec.1",
        "bash-completion/completions/atoll",
        "zsh/site-functions/_atoll",
        "fish/vendor_completions.d/atoll.fish",
    ] {
        let path = prefix.path().join("share").join(guide);
        assert!(path.metadata().is_ok_and(|file| file.len() > 0), "{guide}");
    }
}

#[test]
fn help_tells_the_verbs_the_exit_codes_and_where_the_key_goes() {
    for words in [&["--help"][..], &["help"]] {
        let help = printed(&plain(words).output().unwrap());
        for part in [
            "serve",
            "exec",
            "browser",
            "gui",
            "doctor",
            "Exit codes",
            "ATOLL_API_KEY",
            "--api-url",
        ] {
            assert!(help.contains(part), "{words:?} lacks {part}: {help}");
        }
        assert!(!help.contains("as-root-file"));
    }
    let nothing = plain(&[]).output().unwrap();
    assert_eq!(nothing.status.code(), Some(2));
    assert!(text(&nothing.stderr).contains("serve"));
    let help = printed(&plain(&["browser", "navigate", "--help"]).output().unwrap());
    assert!(help.contains("--url") && help.contains("browser_navigate"), "{help}");
    let help = printed(&plain(&["serve", "--help"]).output().unwrap());
    assert!(help.contains("--listen"), "{help}");
}

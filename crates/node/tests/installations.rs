//! Finding Node.js where people and version managers put it, with programs that answer as Node.js does.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use atoll_node::{Installation, Installations, Search, VersionWish};
use atoll_process::Spawner;

struct Machine {
    home: tempfile::TempDir,
    installations: Installations,
}

impl Machine {
    fn new(variables: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_atoll-node-spawner"));
        let mut environment = BTreeMap::from([
            ("PATH".to_owned(), format!("relative:{}", home.path().join("bin").display())),
            ("HOME".to_owned(), home.path().display().to_string()),
        ]);
        for (name, below) in variables {
            let value = home.path().join(below).display().to_string();
            environment.insert((*name).to_owned(), value);
        }
        let installations = Installations::new(Search {
            spawner: Spawner::launch_program(program).unwrap(),
            environment,
            projects: vec![home.path().join("project")],
            directory: home.path().to_owned(),
        });
        Self { home, installations }
    }

    fn script(&self, path: &str, script: &str) -> PathBuf {
        let path = self.home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    /// A program that says it is this version, and counts how often it is asked.
    fn install(&self, path: &str, version: &str) -> PathBuf {
        let full = self.home.path().join(path);
        let answer = format!(
            r#"{{"version":"{version}","program":"{}","typescript":{}}}"#,
            full.display(),
            version.starts_with('9')
        );
        self.script(
            path,
            &format!("#!/bin/sh\necho asked >> {}.log\necho '{answer}'\n", full.display()),
        )
    }

    /// The versions found, without those of the machine the test runs on.
    async fn versions(&self) -> Vec<String> {
        let own = |found: &Installation| found.program.starts_with(self.home.path());
        let all = self.installations.all().await.into_iter();
        all.filter(|found| own(found)).map(|found| found.version.to_string()).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn installations_are_found_in_every_usual_place_once_each() {
    let machine = Machine::new(&[("NVM_DIR", "own-nvm"), ("NODE_HOME", "node-home")]);
    machine.install("bin/node", "90.0.0");
    machine.install("bin/node24", "91.0.0");
    machine.install(".nvm/versions/node/v92.1.0/bin/node", "92.1.0");
    machine.install("own-nvm/versions/node/v93.1.0/bin/node", "93.1.0");
    machine.install(".local/share/fnm/node-versions/v94.0.0/installation/bin/node", "94.0.0");
    machine.install("project/node_modules/node/bin/node", "95.0.0");
    machine.install("node-home/bin/node", "96.0.0");
    machine.install(".volta/tools/image/node/90.0.0/bin/node", "90.0.0");
    let mut versions = machine.versions().await;
    assert_eq!(versions.first().map(String::as_str), Some("90.0.0"));
    versions.sort();
    let expected = ["90.0.0", "91.0.0", "92.1.0", "93.1.0", "94.0.0", "95.0.0", "96.0.0"];
    assert_eq!(versions, expected);
    machine.versions().await;
    let asked = std::fs::read_to_string(machine.home.path().join("bin/node.log")).unwrap();
    assert_eq!(asked, "asked\n");
    let wish = |text: &str| VersionWish::parse(text).unwrap();
    let found = machine.installations.find(&wish("node92")).await.unwrap();
    assert_eq!((found.version.to_string().as_str(), found.typescript), ("92.1.0", true));
    assert!(machine.installations.find(&wish("92.2")).await.is_none());
    let default = machine.installations.default().await.unwrap();
    assert_eq!(default.version.major, 90);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_usable_node_is_passed_over() {
    let machine = Machine::new(&[]);
    machine.script("bin/node", "#!/bin/sh\necho 'not selected' >&2\nexit 127\n");
    machine.script("bin/nodejs", "#!/bin/sh\necho babble\n");
    machine.install("bin/node18", "12.0.0");
    std::fs::create_dir_all(machine.home.path().join("bin/node20")).unwrap();
    assert_eq!(machine.versions().await, [""; 0]);
    machine.install("bin/node22", "97.0.0");
    assert_eq!(machine.versions().await, ["97.0.0"]);
    let default = machine.installations.default().await.unwrap();
    assert_eq!(default.version.to_string(), "97.0.0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_installed_or_replaced_later_is_found() {
    let machine = Machine::new(&[]);
    machine.install("bin/node", "90.0.0");
    assert_eq!(machine.versions().await, ["90.0.0"]);
    let later = machine.install("bin/node", "98.0.0");
    let file = std::fs::File::open(later).unwrap();
    file.set_modified(std::time::SystemTime::now() + common::LONG).unwrap();
    assert_eq!(machine.versions().await, ["98.0.0"]);
    machine.install(".nvm/versions/node/v99.0.0/bin/node", "99.0.0");
    assert_eq!(machine.versions().await, ["98.0.0", "99.0.0"]);
}

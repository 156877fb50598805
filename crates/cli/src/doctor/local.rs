//! What is installed here: the programs a server looks for, where it looks for them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::{Finding, State};

/// How long a program may take to tell its version or its modules.
const PATIENCE: Duration = Duration::from_secs(20);

/// A part of a sandbox that is a program of somebody else's.
struct Part {
    name: &'static str,
    /// Names it may have on the search path.
    programs: &'static [&'static str],
    /// Where it may be although it is not on the search path.
    places: &'static [&'static str],
    /// A variable that says where it is.
    variable: Option<&'static str>,
    required: bool,
    /// What is lost without it.
    lost: &'static str,
    cure: &'static str,
}

const PARTS: &[Part] = &[
    Part {
        name: "bash",
        programs: &["bash"],
        places: &["/bin/bash", "/usr/bin/bash"],
        variable: None,
        required: true,
        lost: "no command and no shell can run",
        cure: "apt-get install bash",
    },
    Part {
        name: "Chromium",
        programs: &[
            "chromium",
            "chromium-browser",
            "google-chrome-stable",
            "google-chrome",
            "chrome",
        ],
        places: &[
            "/usr/lib/chromium/chromium",
            "/usr/lib/chromium-browser/chromium-browser",
            "/opt/google/chrome/chrome",
            "/opt/chromium/chrome",
        ],
        variable: Some("BROWSER_EXECUTABLE_PATH"),
        required: false,
        lost: "no browser: pages, screenshots of them, PDFs",
        cure: "apt-get install chromium fonts-liberation, or set BROWSER_EXECUTABLE_PATH to a Chrome or Chromium",
    },
    Part {
        name: "Xvnc",
        programs: &["Xvnc"],
        places: &[],
        variable: None,
        required: false,
        lost: "no desktop: screenshots of it, mouse and keyboard, VNC",
        cure: "apt-get install tigervnc-standalone-server",
    },
    Part {
        name: "openbox",
        programs: &["openbox"],
        places: &[],
        variable: None,
        required: false,
        lost: "windows of the desktop cannot be moved and focused",
        cure: "apt-get install openbox",
    },
    Part {
        name: "ffmpeg",
        programs: &["ffmpeg"],
        places: &[],
        variable: None,
        required: false,
        lost: "no recordings",
        cure: "apt-get install ffmpeg",
    },
    Part {
        name: "Node.js",
        programs: &["node", "nodejs"],
        places: &[],
        variable: None,
        required: false,
        lost: "no JavaScript",
        cure: "apt-get install nodejs npm",
    },
    Part {
        name: "code-server",
        programs: &["code-server"],
        places: &[],
        variable: None,
        required: false,
        lost: "no VS Code at /code-server",
        cure: "install it from https://github.com/coder/code-server/releases",
    },
];

/// Python's modules, each with what is lost without it.
const MODULES: &[(&str, &str, &str)] = &[
    ("ipykernel", "no Python code can be run", "pip install ipykernel"),
    ("jupyterlab", "no JupyterLab at /jupyter", "pip install jupyterlab"),
];

/// Looks for everything.
pub(super) async fn look() -> Vec<Finding> {
    let mut findings: Vec<_> = PARTS.iter().map(Part::look).collect();
    findings.extend(python().await);
    findings.push(descriptors());
    findings
}

impl Part {
    fn look(&self) -> Finding {
        let (state, detail, cure) = match self.find() {
            Some(path) => (State::Fine, path.display().to_string(), None),
            None => (State::Missing, self.lost.to_owned(), Some(self.cure.to_owned())),
        };
        Finding { part: self.name.to_owned(), state, required: self.required, detail, cure }
    }

    fn find(&self) -> Option<PathBuf> {
        let said = self.variable.and_then(std::env::var_os).filter(|said| !said.is_empty());
        if let Some(said) = said {
            return Some(PathBuf::from(said)).filter(|path| is_program(path));
        }
        let places = self.places.iter().map(PathBuf::from).find(|path| is_program(path));
        places.or_else(|| self.programs.iter().find_map(|name| on_path(name)))
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    let metadata = std::fs::metadata(path);
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Python, and the modules of it that a sandbox uses.
async fn python() -> Vec<Finding> {
    let Some(program) = on_path("python3") else {
        let missing = Finding {
            part: "Python".to_owned(),
            state: State::Missing,
            required: false,
            detail: "no Python code can be run, and no JupyterLab".to_owned(),
            cure: Some(
                "apt-get install python3 python3-venv, then pip install ipykernel jupyterlab"
                    .to_owned(),
            ),
        };
        return vec![missing];
    };
    let script = "import importlib.util as u, sys\nprint(sys.version.split()[0])\n\
                  for name in sys.argv[1:]: print('yes' if u.find_spec(name) else 'no')";
    let modules = MODULES.iter().map(|(name, ..)| *name);
    let asked = Command::new(&program)
        .args(["-c", script])
        .args(modules)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let said = match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(output)) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        _ => String::new(),
    };
    let mut lines = said.lines();
    let Some(version) = lines.next() else {
        let failed = Finding {
            part: "Python".to_owned(),
            state: State::Failed,
            required: false,
            detail: format!("{} does not run", program.display()),
            cure: Some(format!("try it by hand: {} --version", program.display())),
        };
        return vec![failed];
    };
    let fine = Finding {
        part: "Python".to_owned(),
        state: State::Fine,
        required: false,
        detail: format!("{} ({version})", program.display()),
        cure: None,
    };
    let module = |(name, lost, cure): &(&str, &str, &str)| {
        let found = lines.next() == Some("yes");
        Finding {
            part: (*name).to_owned(),
            state: if found { State::Fine } else { State::Missing },
            required: false,
            detail: if found { "installed".to_owned() } else { (*lost).to_owned() },
            cure: (!found).then(|| format!("{} -m {cure}", program.display())),
        }
    };
    let mut findings = vec![fine];
    findings.extend(MODULES.iter().map(module));
    findings
}

/// Each session of a sandbox takes several descriptors.
fn descriptors() -> Finding {
    const ENOUGH: u64 = 4096;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    let fine = most >= ENOUGH;
    Finding {
        part: "open files".to_owned(),
        state: if fine { State::Fine } else { State::Missing },
        required: false,
        detail: if fine {
            "enough for many sessions".to_owned()
        } else {
            format!("at most {most}, which many sessions use up")
        },
        cure: (!fine).then(|| {
            "raise it: ulimit -n 65536, or nofile in /etc/security/limits.conf".to_owned()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_with_what_is_lost_and_the_cure() {
        let part = Part {
            name: "nothing",
            programs: &["no-such-program-anywhere"],
            places: &["/no/such/place"],
            variable: None,
            required: true,
            lost: "all of it",
            cure: "get it",
        };
        let finding = part.look();
        assert_eq!((finding.state, finding.cure.as_deref()), (State::Missing, Some("get it")));
        assert_eq!(finding.detail, "all of it");
    }

    #[test]
    fn a_file_that_cannot_be_run_is_no_program() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(!is_program(&file) && !is_program(directory.path()));
    }
}

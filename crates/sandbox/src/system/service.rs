//! [`Systems`]: carries out the operations of the group.

use std::path::PathBuf;
use std::sync::Arc;

use atoll_api::system::{
    GetLimits, GetSandbox, Limits, ListNodePackages, ListPythonPackages, Package, Ping, RuntimeEnv,
    SandboxContext, SandboxDetail, SystemEnv, ToolCategory,
};
use atoll_operation::{Context, Error, Handle};

use crate::environment::Environment;
use crate::foundation::Foundation;

use super::cache::{Cache, Found};
use super::error::{SystemError, blocking};
use super::machine::Machine;
use super::text::Description;
use super::{packages, ports, runtimes, tools};

/// Tells what this sandbox is.
#[derive(Debug)]
pub struct Systems {
    home: PathBuf,
    workspace: PathBuf,
    version: &'static str,
    limits: Arc<Limits>,
    environment: Arc<Environment>,
    installed: Cache<Installed, SystemError>,
    python_packages: Cache<Vec<Package>, SystemError>,
    node_packages: Cache<Vec<Package>, SystemError>,
}

/// What is installed: found together, stale together.
#[derive(Debug)]
struct Installed {
    runtime: RuntimeEnv,
    tools: Vec<ToolCategory>,
}

impl Systems {
    /// Looks at nothing yet: the first caller pays, the server's start does not.
    pub fn new(foundation: &Foundation) -> Arc<Self> {
        Arc::new(Self {
            home: foundation.home.clone(),
            workspace: foundation.workspace.clone(),
            version: foundation.version,
            limits: Arc::clone(&foundation.limits),
            environment: Arc::clone(&foundation.environment),
            installed: Cache::default(),
            python_packages: Cache::default(),
            node_packages: Cache::default(),
        })
    }

    async fn installed(&self) -> Result<Arc<Installed>, SystemError> {
        let find = || async {
            let environment = Arc::clone(&self.environment);
            let tools = blocking(move || tools::installed(&environment));
            let (python, nodejs, tools) = tokio::join!(
                runtimes::python(&self.environment),
                runtimes::node(&self.environment),
                tools
            );
            Ok(Found {
                value: Installed { runtime: RuntimeEnv { python, nodejs }, tools: tools? },
                directories: self.program_directories(),
            })
        };
        self.installed.get(find).await
    }

    fn program_directories(&self) -> Vec<PathBuf> {
        let directories = tools::directories(&self.environment);
        directories.map(PathBuf::from).collect()
    }
}

impl Handle<GetSandbox> for Systems {
    async fn handle(&self, _cx: &Context, _input: GetSandbox) -> Result<SandboxContext, Error> {
        let environment = Arc::clone(&self.environment);
        let look = blocking(move || (Machine::read(&environment), ports::occupied()));
        let (look, installed) = tokio::join!(look, self.installed());
        let ((machine, occupied_ports), installed) = (look?, installed?);

        let home_dir = self.home.to_string_lossy().into_owned();
        let workspace = Some(self.workspace.to_string_lossy().into_owned());
        let detail = SandboxDetail {
            system: SystemEnv {
                os: machine.os.clone(),
                os_version: machine.os_version.clone(),
                arch: machine.arch.clone(),
                user: self.environment.get("USER").unwrap_or_default().to_owned(),
                home_dir: home_dir.clone(),
                workspace: workspace.clone(),
                timezone: machine.timezone.clone(),
                occupied_ports,
            },
            runtime: installed.runtime.clone(),
            utils: installed.tools.clone(),
        };
        let description = Description { version: self.version, machine: &machine, detail: &detail };
        Ok(SandboxContext {
            text: description.to_string(),
            home_dir,
            workspace,
            version: self.version.to_owned(),
            detail,
        })
    }
}

impl Handle<ListPythonPackages> for Systems {
    async fn handle(&self, _: &Context, _: ListPythonPackages) -> Result<Vec<Package>, Error> {
        let find = || async {
            let environment = Arc::clone(&self.environment);
            let python = blocking(move || {
                ["python3", "python"].iter().find_map(|name| tools::find(&environment, name))
            });
            let python = python.await?.ok_or(SystemError::PythonMissing)?;
            let mut found = packages::python(&python, &self.environment)
                .await
                .map_err(SystemError::PythonBroken)?;
            // Another interpreter may come to be the first.
            found.directories.extend(self.program_directories());
            Ok(found)
        };
        Ok(self.python_packages.get(find).await?.to_vec())
    }
}

impl Handle<ListNodePackages> for Systems {
    async fn handle(&self, cx: &Context, _: ListNodePackages) -> Result<Vec<Package>, Error> {
        let installed = self.installed().await?;
        if installed.runtime.nodejs.is_empty() {
            cx.hint("There is no Node.js on the PATH of commands; install it to use its packages.");
        }
        let find = || async {
            let environment = Arc::clone(&self.environment);
            let look = move || packages::node(&installed.runtime.nodejs, &environment);
            let mut found = blocking(look).await?;
            found.directories.extend(self.program_directories());
            Ok(found)
        };
        Ok(self.node_packages.get(find).await?.to_vec())
    }
}

impl Handle<GetLimits> for Systems {
    async fn handle(&self, _cx: &Context, _input: GetLimits) -> Result<Limits, Error> {
        Ok(Limits::clone(&self.limits))
    }
}

impl Handle<Ping> for Systems {
    async fn handle(&self, _cx: &Context, _input: Ping) -> Result<String, Error> {
        Ok("pong".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::tools::tests::{environment_with_home, install};
    use super::*;

    fn systems(environment: Environment) -> Arc<Systems> {
        let home = PathBuf::from(environment.get("HOME").unwrap());
        Arc::new(Systems {
            workspace: home.join("work"),
            home,
            version: "1.2.3",
            limits: Arc::default(),
            environment: Arc::new(environment),
            installed: Cache::default(),
            python_packages: Cache::default(),
            node_packages: Cache::default(),
        })
    }

    async fn ask<O: atoll_operation::Operation>(
        systems: &Systems,
        input: O,
    ) -> Result<O::Output, Error>
    where
        Systems: Handle<O>,
    {
        systems.handle(&Context::new("test"), input).await
    }

    #[tokio::test]
    async fn the_real_machine_is_described() {
        let home = tempfile::tempdir().unwrap();
        let environment =
            Environment::build(std::env::vars(), home.path(), home.path(), "someone", &[]);
        let systems = systems(environment);
        let context = ask(&systems, GetSandbox {}).await.unwrap();
        assert_eq!(context.home_dir, home.path().to_str().unwrap());
        assert_eq!(context.version, "1.2.3");
        assert_eq!(context.detail.system.user, "someone");
        assert!(!context.detail.runtime.python.is_empty());
        assert!(context.text.starts_with("System Environment (v1.2.3):\n"), "{}", context.text);
        let python = ask(&systems, ListPythonPackages {}).await.unwrap();
        assert!(python.is_sorted_by_key(|package| package.name.to_lowercase()));
    }

    #[tokio::test]
    async fn ports_are_looked_at_anew_each_time() {
        let home = tempfile::tempdir().unwrap();
        let systems = systems(environment_with_home(home.path()));
        ask(&systems, GetSandbox {}).await.unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let context = ask(&systems, GetSandbox {}).await.unwrap();
        assert!(context.detail.system.occupied_ports.contains(&port));
    }

    #[tokio::test]
    async fn without_python_the_answer_says_how_to_get_it() {
        let home = tempfile::tempdir().unwrap();
        let systems = systems(environment_with_home(home.path()));
        let error = ask(&systems, ListPythonPackages {}).await.unwrap_err();
        assert_eq!(error.code(), "system.python_missing");
        assert_eq!(error.kind().http_status(), 503);
        assert!(error.message().contains("Install Python"), "{error}");
        // The rest is described all the same.
        let context = ask(&systems, GetSandbox {}).await.unwrap();
        assert!(context.text.contains("Python: not installed"), "{}", context.text);
    }

    #[tokio::test]
    async fn a_broken_python_is_told_from_a_missing_one() {
        let home = tempfile::tempdir().unwrap();
        install(home.path(), "python3", "#!/bin/sh\necho no such version >&2\nexit 127\n");
        let error = ask(&systems(environment_with_home(home.path())), ListPythonPackages {})
            .await
            .unwrap_err();
        assert_eq!(error.code(), "system.python_missing");
        assert!(error.message().contains("no such version"), "{error}");
    }

    #[tokio::test]
    async fn many_callers_ask_python_once_until_something_is_installed() {
        let home = tempfile::tempdir().unwrap();
        let (calls, site) = (home.path().join("calls"), home.path().join("site"));
        let script = format!(
            "#!/bin/sh\necho >> {}\necho '{{\"packages\": [[\"a\", \"1\"]], \"paths\": [\"{}\"]}}'\n",
            calls.display(),
            site.display()
        );
        let python = install(home.path(), "python3", &script);
        let settle = |path: &Path| {
            let past = std::time::SystemTime::now() - std::time::Duration::from_secs(100);
            std::fs::File::open(path).unwrap().set_modified(past).unwrap();
        };
        settle(python.parent().unwrap());
        let systems = systems(environment_with_home(home.path()));
        let count = || std::fs::read_to_string(&calls).unwrap().lines().count();

        let all = (0..8).map(|_| ask(&systems, ListPythonPackages {}));
        for answer in futures::future::join_all(all).await {
            assert_eq!(answer.unwrap().len(), 1);
        }
        ask(&systems, ListPythonPackages {}).await.unwrap();
        assert_eq!(count(), 1);
        std::fs::create_dir(&site).unwrap();
        ask(&systems, ListPythonPackages {}).await.unwrap();
        assert_eq!(count(), 2);
    }

    #[tokio::test]
    async fn without_node_the_list_is_empty_and_the_hint_says_why() {
        let home = tempfile::tempdir().unwrap();
        let systems = systems(environment_with_home(home.path()));
        let cx = Context::new("test");
        let packages = Handle::<ListNodePackages>::handle(&*systems, &cx, ListNodePackages {});
        assert_eq!(packages.await.unwrap(), []);
        assert!(cx.take_hint().unwrap().contains("no Node.js"));
    }

    #[tokio::test]
    async fn limits_are_the_ones_in_force() {
        let home = tempfile::tempdir().unwrap();
        let systems = systems(environment_with_home(home.path()));
        assert_eq!(ask(&systems, GetLimits {}).await.unwrap(), *systems.limits);
        assert_eq!(ask(&systems, Ping {}).await.unwrap(), "pong");
    }
}

//! Which kernels are found, with real Pythons.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use atoll_kernel::{Catalogue, Note, Output, PYTHON, Request, Session, Status};
use common::{Bench, request, run, sandbox_python, start, text};

#[tokio::test(flavor = "multi_thread")]
async fn the_python_on_the_path_is_a_kernel_under_both_its_names() {
    let bench = Bench::new();
    let catalogue = bench.catalogue();
    let python = catalogue.find(PYTHON).await.unwrap();
    assert_eq!(python.program(), sandbox_python().join("bin/python3").to_str().unwrap());
    let kernels = catalogue.list().await;
    let exact = kernels.iter().find(|kernel| kernel.name.starts_with("python3.")).unwrap();
    assert_eq!(exact.display_name, python.display_name);
    assert_eq!(catalogue.find(&exact.name).await.unwrap().name, exact.name);
    assert!(kernels.iter().any(|kernel| kernel.name == PYTHON));
    assert_eq!(catalogue.find("python3.99").await, None);
    assert_eq!(catalogue.find("../../etc").await, None);
}

/// A virtual environment without packages.
fn bare_python(directory: &Path) -> PathBuf {
    let venv = directory.join("venv");
    let made = Command::new(sandbox_python().join("bin/python3"))
        .args(["-m", "venv", "--without-pip"])
        .arg(&venv)
        .status()
        .unwrap();
    assert!(made.success());
    venv
}

fn site_packages(venv: &Path) -> PathBuf {
    let library = std::fs::read_dir(venv.join("lib")).unwrap().next().unwrap().unwrap();
    library.path().join("site-packages")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_python_becomes_a_kernel_when_ipykernel_is_installed_and_stops_being_one() {
    let bench = Bench::new();
    let venv = bare_python(bench.home.path());
    let mut environment = bench.environment.clone();
    environment.insert("PATH".to_owned(), venv.join("bin").display().to_string());
    let catalogue = Catalogue::new(bench.spawner.clone(), environment);
    let program = venv.canonicalize().unwrap().join("bin/python3");
    let is_found = async || {
        let found = catalogue.find(PYTHON).await;
        found.is_some_and(|found| Path::new(found.program()) == program)
    };
    assert!(!is_found().await);
    let package = site_packages(&venv).join("ipykernel");
    std::fs::create_dir(&package).unwrap();
    std::fs::write(package.join("__init__.py"), "").unwrap();
    assert!(is_found().await);
    std::fs::remove_dir_all(&package).unwrap();
    assert!(!is_found().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_python_without_ipykernel_in_front_does_not_hide_the_one_that_has_it() {
    let bench = Bench::new();
    let venv = bare_python(bench.home.path());
    let broken = bench.home.path().join("broken");
    std::fs::create_dir(&broken).unwrap();
    std::os::unix::fs::symlink("/bin/false", broken.join("python3")).unwrap();
    let mut environment = bench.environment.clone();
    let path =
        format!("{}:{}:{}", broken.display(), venv.join("bin").display(), environment["PATH"]);
    environment.insert("PATH".to_owned(), path);
    let catalogue = Catalogue::new(bench.spawner.clone(), environment);
    let found = catalogue.find(PYTHON).await.unwrap();
    assert_eq!(found.program(), sandbox_python().join("bin/python3").to_str().unwrap());
}

fn describe_kernel(data: &Path, name: &str, json: &str) {
    let directory = data.join("kernels").join(name);
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("kernel.json"), json).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn descriptions_in_the_users_directories_come_first() {
    let bench = Bench::new();
    let (user, listed) =
        (bench.home.path().join(".local/share/jupyter"), bench.home.path().join("listed"));
    let of = |words: &str| {
        format!(r#"{{"argv": ["/bin/sh"], "language": "sh", "display_name": "{words}"}}"#)
    };
    describe_kernel(&user, "Sh", &of("user's"));
    describe_kernel(&user, PYTHON, &of("user's python"));
    describe_kernel(&listed, "sh", &of("listed"));
    assert_eq!(bench.catalogue().find("sh").await.unwrap().display_name, "user's");
    assert_eq!(bench.catalogue().find(PYTHON).await.unwrap().display_name, "user's python");
    let mut environment = bench.environment.clone();
    environment.insert("JUPYTER_PATH".to_owned(), listed.display().to_string());
    let catalogue = Catalogue::new(bench.spawner.clone(), environment);
    assert_eq!(catalogue.find("SH").await.unwrap().display_name, "listed");
    let names: Vec<_> = catalogue.list().await.into_iter().map(|kernel| kernel.name).collect();
    assert!(names.contains(&"sh".to_owned()) && names.is_sorted(), "{names:?}");
}

/// A kernel of another language, which tells of its errors in its answers only.
const ECHO: &str = r"
import time
from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel
class Echo(Kernel):
    implementation, implementation_version, banner = 'Echo', '1', ''
    language_info = {'name': 'echo', 'mimetype': 'text/plain', 'file_extension': '.txt'}
    def do_execute(self, code, silent, **more):
        if code == 'fail':
            return {'status': 'error', 'ename': 'Sorry', 'evalue': 'no', 'traceback': []}
        try:
            if code == 'wait':
                time.sleep(1000)
        except KeyboardInterrupt:
            code = 'interrupted'
        self.send_response(self.iopub_socket, 'stream', {'name': 'stdout', 'text': code})
        return {'status': 'ok', 'execution_count': self.execution_count, 'payload': [], 'user_expressions': {}}
IPKernelApp.launch_instance(kernel_class=Echo)
";

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_of_another_language_runs_like_any_other() {
    let bench = Bench::new();
    let script = bench.home.path().join("echo.py");
    std::fs::write(&script, ECHO).unwrap();
    let json = format!(
        r#"{{"argv": ["python3", "{}", "-f", "{{connection_file}}"], "language": "echo", "interrupt_mode": "message"}}"#,
        script.display()
    );
    describe_kernel(&bench.home.path().join(".local/share/jupyter"), "echo", &json);
    let spec = Arc::new(bench.catalogue().find("echo").await.unwrap());
    let session = Session::new(&bench.host, spec, bench.home.path().to_owned());
    assert_eq!(text(&run(&session, "hello").await), "hello");
    let failed = run(&session, "fail").await;
    assert_eq!(failed.status, Status::Error);
    assert!(
        matches!(&failed.outputs[..], [Output::Error { name, value, .. }] if name == "Sorry" && value == "no")
    );
    let late = start(&session, "wait", std::time::Duration::from_secs(1)).await.finish().await;
    assert_eq!((late.status, text(&late).as_str()), (Status::TimedOut, "interrupted"));
    let moved = Request { directory: Some("/".into()), ..request("there") };
    let finished = session.execute(moved).await.unwrap().finish().await;
    assert_eq!(
        (text(&finished).as_str(), &finished.notes[..]),
        ("there", &[Note::DirectoryIgnored][..])
    );
}

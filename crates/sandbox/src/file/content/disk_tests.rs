//! Disks that are full, closed, or mounted in odd ways. These need mounts of their own, so each test runs again in a
//! process with a private mount namespace; where this user may not have one they cannot be had.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use atoll_api::file::{AppendFile, CopyPath, CreateTempFile, ReplaceInFile, WriteFile};

use crate::file::fixture::Fixture;

const INSIDE: &str = "TEST_MOUNT";

/// The place the mounts were made at, or `None` when the test has been run elsewhere. `script` makes them at `$1`.
fn mounted(test: &str, script: &str) -> Option<PathBuf> {
    if let Some(place) = std::env::var_os(INSIDE) {
        return Some(place.into());
    }
    let may = Command::new("unshare").args(["-m", "mount", "-t", "tmpfs", "t", "/mnt"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let place = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let output = Command::new("unshare")
        .args(["-m", "sh", "-ec", &format!("{script}\nexec \"$2\" --exact \"$3\"\n"), "sh"])
        .args([place.path(), &program, Path::new(&format!("{}::{test}", crate_path()))])
        .env(INSIDE, place.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
    None
}

/// This module as the test harness names it.
fn crate_path() -> &'static str {
    module_path!().split_once("::").map_or("", |(_, path)| path)
}

fn write(file: &Path, content: String) -> WriteFile {
    let file = file.to_str().unwrap().to_owned();
    WriteFile { file, content, ..WriteFile::default() }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_full_disk_leaves_the_old_content_and_nothing_else() {
    let script = "mount -t tmpfs -o size=256k,nr_inodes=64 t \"$1\"";
    let test = "a_full_disk_leaves_the_old_content_and_nothing_else";
    let Some(place) = mounted(test, script) else { return };
    let fixture = Fixture::new();
    let at = |name: &str| place.join(name);
    let large = || "x".repeat(1 << 20);
    for name in ["plain", "log", "linked", "edited"] {
        fs::write(at(name), "old").unwrap();
    }
    fs::hard_link(at("linked"), at("other")).unwrap();
    let before = names(&place);

    for name in ["plain", "linked", "new", "dir/new"] {
        let fault = fixture.refused(write(&at(name), large())).await;
        assert_eq!(fault.error_type, "no_space_left", "{name}: {}", fault.message);
        assert_eq!(fault.errno_name.as_deref(), Some("ENOSPC"));
    }
    let file = |name: &str| at(name).to_str().unwrap().to_owned();
    for name in ["log", "fresh"] {
        let append = AppendFile { file: file(name), content: large(), ..AppendFile::default() };
        assert_eq!(fixture.refused(append).await.error_type, "no_space_left");
    }
    let temporary =
        CreateTempFile { dir: Some(file("")), content: large(), ..CreateTempFile::default() };
    assert_eq!(fixture.refused(temporary).await.error_type, "no_space_left");
    let replace = ReplaceInFile {
        file: file("edited"),
        old_str: "old".to_owned(),
        new_str: large(),
        sudo: false,
    };
    assert_eq!(fixture.refused(replace).await.error_type, "no_space_left");
    fs::create_dir(fixture.path("tree")).unwrap();
    fixture.put("tree/large", large());
    let copy = CopyPath { source: "tree".to_owned(), destination: file("copy"), overwrite: true };
    let fault = fixture.refused(copy).await;
    assert_eq!((fault.error_type.as_str(), fault.path), ("no_space_left", file("copy/large")));

    fs::remove_dir(at("dir")).unwrap();
    assert_eq!(names(&place), before);
    for name in before {
        assert_eq!(fs::read_to_string(at(&name)).unwrap(), "old", "{name}");
    }
    // All of the space is there again.
    fixture.ask(write(&at("plain"), "x".repeat(200 << 10))).await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_a_mount_of_its_own_is_written_in_place() {
    let script = "mount -t tmpfs t \"$1\"; mkdir \"$1/outside\" \"$1/inside\"
        echo old > \"$1/outside/f\"; touch \"$1/inside/f\"
        mount --bind \"$1/outside/f\" \"$1/inside/f\"";
    let test = "a_file_that_is_a_mount_of_its_own_is_written_in_place";
    let Some(place) = mounted(test, script) else { return };
    let fixture = Fixture::new();
    fixture.ask(write(&place.join("inside/f"), "new".to_owned())).await.unwrap();
    assert_eq!(fs::read_to_string(place.join("outside/f")).unwrap(), "new");
    assert_eq!(names(&place.join("inside")), ["f"]);
}

#[tokio::test]
async fn a_read_only_file_system_is_named() {
    let script = "mount -t tmpfs t \"$1\"; echo old > \"$1/f\"; mount -o remount,ro \"$1\"";
    let Some(place) = mounted("a_read_only_file_system_is_named", script) else { return };
    let fixture = Fixture::new();
    for name in ["f", "new", "dir/new"] {
        for append in [false, true] {
            let input = WriteFile { append, ..write(&place.join(name), "new".to_owned()) };
            let fault = fixture.refused(input).await;
            assert_eq!(fault.error_type, "read_only_filesystem", "{name}: {}", fault.message);
            assert_eq!(fault.errno_name.as_deref(), Some("EROFS"));
        }
    }
    assert_eq!(fs::read_to_string(place.join("f")).unwrap(), "old\n");
}

//! Listing, looking, making, deleting, moving and copying, with real directories.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use atoll_api::file::{
    CopyPath, DeletePath, FileExists, FileInfo, FileType, GetHomeDirectory, GetTempDirectory,
    ListPath, ListSort, MakeDirectory, MovePath, ResolvePath, StatPath,
};
use atoll_api::system::Limits;

use crate::file::fixture::{Fixture, permissions_count};

fn list(path: &str) -> ListPath {
    serde_json::from_value(serde_json::json!({"path": path})).unwrap()
}

fn delete(path: impl Into<String>) -> DeletePath {
    DeletePath { path: path.into(), recursive: true }
}

fn go(source: &str, destination: &str) -> MovePath {
    let (source, destination) = (source.to_owned(), destination.to_owned());
    MovePath { source, destination, overwrite: true }
}

fn copy(source: &str, destination: &str) -> CopyPath {
    let (source, destination) = (source.to_owned(), destination.to_owned());
    CopyPath { source, destination, overwrite: true }
}

fn stat(path: &str, follow: bool) -> StatPath {
    StatPath { path: path.to_owned(), follow }
}

fn names(files: &[FileInfo]) -> Vec<&str> {
    files.iter().map(|file| file.name.as_str()).collect()
}

fn mode(fixture: &Fixture, name: &str) -> u32 {
    fs::symlink_metadata(fixture.path(name)).unwrap().mode() & 0o7777
}

#[tokio::test]
async fn a_directory_is_listed_with_what_is_known_of_each_entry() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("dir")).unwrap();
    fixture.put("b.TXT", "12345");
    fixture.put(".hidden", "");
    fixture.put("dir/below.rs", "");
    symlink("dir", fixture.path("to-dir")).unwrap();
    symlink("nowhere", fixture.path("dangling")).unwrap();
    fs::set_permissions(fixture.path("b.TXT"), Permissions::from_mode(0o640)).unwrap();

    let listed = fixture.ask(ListPath { include_permissions: true, ..list(".") }).await.unwrap();
    assert_eq!(listed.path, fixture.at("").trim_end_matches('/'));
    assert_eq!(names(&listed.files), [".hidden", "b.TXT", "dangling", "dir", "to-dir"]);
    assert_eq!((listed.total_count, listed.directory_count, listed.file_count), (5, 2, 3));
    let file = &listed.files[1];
    assert_eq!((file.size, file.permissions.as_deref()), (Some(5), Some("640")));
    assert_eq!((file.extension.as_deref(), file.is_directory), (Some(".TXT"), false));
    assert!(file.modified_time.as_ref().unwrap().ends_with('Z'));
    let [dangling, dir, link] = &listed.files[2..] else { unreachable!("three more") };
    assert!(dangling.is_symlink && !dangling.is_directory);
    assert!(dir.is_directory && dir.size.is_none() && dir.extension.is_none());
    assert!(link.is_symlink && link.is_directory && link.size.is_none());

    let bare = ListPath { show_hidden: false, include_size: false, ..list(".") };
    let bare = fixture.ask(bare).await.unwrap();
    assert_eq!(names(&bare.files), ["b.TXT", "dangling", "dir", "to-dir"]);
    assert!(bare.files.iter().all(|file| file.size.is_none() && file.permissions.is_none()));
    let deep = fixture.ask(ListPath { recursive: true, ..list(".") }).await.unwrap();
    assert_eq!(deep.files.iter().filter(|file| file.name == "below.rs").count(), 1);
    let flat = ListPath { recursive: true, max_depth: Some(1), ..list(".") };
    assert_eq!(fixture.ask(flat).await.unwrap().total_count, 5);
    for types in [vec![".txt"], vec!["txt", ".rs"]] {
        let count = types.len();
        let file_types = Some(types.into_iter().map(str::to_owned).collect());
        let some = ListPath { recursive: true, file_types, ..list(".") };
        assert_eq!(fixture.ask(some).await.unwrap().files.len(), count);
    }
}

#[tokio::test]
async fn lists_are_ordered_and_what_is_equal_by_path() {
    let fixture = Fixture::new();
    for (name, content) in [("b.py", "1"), ("a.rs", "22"), ("c.py", "1"), ("d", "333")] {
        fixture.put(name, content);
    }
    fs::create_dir(fixture.path("z")).unwrap();
    fixture.put("z/a.rs", "1");
    let time = |seconds| std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    for (name, seconds) in [("b.py", 30), ("a.rs", 20), ("c.py", 10), ("d", 20), ("z", 5)] {
        fs::File::open(fixture.path(name)).unwrap().set_modified(time(seconds)).unwrap();
    }
    for (sort_by, sort_desc, expected) in [
        (ListSort::Name, false, ["a.rs", "b.py", "c.py", "d", "z"]),
        (ListSort::Name, true, ["z", "d", "c.py", "b.py", "a.rs"]),
        (ListSort::Size, false, ["z", "b.py", "c.py", "a.rs", "d"]),
        (ListSort::Size, true, ["d", "a.rs", "b.py", "c.py", "z"]),
        (ListSort::Modified, false, ["z", "c.py", "a.rs", "d", "b.py"]),
        (ListSort::Modified, true, ["b.py", "a.rs", "d", "c.py", "z"]),
        (ListSort::Type, false, ["z", "d", "b.py", "c.py", "a.rs"]),
    ] {
        let listed = fixture.ask(ListPath { sort_by, sort_desc, ..list(".") }).await.unwrap();
        assert_eq!(names(&listed.files), expected, "{sort_by:?} {sort_desc}");
    }
    let deep = fixture.ask(ListPath { recursive: true, ..list(".") }).await.unwrap();
    assert_eq!(deep.files[0].path, fixture.at("a.rs"));
    assert_eq!(deep.files[1].path, fixture.at("z/a.rs"));
}

#[tokio::test]
async fn lists_end_at_their_limit_and_at_links_that_go_round() {
    let fixture = Fixture::with(Limits { file_list_entries: 3, ..Limits::default() });
    symlink(".", fixture.path("round")).unwrap();
    let all = fixture.ask(ListPath { recursive: true, ..list(".") }).await.unwrap();
    assert_eq!((all.total_count, all.truncated), (1, false));
    assert_eq!(fixture.hint(), "");
    for name in ["a", "b", "c"] {
        fixture.put(name, "");
    }
    let some = fixture.ask(ListPath { recursive: true, ..list(".") }).await.unwrap();
    assert_eq!((some.total_count, some.truncated), (3, true));
    assert!(fixture.hint().contains("more than these 3"));
    // Looking for what is rare ends too.
    for number in 0..100 {
        fixture.put(&format!("f{number}"), "");
    }
    let rare = ListPath { file_types: Some(vec![".rare".into()]), ..list(".") };
    let rare = fixture.ask(rare).await.unwrap();
    assert_eq!((rare.total_count, rare.truncated), (0, true));
}

#[tokio::test]
async fn what_cannot_be_listed_is_told() {
    let fixture = Fixture::new();
    let file = fixture.put("f", "");
    let fault = fixture.refused(list(&file)).await;
    assert_eq!(fault.errno_name.as_deref(), Some("ENOTDIR"));
    assert_eq!(fixture.refused(list("missing")).await.error_type, "not_found");
    assert_eq!(fixture.refused(list(&"x".repeat(5000))).await.error_type, "invalid_path");

    let strange = OsStr::from_bytes(b"bad\xff\nname");
    fs::write(fixture.path("").join(strange), "").unwrap();
    let listed = fixture.ask(list(".")).await.unwrap();
    assert_eq!(names(&listed.files), ["bad\u{fffd}\nname", "f"]);
    assert!(fixture.hint().contains("not UTF-8"));

    fs::create_dir(fixture.path("closed")).unwrap();
    if permissions_count() {
        fs::set_permissions(fixture.path("closed"), Permissions::from_mode(0o000)).unwrap();
        let listed = fixture.ask(ListPath { recursive: true, ..list(".") }).await.unwrap();
        assert_eq!(listed.total_count, 3);
        assert!(fixture.hint().contains("could not be read"));
        assert_eq!(fixture.refused(list("closed")).await.error_type, "permission_denied");
        fs::set_permissions(fixture.path("closed"), Permissions::from_mode(0o700)).unwrap();
    }
}

#[tokio::test]
async fn a_path_is_looked_at_with_and_without_its_links() {
    let fixture = Fixture::new();
    let file = fixture.put("f", "12345");
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    symlink("f", fixture.path("link")).unwrap();
    symlink("nowhere", fixture.path("dangling")).unwrap();
    symlink("circle", fixture.path("circle")).unwrap();
    fixture.fifo("fifo");

    let seen = fixture.ask(stat("link", true)).await.unwrap();
    assert!(seen.exists && !seen.is_dir);
    assert_eq!((seen.file_type, seen.size), (Some(FileType::File), 5));
    assert_eq!((seen.mode.as_str(), seen.permissions.as_str()), ("-rw-r--r--", "644"));
    assert_eq!(seen.link_target.as_deref(), Some("f"));
    assert!(seen.mod_time_unix > 1_600_000_000 && seen.modified_time.is_some());
    assert!(!seen.owner.is_empty() && !seen.group.is_empty());
    let link = fixture.ask(stat("link", false)).await.unwrap();
    assert_eq!((link.file_type, link.mode.as_str()), (Some(FileType::Symlink), "lrwxrwxrwx"));
    for (path, kind) in
        [(".", FileType::Directory), ("fifo", FileType::Fifo), ("/dev/null", FileType::Device)]
    {
        assert_eq!(fixture.ask(stat(path, true)).await.unwrap().file_type, Some(kind));
    }
    for path in ["missing", "f/below", "dangling", "circle"] {
        let seen = fixture.ask(stat(path, true)).await.unwrap();
        assert!(!seen.exists && seen.file_type.is_none() && seen.mode.is_empty(), "{path}");
        let exists = fixture.ask(FileExists { path: path.to_owned() }).await.unwrap();
        assert!(!exists.exists, "{path}");
    }
    assert!(fixture.ask(stat("dangling", false)).await.unwrap().exists);
    assert!(fixture.ask(FileExists { path: "link".into() }).await.unwrap().exists);
    assert_eq!(fixture.refused(stat(&"x".repeat(5000), true)).await.error_type, "invalid_path");

    let resolved = fixture.ask(ResolvePath { path: "link".into() }).await.unwrap();
    assert_eq!(resolved.resolved_path, fs::canonicalize(&file).unwrap().to_str().unwrap());
    let fault = fixture.refused(ResolvePath { path: "dangling".into() }).await;
    assert_eq!(fault.error_type, "not_found");
}

#[tokio::test]
async fn the_sandbox_knows_its_directories() {
    let fixture = Fixture::new();
    let home = fixture.ask(GetHomeDirectory {}).await.unwrap().path;
    assert!(home.ends_with("/home"), "{home}");
    assert_eq!(fixture.ask(GetTempDirectory {}).await.unwrap().path, "/tmp");
}

#[tokio::test]
async fn directories_are_made_with_those_above_them() {
    let fixture = Fixture::new();
    let make = |path: &str, mode| MakeDirectory { path: path.to_owned(), mode };
    let made = fixture.ask(make("a/b/c", Some(0o1770))).await.unwrap();
    assert_eq!((made.path, made.created), (fixture.at("a/b/c"), true));
    assert_eq!(mode(&fixture, "a/b/c"), 0o1770);
    assert!(!fixture.ask(make("a/b/c", Some(0o700))).await.unwrap().created);
    assert_eq!(mode(&fixture, "a/b/c"), 0o1770);
    assert!(!fixture.ask(make("/", None)).await.unwrap().created);
    fixture.put("f", "");
    assert_eq!(fixture.refused(make("f", None)).await.error_type, "already_exists");
    let fault = fixture.refused(make("f/below", None)).await;
    assert_eq!(fault.errno_name.as_deref(), Some("ENOTDIR"));
    assert_eq!(fixture.refused(make(&"x".repeat(300), None)).await.error_type, "invalid_path");
}

#[tokio::test]
async fn deleting_takes_what_is_there_and_not_where_links_lead() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("tree/sub")).unwrap();
    fs::create_dir(fixture.path("kept")).unwrap();
    fixture.put("kept/f", "kept");
    fixture.put("tree/sub/f", "");
    symlink(fixture.path("kept"), fixture.path("tree/link")).unwrap();
    symlink(fixture.path("kept"), fixture.path("link")).unwrap();

    let once = DeletePath { recursive: false, ..delete("tree") };
    let fault = fixture.refused(once).await;
    assert_eq!(fault.errno_name.as_deref(), Some("ENOTEMPTY"));
    assert_eq!(fault.error_type, "invalid_target");
    for name in ["tree", "link"] {
        let done = fixture.ask(delete(name)).await.unwrap();
        assert_eq!((done.path, done.deleted), (fixture.at(name), true));
        assert!(!fixture.ask(delete(name)).await.unwrap().deleted);
    }
    assert!(!fixture.ask(delete("kept/f/below")).await.unwrap().deleted);
    assert_eq!(fixture.get("kept/f"), "kept");
    assert_eq!(fixture.names(""), ["kept"]);
}

#[tokio::test]
async fn what_the_sandbox_stands_on_is_neither_deleted_nor_moved() {
    let fixture = Fixture::new();
    let above = fixture.path("..").canonicalize().unwrap();
    symlink(fixture.path(""), fixture.path("link")).unwrap();
    let work = fixture.at("");
    for path in [
        "/",
        "/..",
        "~",
        ".",
        "../work",
        "link/..",
        "..",
        "link/../home",
        above.to_str().unwrap(),
        above.parent().unwrap().to_str().unwrap(),
        work.as_str(),
    ] {
        let fault = fixture.refused(delete(path)).await;
        assert!(fault.error_type.starts_with("invalid"), "{path}: {}", fault.message);
        let fault = fixture.refused(go(path, &fixture.at("elsewhere"))).await;
        assert!(fault.error_type.starts_with("invalid"), "{path}: {}", fault.message);
    }
    // A link to it is only a link.
    assert!(fixture.ask(delete("link")).await.unwrap().deleted);
    assert!(fixture.path("").exists());
}

#[tokio::test]
async fn moving_renames_replaces_and_goes_into_directories() {
    let fixture = Fixture::new();
    fixture.put("a", "a");
    fixture.put("b", "b");
    fs::create_dir_all(fixture.path("dir/a")).unwrap();
    let done = fixture.ask(go("a", "new")).await.unwrap();
    assert_eq!((done.source, done.destination), (fixture.at("a"), fixture.at("new")));
    fixture.ask(go("new", "b")).await.unwrap();
    assert_eq!(fixture.get("b"), "a");
    let done = fixture.ask(go("b", "dir")).await.unwrap();
    assert_eq!(done.destination, fixture.at("dir/b"));
    assert_eq!(fixture.names(""), ["dir"]);

    fixture.put("c", "c");
    let fault = fixture.refused(MovePath { overwrite: false, ..go("c", "dir/b") }).await;
    assert_eq!((fault.error_type.as_str(), fault.path), ("already_exists", fixture.at("dir/b")));
    fixture.ask(MovePath { overwrite: false, ..go("c", "dir/free") }).await.unwrap();
    assert_eq!((fixture.get("dir/b"), fixture.get("dir/free")), ("a".into(), "c".into()));
    fs::hard_link(fixture.path("dir/free"), fixture.path("other")).unwrap();
    fixture.ask(go("other", "dir/free")).await.unwrap();
    assert_eq!(fixture.names("dir"), ["a", "b", "free"]);
    assert_eq!(fixture.names(""), ["dir"]);
}

#[tokio::test]
async fn moves_that_cannot_be_change_nothing() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("dir/sub")).unwrap();
    symlink("dir/sub", fixture.path("link")).unwrap();
    fixture.put("f", "f");
    fixture.put("dir/g", "g");
    for (source, destination, error_type) in [
        ("missing", "x", "not_found"),
        ("f", "no/such/dir", "not_found"),
        ("f", "f/below", "invalid_target"),
        ("f", "f", "invalid_target"),
        ("f", ".", "invalid_target"),
        ("dir", "dir", "invalid_target"),
        ("dir", "dir/sub", "invalid_target"),
        ("dir", "dir/sub/deeper", "invalid_target"),
        ("dir", "link/deeper", "invalid_target"),
        ("dir", "f", "invalid_target"),
        ("dir/sub/..", "x", "invalid_path"),
    ] {
        let fault = fixture.refused(go(source, destination)).await;
        assert_eq!(fault.error_type, error_type, "{source} {destination}: {}", fault.message);
        if source != "dir" || destination != "f" {
            let fault = fixture.refused(copy(source, destination)).await;
            assert_eq!(fault.error_type, error_type, "{source} {destination}: {}", fault.message);
        }
    }
    assert_eq!(fixture.names(""), ["dir", "f", "link"]);
    assert_eq!(fixture.names("dir"), ["g", "sub"]);
}

/// A directory on another file system than the workspace, if this machine lends one.
fn elsewhere(fixture: &Fixture) -> Option<tempfile::TempDir> {
    let other = tempfile::tempdir_in("/dev/shm").ok()?;
    let device = |path| fs::metadata(path).unwrap().dev();
    (device(other.path().to_owned()) != device(fixture.path(""))).then_some(other)
}

#[tokio::test]
async fn moving_to_another_file_system_moves_everything_or_nothing() {
    let fixture = Fixture::new();
    let Some(other) = elsewhere(&fixture) else { return };
    let there = |name: &str| other.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir_all(fixture.path("tree/sub")).unwrap();
    fixture.put("tree/f", "content");
    symlink("f", fixture.path("tree/link")).unwrap();
    fs::set_permissions(fixture.path("tree/sub"), Permissions::from_mode(0o555)).unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000);
    fs::File::open(fixture.path("tree/f")).unwrap().set_modified(time).unwrap();

    fs::write(other.path().join("taken"), "taken").unwrap();
    let kept = MovePath { overwrite: false, ..go("tree", &there("taken")) };
    assert_eq!(fixture.refused(kept).await.error_type, "already_exists");
    let fault = fixture.refused(go("tree", &there("taken"))).await;
    assert_eq!(fault.errno_name.as_deref(), Some("ENOTDIR"));
    fixture.fifo("tree/pipe");
    let fault = fixture.refused(go("tree", &there("new"))).await;
    assert_eq!(
        (fault.error_type.as_str(), fault.path),
        ("invalid_target", fixture.at("tree/pipe"))
    );
    fs::remove_file(fixture.path("tree/pipe")).unwrap();
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1);
    assert_eq!(fixture.names("tree"), ["f", "link", "sub"]);

    fixture.ask(go("tree", &there(""))).await.unwrap();
    assert_eq!(fixture.names(""), [""; 0]);
    let moved = other.path().join("tree");
    assert_eq!(fs::read(moved.join("f")).unwrap(), b"content");
    assert_eq!(fs::metadata(moved.join("f")).unwrap().modified().unwrap(), time);
    assert_eq!(fs::read_link(moved.join("link")).unwrap().to_str(), Some("f"));
    assert_eq!(fs::metadata(moved.join("sub")).unwrap().mode() & 0o7777, 0o555);
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn copies_are_whole_with_modes_and_links() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("tree/sub/empty")).unwrap();
    fixture.put("tree/sub/f", "content");
    fixture.put("tree/g", "g");
    fs::set_permissions(fixture.path("tree/sub/f"), Permissions::from_mode(0o4751)).unwrap();
    fs::set_permissions(fixture.path("tree/sub"), Permissions::from_mode(0o555)).unwrap();
    symlink("sub/f", fixture.path("tree/link")).unwrap();
    symlink("/", fixture.path("tree/root")).unwrap();
    fixture.fifo("tree/pipe");

    let done = fixture.ask(copy("tree", "copy")).await.unwrap();
    assert_eq!((done.files, done.bytes), (4, 8));
    assert_eq!(done.destination, fixture.at("copy"));
    assert!(fixture.hint().contains("pipe"));
    assert_eq!(fixture.names("copy"), ["g", "link", "root", "sub"]);
    assert_eq!(fixture.get("copy/sub/f"), "content");
    // The right to act as the owner is not copied: the owner may be another.
    assert_eq!((mode(&fixture, "copy/sub/f"), mode(&fixture, "copy/sub")), (0o751, 0o555));
    assert_eq!(fs::read_link(fixture.path("copy/link")).unwrap().to_str(), Some("sub/f"));

    // Again, into what is there: inside it first, then over it.
    fs::set_permissions(fixture.path("copy/sub"), Permissions::from_mode(0o755)).unwrap();
    let inside = fixture.ask(copy("tree/g", "copy")).await.unwrap();
    assert_eq!(inside.destination, fixture.at("copy/g"));
    fs::create_dir(fixture.path("parent")).unwrap();
    fixture.ask(go("copy", "parent/tree")).await.unwrap();
    fixture.put("parent/tree/own", "own");
    fixture.put("tree/g", "changed");
    fixture.ask(copy("tree", "parent")).await.unwrap();
    assert_eq!(fixture.names("parent/tree"), ["g", "link", "own", "root", "sub"]);
    assert_eq!(fixture.get("parent/tree/g"), "changed");
    let fault = fixture.refused(CopyPath { overwrite: false, ..copy("tree", "parent") }).await;
    assert_eq!(fault.error_type, "already_exists");
    for sub in ["tree/sub", "parent/tree/sub"] {
        fs::set_permissions(fixture.path(sub), Permissions::from_mode(0o755)).unwrap();
    }
}

#[tokio::test]
async fn files_are_copied_over_files_only_when_told() {
    let fixture = Fixture::new();
    fixture.put("a", "a");
    fixture.put("b", "longer");
    fs::set_permissions(fixture.path("a"), Permissions::from_mode(0o640)).unwrap();
    let fault = fixture.refused(CopyPath { overwrite: false, ..copy("a", "b") }).await;
    assert_eq!(fault.error_type, "already_exists");
    assert_eq!(fixture.get("b"), "longer");
    symlink("b", fixture.path("link")).unwrap();
    fixture.ask(copy("a", "link")).await.unwrap();
    assert_eq!((fixture.get("b"), mode(&fixture, "b")), ("a".into(), 0o640));
    assert!(fs::symlink_metadata(fixture.path("link")).unwrap().is_symlink());
    fixture.ask(copy("link", "linked")).await.unwrap();
    assert!(fs::symlink_metadata(fixture.path("linked")).unwrap().is_symlink());
    fixture.ask(copy("link", "a")).await.unwrap();
    assert!(fs::symlink_metadata(fixture.path("a")).unwrap().is_symlink());
    let fault = fixture.refused(copy("b", "link")).await;
    assert_eq!(fault.error_type, "invalid_target");

    fs::create_dir(fixture.path("dir")).unwrap();
    assert_eq!(fixture.refused(copy("dir", "b")).await.error_type, "invalid_target");
    let pipe = fixture.fifo("pipe");
    assert_eq!(fixture.refused(copy(&pipe, "x")).await.error_type, "invalid_target");
    assert_eq!(fixture.refused(copy("/dev/zero", "x")).await.error_type, "invalid_target");
    assert_eq!(fixture.names(""), ["a", "b", "dir", "link", "linked", "pipe"]);
}

#[tokio::test]
async fn a_copy_that_fails_half_way_leaves_nothing() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("tree/sub")).unwrap();
    fixture.put("tree/a", "a");
    // Longer than any path, once it lies one directory deeper.
    let mut deep = fixture.path("tree/sub");
    while deep.as_os_str().len() + 250 < 4000 {
        deep.push("d".repeat(240));
    }
    let left = 4095 - deep.as_os_str().len() - 2;
    deep.push("d".repeat(left.min(250)));
    fs::create_dir_all(&deep).unwrap();
    let fault = fixture.refused(copy("tree", &"n".repeat(200))).await;
    assert_eq!(fault.errno_name.as_deref(), Some("ENAMETOOLONG"), "{}", fault.message);
    assert!(!fault.path.contains(".atoll-"), "{}", fault.path);
    assert_eq!(fixture.names(""), ["tree"]);
    fixture.ask(delete("tree")).await.unwrap();
}

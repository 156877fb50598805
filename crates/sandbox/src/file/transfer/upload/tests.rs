use std::fs::{self, File, Permissions};
use std::future::{pending, ready};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};

use atoll_operation::Kind;
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;

use super::*;

/// A workspace with nothing in it.
struct Sandbox {
    directory: TempDir,
    landing: Landing,
}

fn sandbox() -> Sandbox {
    let directory = tempfile::tempdir().unwrap();
    let workspace = directory.path().join("work");
    let temporary = directory.path().join("tmp");
    fs::create_dir(&workspace).unwrap();
    fs::create_dir(&temporary).unwrap();
    let places = Places { home: directory.path().into(), workspace };
    let landing = Landing { places, temporary, turns: Arc::default() };
    Sandbox { directory, landing }
}

fn incoming(filename: Option<&str>, pieces: Vec<io::Result<&'static str>>) -> Incoming {
    let pieces = pieces.into_iter().map(|piece| piece.map(Bytes::from));
    let bytes = stream::iter(pieces.collect::<Vec<_>>()).boxed();
    Incoming::new(filename.map(str::to_owned), bytes)
}

impl Sandbox {
    fn at(&self, path: &str) -> PathBuf {
        self.landing.places.workspace.join(path)
    }

    async fn take(&self, path: Option<&str>, file: Incoming) -> Result<FileUploadResult, Error> {
        let path = path.map(str::to_owned);
        self.landing.clone().take(path.clone(), file, ready(Ok(path))).await
    }

    async fn upload(&self, path: Option<&str>, text: &'static str) -> Result<PathBuf, Error> {
        let result = self.take(path, incoming(Some("name.txt"), vec![Ok(text)])).await?;
        assert!(result.success);
        assert_eq!(result.file_size, text.len() as u64);
        assert_eq!(fs::read_to_string(&result.file_path).unwrap(), text);
        Ok(result.file_path.into())
    }

    /// Every file and directory there is, from the workspace on.
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut directories = vec![self.directory.path().to_owned()];
        while let Some(directory) = directories.pop() {
            // What is looked at may go at this moment.
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    directories.push(entry.path());
                }
                let path = entry.path();
                let name = path.strip_prefix(self.directory.path()).unwrap();
                names.push(show(name));
            }
        }
        names.retain(|name| name != "work" && name != "tmp");
        names.sort();
        names
    }
}

#[tokio::test]
async fn a_file_goes_where_the_caller_says() {
    let sandbox = sandbox();
    let at = |path| sandbox.at(path);
    assert_eq!(sandbox.upload(None, "1").await.unwrap(), at("name.txt"));
    assert_eq!(sandbox.upload(Some("new/deep/a"), "2").await.unwrap(), at("new/deep/a"));
    assert_eq!(sandbox.upload(Some("new"), "3").await.unwrap(), at("new/name.txt"));
    assert_eq!(sandbox.upload(Some("other/"), "4").await.unwrap(), at("other/name.txt"));
    let absolute = at("absolute");
    assert_eq!(sandbox.upload(absolute.to_str(), "5").await.unwrap(), absolute);
    assert_eq!(sandbox.upload(Some(""), "").await.unwrap(), at("name.txt"));
    let expected = ["absolute", "name.txt", "new", "new/deep", "new/deep/a", "new/name.txt"];
    let mut expected: Vec<_> = expected.iter().map(|name| format!("work/{name}")).collect();
    expected.extend(["work/other".to_owned(), "work/other/name.txt".to_owned()]);
    assert_eq!(sandbox.names(), expected, "and nothing else is left");
    let plain = File::create(at("plain")).unwrap().metadata().unwrap();
    assert_eq!(fs::metadata(absolute).unwrap().mode(), plain.mode(), "as any new file");
}

#[tokio::test]
async fn the_path_may_come_after_the_file() {
    let sandbox = sandbox();
    let elsewhere = sandbox.directory.path().join("elsewhere/file");
    let late = ready(Ok(elsewhere.to_str().map(str::to_owned)));
    let file = incoming(Some("x"), vec![Ok("late")]);
    let result = sandbox.landing.clone().take(None, file, late).await.unwrap();
    assert_eq!(Path::new(&result.file_path), elsewhere);
    assert_eq!(fs::read(&elsewhere).unwrap(), b"late");
    assert_eq!(sandbox.names(), ["elsewhere", "elsewhere/file"]);
    let plain = File::create(sandbox.at("plain")).unwrap().metadata().unwrap();
    assert_eq!(fs::metadata(elsewhere).unwrap().mode(), plain.mode());
}

#[tokio::test]
async fn a_file_system_border_is_crossed_by_copying() {
    let sandbox = sandbox();
    let device = |path: &Path| fs::metadata(path).unwrap().dev();
    // Without a second file system there is no border.
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else { return };
    if device(elsewhere.path()) == device(sandbox.directory.path()) {
        return;
    }
    let (new, old) = (elsewhere.path().join("deep/new"), elsewhere.path().join("old"));
    fs::write(&old, "old and longer").unwrap();
    fs::set_permissions(&old, Permissions::from_mode(0o640)).unwrap();
    for path in [&new, &old] {
        let late = ready(Ok(path.to_str().map(str::to_owned)));
        let file = incoming(None, vec![Ok("over "), Ok("there")]);
        sandbox.landing.clone().take(None, file, late).await.unwrap();
        assert_eq!(fs::read(path).unwrap(), b"over there");
    }
    assert_eq!(fs::metadata(&old).unwrap().mode() & 0o7777, 0o640);
    let plain = File::create(elsewhere.path().join("plain")).unwrap().metadata().unwrap();
    assert_eq!(fs::metadata(&new).unwrap().mode(), plain.mode());
    assert_eq!(sandbox.names(), [""; 0]);
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 3);
}

#[tokio::test]
async fn a_workspace_that_is_missing_is_made_when_needed() {
    let sandbox = sandbox();
    fs::remove_dir(sandbox.at("")).unwrap();
    assert_eq!(sandbox.upload(None, "x").await.unwrap(), sandbox.at("name.txt"));
    assert_eq!(sandbox.names(), ["work/name.txt"]);
}

#[tokio::test]
async fn a_replaced_file_keeps_its_mode_and_its_owner() {
    let sandbox = sandbox();
    fs::write(sandbox.at("a"), "old").unwrap();
    fs::set_permissions(sandbox.at("a"), Permissions::from_mode(0o751)).unwrap();
    // Only root may give files away; others keep their own.
    let _given = std::os::unix::fs::chown(sandbox.at("a"), Some(1234), Some(2345));
    let before = fs::metadata(sandbox.at("a")).unwrap();
    sandbox.upload(Some("a"), "new").await.unwrap();
    let after = fs::metadata(sandbox.at("a")).unwrap();
    assert_eq!(
        (after.mode(), after.uid(), after.gid()),
        (before.mode(), before.uid(), before.gid())
    );
    assert_ne!(after.ino(), before.ino(), "replaced, not written over");
}

#[tokio::test]
async fn links_stay_links() {
    let sandbox = sandbox();
    fs::write(sandbox.at("real"), "old").unwrap();
    symlink("real", sandbox.at("link")).unwrap();
    symlink("not/yet", sandbox.at("dangling")).unwrap();
    fs::hard_link(sandbox.at("real"), sandbox.at("other")).unwrap();
    sandbox.upload(Some("link"), "through the link").await.unwrap();
    assert_eq!(fs::read(sandbox.at("real")).unwrap(), b"through the link");
    assert_eq!(fs::read(sandbox.at("other")).unwrap(), b"through the link", "one file still");
    sandbox.upload(Some("dangling"), "made").await.unwrap();
    assert_eq!(fs::read(sandbox.at("not/yet")).unwrap(), b"made");
    assert!(fs::symlink_metadata(sandbox.at("dangling")).unwrap().is_symlink());
}

#[tokio::test]
async fn only_files_are_replaced_and_that_is_known_before_anything_is_sent() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.at("dir/name.txt")).unwrap();
    mkfifoat(CWD, sandbox.at("pipe"), Mode::RWXU).unwrap();
    fs::write(sandbox.at("file"), "").unwrap();
    let before = sandbox.names();
    for path in ["dir", "dir/", "pipe", "/dev/null", "file/", "file/below", "a/../.."] {
        let bytes = stream::poll_fn(|_| panic!("asked for")).boxed();
        let never = Incoming::new(Some("name.txt".to_owned()), bytes);
        let path = Some(path.to_owned());
        let error = sandbox.landing.clone().take(path.clone(), never, pending()).await.unwrap_err();
        assert_eq!(error.code(), "file.invalid_target", "{path:?}: {error}");
        assert_eq!(error.kind(), Kind::InvalidArgument);
    }
    assert_eq!(sandbox.names(), before);
    assert!(fs::metadata(sandbox.at("pipe")).unwrap().file_type().is_fifo());
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing() {
    let sandbox = sandbox();
    fs::write(sandbox.at("old"), "old").unwrap();
    for path in [None, Some("old"), Some("new/deep/file")] {
        let broken = vec![Ok("half"), Err(io::Error::other("gone"))];
        let error = sandbox.take(path, incoming(None, broken)).await.unwrap_err();
        assert!(error.message().contains("gone"), "{error}");
        assert_eq!(sandbox.names(), ["work/old"], "{path:?}");
    }
    let late = ready(Err(Error::field("path", "type", "as asked")));
    let file = incoming(None, vec![Ok("whole")]);
    let path = Some("new/file".to_owned());
    sandbox.landing.clone().take(path, file, late).await.unwrap_err();
    let other = ready(Ok(Some("other".to_owned())));
    let file = incoming(None, vec![Ok("whole")]);
    let error = sandbox.landing.clone().take(Some("new/file".to_owned()), file, other).await;
    assert_eq!(error.unwrap_err().fields()[0].rule, "twice");
    assert_eq!(fs::read(sandbox.at("old")).unwrap(), b"old");
    assert_eq!(sandbox.names(), ["work/old"]);
}

#[tokio::test]
async fn a_caller_that_leaves_leaves_nothing() {
    let sandbox = sandbox();
    for path in [None, Some("new/deep/file".to_owned())] {
        let first = stream::iter([Ok(Bytes::from(vec![1; 3 << 20]))]);
        let bytes = first.chain(stream::pending()).boxed();
        let file = Incoming::new(None, bytes);
        let mut taking = Box::pin(sandbox.landing.clone().take(path.clone(), file, pending()));
        let begun = async {
            while !sandbox.names().iter().any(|name| name.contains(".atoll-")) {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            _ = &mut taking => panic!("it cannot end"),
            () = begun => {}
        }
        drop(taking);
        let started = std::time::Instant::now();
        while !sandbox.names().is_empty() {
            assert!(started.elapsed().as_secs() < 60, "{:?} stays", sandbox.names());
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn what_cannot_be_written_is_said_with_the_systems_words() {
    let sandbox = sandbox();
    let error = sandbox.upload(Some(&"x".repeat(300)), "x").await.unwrap_err();
    assert_eq!(error.code(), "file.invalid_path", "{error}");
    let error = sandbox.upload(Some("/proc/self/nothing"), "x").await.unwrap_err();
    assert!(error.message().starts_with("Failed to upload file: [Errno "), "{error}");
    assert!(error.message().contains("/proc/self/nothing"), "{error}");
    assert_eq!(sandbox.names(), [""; 0]);
}

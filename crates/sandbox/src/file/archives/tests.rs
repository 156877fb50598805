//! Archives through the service: what callers are told, and what is left when they go away.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use atoll_api::file::{ArchiveFormat, DownloadArchive, ExtractArchive, ExtractedArchive};
use atoll_api::system::Limits;
use atoll_operation::{ByteStream, Content, Error, Fetch, Incoming, Kind, Registry, Source};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use crate::file::fixture::{Fixture, fault};

const LONG: Duration = Duration::from_mins(1);

impl Fixture {
    async fn archive(&self, path: &str, format: ArchiveFormat) -> Result<Content, Error> {
        self.files.fetch(&self.cx, DownloadArchive { path: path.to_owned(), format }).await
    }

    /// Sends an archive; some fields come before it, all of them after it.
    async fn extract(
        &self,
        early: Value,
        all: Value,
        bytes: ByteStream,
    ) -> Result<ExtractedArchive, Error> {
        let mut registry = Registry::default();
        registry.bind_upload::<ExtractArchive, _>(&self.files);
        let bound = registry.get("file_extract").unwrap();
        let file = Incoming::new(Some("archive".to_owned()), bytes);
        let all = Box::pin(async move { Ok(all) });
        let output = bound.receive(self.cx.clone(), early, all, Some(file)).await?;
        Ok(serde_json::from_value(output).unwrap())
    }

    async fn unpack(&self, input: Value, archive: Vec<u8>) -> Result<ExtractedArchive, Error> {
        self.extract(input.clone(), input, once(archive)).await
    }

    /// Everything there is, hidden things too. What vanishes meanwhile is not there.
    fn all_names(&self) -> Vec<String> {
        fn visit(directory: &Path, names: &mut Vec<String>) {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = entry.path();
                names.push(path.to_string_lossy().into_owned());
                if path.is_dir() && !path.is_symlink() {
                    visit(&path, names);
                }
            }
        }
        let mut names = Vec::new();
        visit(self.path("").parent().unwrap(), &mut names);
        names.sort();
        names
    }
}

fn once(bytes: Vec<u8>) -> ByteStream {
    stream::iter([Ok(Bytes::from(bytes))]).boxed()
}

async fn collect(content: Content) -> io::Result<Vec<u8>> {
    let Source::Stream(stream) = content.source else { unreachable!("not a stream") };
    stream
        .try_fold(Vec::new(), async |mut all, chunk| {
            all.extend_from_slice(&chunk);
            Ok(all)
        })
        .await
}

/// A tar with these files.
fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, content) in files {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..108].copy_from_slice(b"0000644\0");
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[136..147].copy_from_slice(b"00000000000");
        header[148..156].fill(b' ');
        header[156] = b'0';
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        archive.extend_from_slice(&header);
        archive.extend_from_slice(content);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

#[tokio::test]
async fn a_directory_goes_out_and_comes_back_in_every_format() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("project/src")).unwrap();
    let large = "line of a large file\n".repeat(200_000);
    fixture.put("project/src/large", &large);
    fixture.put("project/größe.txt", "unicode");
    for (format, media_type, filename) in [
        (ArchiveFormat::Tar, "application/x-tar", "project.tar"),
        (ArchiveFormat::TarGz, "application/gzip", "project.tar.gz"),
        (ArchiveFormat::Zip, "application/zip", "project.zip"),
    ] {
        let content = fixture.archive("project", format).await.unwrap();
        assert_eq!(content.media_type, media_type);
        assert_eq!(content.filename.as_deref(), Some(filename));
        assert_eq!(content.version, None);
        let archive = collect(content).await.unwrap();
        let into = format!("out-{filename}");
        let extracted = fixture.unpack(json!({"path": into}), archive).await.unwrap();
        assert_eq!(extracted.path, fixture.at(&into));
        assert_eq!(extracted.format, format);
        assert_eq!(extracted.entries, 4);
        assert_eq!(extracted.bytes, large.len() as u64 + 7);
        assert_eq!(fixture.get(&format!("{into}/project/src/large")), large);
        assert_eq!(fixture.get(&format!("{into}/project/größe.txt")), "unicode");
    }
}

#[tokio::test]
async fn a_single_file_is_an_archive_too() {
    let fixture = Fixture::new();
    fixture.put("one.txt", "one");
    let content = fixture.archive("one.txt", ArchiveFormat::default()).await.unwrap();
    assert_eq!(content.filename.as_deref(), Some("one.txt.tar.gz"));
    let archive = collect(content).await.unwrap();
    fixture.unpack(json!({"path": "copy"}), archive).await.unwrap();
    assert_eq!(fixture.get("copy/one.txt"), "one");
}

#[tokio::test]
async fn what_cannot_be_packed_is_said_before_anything_is_sent() {
    let fixture = Fixture::new();
    let error = fixture.archive("nowhere", ArchiveFormat::Tar).await.unwrap_err();
    assert_eq!(fault(&error).error_type, "not_found");
    assert_eq!(fault(&error).operation, "archive");
    let pipe = fixture.fifo("pipe");
    let error = fixture.archive(&pipe, ArchiveFormat::Tar).await.unwrap_err();
    assert_eq!(fault(&error).error_type, "invalid_target");
    let error = fixture.archive("", ArchiveFormat::Tar).await.unwrap_err();
    assert_eq!(fault(&error).error_type, "invalid_path");
}

#[tokio::test]
async fn an_archive_that_cannot_be_completed_ends_with_an_error() {
    let fixture = Fixture::new();
    // Deeper than is packed, which stops whoever asks.
    fs::create_dir_all(fixture.path("deep").join("d/".repeat(140))).unwrap();
    let content = fixture.archive("deep", ArchiveFormat::TarGz).await.unwrap();
    let error = collect(content).await.unwrap_err();
    assert!(error.to_string().contains("/d/d/d"), "{error}");
}

#[tokio::test]
async fn packing_ends_when_nobody_takes_the_bytes() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("large")).unwrap();
    let file = fs::File::create(fixture.path("large/file")).unwrap();
    file.set_len(1 << 40).unwrap();
    let content = fixture.archive("large", ArchiveFormat::Tar).await.unwrap();
    let Source::Stream(mut stream) = content.source else { unreachable!("not a stream") };
    stream.next().await.unwrap().unwrap();
    drop(stream);
    // The work holds the only handles on the tree: once they are gone, it has ended.
    let held = || {
        let links = fs::read_dir("/proc/self/fd").unwrap();
        let targets = links.filter_map(|link| fs::read_link(link.ok()?.path()).ok());
        targets.filter(|target| target.starts_with(fixture.path("large"))).count()
    };
    drop(file);
    let started = Instant::now();
    while held() > 0 {
        assert!(started.elapsed() < LONG, "packing goes on");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_workspace_is_where_archives_go() {
    let fixture = Fixture::new();
    let archive = tar(&[("file", b"content")]);
    let extracted = fixture.unpack(json!({}), archive.clone()).await.unwrap();
    assert_eq!(extracted.path, fixture.at("").trim_end_matches('/'));
    assert_eq!(fixture.get("file"), "content");
    // A form may leave the field empty, and name the place after the file.
    let all = json!({"path": "later/place"});
    fixture.extract(json!({"path": ""}), all, once(archive.clone())).await.unwrap();
    assert_eq!(fixture.get("later/place/file"), "content");
    let twice = json!({"path": "other"});
    let error = fixture.extract(json!({"path": "one"}), twice, once(archive)).await.unwrap_err();
    assert_eq!(error.kind(), Kind::InvalidInput);
}

#[tokio::test]
async fn files_that_are_there_are_replaced_only_when_asked_for() {
    let fixture = Fixture::new();
    fixture.put("file", "old");
    let archive = tar(&[("other", b"other"), ("file", b"new")]);
    let error = fixture.unpack(json!({}), archive.clone()).await.unwrap_err();
    assert_eq!(fault(&error).error_type, "already_exists");
    assert_eq!(fault(&error).path, fixture.at("file"));
    assert!(error.hint().unwrap().contains("overwrite"));
    assert_eq!(fixture.names(""), ["file"]);
    fixture.unpack(json!({"overwrite": true}), archive).await.unwrap();
    assert_eq!((fixture.get("file"), fixture.get("other")), ("new".into(), "other".into()));

    fs::create_dir(fixture.path("directory")).unwrap();
    let archive = tar(&[("directory", b"")]);
    let error = fixture.unpack(json!({"overwrite": true}), archive).await.unwrap_err();
    assert_eq!(fault(&error).error_type, "invalid_target");
}

#[tokio::test]
async fn each_refusal_has_its_code_and_changes_nothing() {
    let fixture = Fixture::with(Limits {
        archive_entries: 10,
        archive_bytes: 20 << 20,
        archive_ratio: 2,
        upload_bytes: 30 << 20,
        ..Limits::default()
    });
    fixture.put("file", "old");
    let before = fixture.all_names();
    let whole = tar(&[("a", b"content")]);
    let names: Vec<_> = (0..11).map(|at| at.to_string()).collect();
    let many: Vec<_> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let large = tar(&[("a", &vec![0; 21 << 20])]);
    let other = Fixture::new();
    let zeros = other.put("zeros", vec![0; 17 << 20]);
    let bomb = collect(other.archive(&zeros, ArchiveFormat::TarGz).await.unwrap()).await.unwrap();
    for (archive, code, kind, word) in [
        (b"hello".to_vec(), "archive.format", Kind::InvalidArgument, "something else"),
        (tar(&[("../evil", b"")]), "archive.unsafe", Kind::InvalidArgument, "'../evil'"),
        (tar(&[("/evil", b"")]), "archive.unsafe", Kind::InvalidArgument, "absolute"),
        (whole[..700].to_vec(), "archive.broken", Kind::InvalidArgument, "too early"),
        (tar(&many), "archive.too_large", Kind::TooLarge, "archive_entries"),
        (large, "archive.too_large", Kind::TooLarge, "archive_bytes"),
        (bomb, "archive.too_large", Kind::TooLarge, "archive_ratio"),
        (vec![0; 31 << 20], "archive.too_large", Kind::TooLarge, "upload_bytes"),
    ] {
        for input in [json!({}), json!({"path": "new/place", "overwrite": true})] {
            let error = fixture.unpack(input, archive.clone()).await.unwrap_err();
            assert_eq!((error.code(), error.kind()), (code, kind), "{error}");
            assert!(error.message().contains(word), "{error}");
            assert_eq!(fixture.all_names(), before);
        }
    }
}

#[tokio::test]
async fn a_destination_that_cannot_be_is_refused_before_the_archive_is_taken() {
    let fixture = Fixture::new();
    fixture.put("file", "old");
    for path in ["file", "file/below"] {
        let endless = stream::pending().boxed();
        let input = json!({"path": path});
        let refused = fixture.extract(input.clone(), input, endless);
        let error = tokio::time::timeout(LONG, refused).await.unwrap().unwrap_err();
        assert_eq!(fault(&error).error_type, "invalid_target", "{error}");
    }
}

#[tokio::test]
async fn an_archive_that_breaks_off_leaves_nothing() {
    let fixture = Fixture::new();
    let before = fixture.all_names();
    let archive = tar(&[("a", &vec![1; 3 << 20])]);
    let pieces: Vec<io::Result<Bytes>> = archive
        .chunks(100_000)
        .take(20)
        .map(|piece| Ok(Bytes::copy_from_slice(piece)))
        .chain([Err(io::Error::other("the connection broke"))])
        .collect();
    let error = fixture.extract(json!({}), json!({}), stream::iter(pieces).boxed()).await;
    assert!(error.unwrap_err().message().contains("the connection broke"));
    assert_eq!(fixture.all_names(), before);
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_nothing() {
    let fixture = Fixture::new();
    let before = fixture.all_names();
    // While it comes in.
    let (sent, mut received) = tokio::sync::mpsc::channel(1);
    let pieces =
        stream::iter([Ok(Bytes::from(vec![0; 2 << 20]))]).chain(stream::once(async move {
            sent.send(()).await.unwrap();
            std::future::pending().await
        }));
    {
        let incoming = fixture.extract(json!({}), json!({}), pieces.boxed());
        tokio::select! {
            _ = incoming => unreachable!("it waits for ever"),
            _ = received.recv() => {}
        }
    }
    assert_eq!(fixture.all_names(), before);

    // While it is unpacked: as soon as something of it can be seen, unless it was quicker than we are.
    let names: Vec<String> = (0..5000).map(|at| format!("file-{at}")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), &b"content"[..])).collect();
    let archive = tar(&files);
    let started = Instant::now();
    loop {
        assert!(started.elapsed() < LONG, "it is always unpacked before anybody can leave");
        let unpacking = fixture.unpack(json!({"path": "place"}), archive.clone());
        leave_when(|| fixture.all_names().len() > before.len(), unpacking).await;
        while fixture.all_names().iter().any(|name| name.contains("/.atoll")) {
            assert!(started.elapsed() < 2 * LONG, "left behind: {:?}", fixture.all_names());
            tokio::task::yield_now().await;
        }
        if !fixture.path("place").exists() {
            break;
        }
        assert_eq!(fixture.names("place").len(), names.len(), "all or nothing");
        fs::remove_dir_all(fixture.path("place")).unwrap();
    }
    assert_eq!(fixture.all_names(), before);
}

/// Goes away as soon as the condition holds, or when the work is done.
async fn leave_when(condition: impl Fn() -> bool, work: impl Future) {
    let mut work = std::pin::pin!(work);
    while !condition() && futures::poll!(work.as_mut()).is_pending() {
        tokio::task::yield_now().await;
    }
}

//! Reading, writing, appending, replacing and searching, with real files.

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use atoll_api::file::{
    AppendFile, CreateTempFile, FileContentEncoding, ReadFile, ReplaceInFile, SearchInFile,
    WriteFile,
};
use atoll_api::system::Limits;
use atoll_operation::{Error, Kind};

use crate::file::fixture::{Fixture, permissions_count};

fn read(file: impl Into<String>) -> ReadFile {
    ReadFile { file: file.into(), ..ReadFile::default() }
}

fn lines(file: &str, start_line: Option<u64>, end_line: Option<u64>) -> ReadFile {
    ReadFile { start_line, end_line, ..read(file) }
}

fn write(file: impl Into<String>, content: impl Into<String>) -> WriteFile {
    WriteFile { file: file.into(), content: content.into(), ..WriteFile::default() }
}

fn replace(file: &str, old_str: &str, new_str: &str) -> ReplaceInFile {
    let (old_str, new_str) = (old_str.to_owned(), new_str.to_owned());
    ReplaceInFile { file: file.to_owned(), old_str, new_str, sudo: false }
}

fn search(file: &str, regex: &str) -> SearchInFile {
    SearchInFile { file: file.to_owned(), regex: regex.to_owned(), sudo: false }
}

fn field(error: &Error) -> &str {
    assert_eq!(error.kind(), Kind::InvalidInput, "{error}");
    &error.fields()[0].path[0]
}

#[tokio::test]
async fn a_file_is_read_whole_or_by_lines_and_past_its_end_there_is_nothing() {
    let fixture = Fixture::new();
    let file = fixture.put("f", "one\r\nzwei é\nlast");
    let all = fixture.ask(read(&file)).await.unwrap();
    assert_eq!((all.content.as_str(), all.line_count), ("one\r\nzwei é\nlast", Some(3)));
    assert_eq!(all.file, file);
    for (start, end, expected) in [
        (None, Some(1), "one\r\n"),
        (Some(1), Some(2), "zwei é\n"),
        (Some(1), None, "zwei é\nlast"),
        (Some(2), Some(99), "last"),
        (Some(3), Some(5), ""),
        (Some(1), Some(1), ""),
        (Some(0), Some(u64::MAX), "one\r\nzwei é\nlast"),
    ] {
        let some = fixture.ask(lines(&file, start, end)).await.unwrap();
        assert_eq!((some.content.as_str(), some.line_count), (expected, Some(3)), "{start:?}");
    }
    assert_eq!(fixture.ask(read("f")).await.unwrap().content, all.content);
    let empty = fixture.put("empty", "");
    assert_eq!(fixture.ask(read(&empty)).await.unwrap().line_count, Some(0));
}

#[tokio::test]
async fn ranges_that_cannot_be_are_named() {
    let fixture = Fixture::new();
    let file = fixture.put("f", "x");
    let error = fixture.ask(lines(&file, Some(3), Some(2))).await.unwrap_err();
    assert_eq!(field(&error), "end_line");
    let both = ReadFile { base64: true, ..lines(&file, Some(0), None) };
    assert_eq!(field(&fixture.ask(both).await.unwrap_err()), "base64");
}

#[tokio::test]
async fn bytes_that_are_no_text_are_read_as_base64_only() {
    let fixture = Fixture::new();
    let file = fixture.put("f", b"\xff\xfeh\0i\0\n\0");
    for input in [read(&file), lines(&file, Some(1), Some(2))] {
        let fault = fixture.refused(input).await;
        assert_eq!(fault.error_type, "decode_error");
        assert_eq!(fault.exception_type.as_deref(), Some("UnicodeDecodeError"));
        assert!(fault.message.contains("UTF-16LE") && fault.message.contains("base64"));
    }
    let bytes = fixture.ask(ReadFile { base64: true, ..read(&file) }).await.unwrap();
    assert_eq!((bytes.content.as_str(), bytes.line_count), ("//5oAGkACgA=", None));
    // A mistake elsewhere does not keep lines from being read.
    let mixed = fixture.put("mixed", b"good\n\xe9vil\n");
    let good = fixture.ask(lines(&mixed, Some(0), Some(1))).await.unwrap();
    assert_eq!((good.content.as_str(), good.line_count), ("good\n", Some(2)));
}

#[tokio::test]
async fn a_large_file_is_read_by_lines() {
    let fixture = Fixture::with(Limits { file_read_bytes: 1000, ..Limits::default() });
    let file = fixture.put("f", "0123456789\n".repeat(1000));
    let fault = fixture.refused(read(&file)).await;
    assert_eq!(fault.error_type, "too_large");
    for part in ["1000", "11000", "start_line", "/v1/file/download"] {
        assert!(fault.message.contains(part), "{}", fault.message);
    }
    let some = fixture.ask(lines(&file, Some(500), Some(502))).await.unwrap();
    assert_eq!((some.content.len(), some.line_count), (22, Some(1000)));
    let fault = fixture.refused(lines(&file, Some(0), None)).await;
    assert_eq!(fault.error_type, "too_large");
    // A file that says it is empty and is not, and one without end.
    let fault = fixture.refused(read("/proc/cpuinfo")).await;
    assert_eq!(fault.error_type, "too_large");
}

#[tokio::test]
async fn work_that_nobody_waits_for_breaks_off() {
    let fixture = Fixture::new();
    let file = fixture.at("endless");
    fs::File::create(&file).unwrap().set_len(1 << 40).unwrap();
    for _ in 0..2 {
        let mut reading = Box::pin(fixture.ask(lines(&file, Some(1), None)));
        assert!(futures::poll!(&mut reading).is_pending());
        let mut searching = Box::pin(fixture.ask(search(&file, "x")));
        assert!(futures::poll!(&mut searching).is_pending());
    }
    // This test ends once its threads do, and these would read for half an hour.
}

#[tokio::test]
async fn files_of_the_kernel_are_read_though_they_say_they_are_empty() {
    let fixture = Fixture::new();
    let status = fixture.ask(read("/proc/self/status")).await.unwrap();
    assert!(status.content.contains("Pid:"), "{}", status.content);
    assert!(status.line_count > Some(10));
    let found = fixture.ask(search("/proc/self/status", "^Pid:")).await.unwrap();
    assert_eq!(found.matches, ["Pid:"]);
}

#[tokio::test]
async fn files_of_the_kernel_are_written_in_place() {
    let fixture = Fixture::new();
    let file = format!("/proc/{}/comm", std::process::id());
    fixture.ask(write(&file, "long-test-name")).await.unwrap();
    fixture.ask(write(&file, "a-test")).await.unwrap();
    assert_eq!(fixture.ask(read(&file)).await.unwrap().content, "a-test\n");
}

#[tokio::test]
async fn what_is_no_regular_file_is_refused_and_never_waited_for() {
    let fixture = Fixture::new();
    let fifo = fixture.fifo("fifo");
    let socket = fixture.at("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (path, word) in [
        (fifo.as_str(), "named pipe"),
        (socket.as_str(), "socket"),
        ("/dev/null", "device"),
        ("/dev/zero", "device"),
        ("/dev/tty", "device"),
    ] {
        let faults = [
            fixture.refused(read(path)).await,
            fixture.refused(write(path, "x")).await,
            fixture.refused(WriteFile { append: true, ..write(path, "x") }).await,
            fixture.refused(replace(path, "a", "b")).await,
            fixture.refused(search(path, "a")).await,
        ];
        for fault in faults {
            assert_eq!(fault.error_type, "invalid_target", "{path}: {}", fault.message);
            assert!(fault.message.contains(word), "{path}: {}", fault.message);
        }
    }
    for fault in [
        fixture.refused(read(fixture.at(""))).await,
        fixture.refused(write(fixture.at(""), "x")).await,
        fixture.refused(write("/", "x")).await,
        fixture.refused(write("~/..", "x")).await,
        fixture.refused(replace(&fixture.at(""), "a", "b")).await,
        fixture.refused(search(&fixture.at(""), "a")).await,
    ] {
        assert_eq!(fault.errno_name.as_deref(), Some("EISDIR"), "{}", fault.message);
        assert_eq!(fault.exception_type.as_deref(), Some("IsADirectoryError"));
    }
}

#[tokio::test]
async fn paths_that_lead_nowhere_are_told_as_the_system_tells_them() {
    let fixture = Fixture::new();
    let file = fixture.put("file", "x");
    symlink("circle", fixture.path("circle")).unwrap();
    for (path, error_type, errno_name) in [
        (fixture.at("missing"), "not_found", "ENOENT"),
        (format!("{file}/below"), "invalid_target", "ENOTDIR"),
        (fixture.at("circle"), "invalid_path", "ELOOP"),
        (fixture.at(&"x".repeat(5000)), "invalid_path", "ENAMETOOLONG"),
        (fixture.at(&"x/".repeat(2500)), "invalid_path", "ENAMETOOLONG"),
    ] {
        let fault = fixture.refused(read(&path)).await;
        assert_eq!(
            (fault.error_type.as_str(), fault.errno_name.as_deref()),
            (error_type, Some(errno_name))
        );
        assert_eq!(fault.operation, "read");
        if error_type != "not_found" {
            let fault = fixture.refused(write(&path, "x")).await;
            assert_eq!(fault.error_type, error_type, "{}", fault.message);
        }
    }
    let fault = fixture.refused(read("")).await;
    assert_eq!(fault.error_type, "invalid_path");
    let fault = fixture.refused(read("a\0b")).await;
    assert_eq!(fault.error_type, "invalid_path");
}

#[tokio::test]
async fn writing_makes_directories_and_keeps_modes_and_links() {
    let fixture = Fixture::new();
    let written = fixture.ask(write("a/b/new\nline", "text")).await.unwrap();
    assert_eq!((written.file, written.bytes_written), (fixture.at("a/b/new\nline"), Some(4)));
    assert_eq!(fixture.get("a/b/new\nline"), "text");
    let umask = {
        fs::write(fixture.path("usual"), "").unwrap();
        fs::metadata(fixture.path("usual")).unwrap().mode() & 0o7777
    };
    assert_eq!(fs::metadata(fixture.path("a/b/new\nline")).unwrap().mode() & 0o7777, umask);

    let script = fixture.put("script", "old");
    fs::set_permissions(&script, Permissions::from_mode(0o750)).unwrap();
    symlink("script", fixture.path("link")).unwrap();
    fixture.ask(write(fixture.at("link"), "new")).await.unwrap();
    assert_eq!(fixture.get("script"), "new");
    assert!(fs::symlink_metadata(fixture.path("link")).unwrap().is_symlink());
    assert_eq!(fs::metadata(&script).unwrap().mode() & 0o7777, 0o750);
    fixture.ask(WriteFile { mode: Some(0o4711), sync: true, ..write(&script, "") }).await.unwrap();
    assert_eq!(fs::metadata(&script).unwrap().mode() & 0o7777, 0o4711);

    symlink("made", fixture.path("dangling")).unwrap();
    fixture.ask(write("dangling", "x")).await.unwrap();
    assert_eq!(fixture.get("made"), "x");
    assert_eq!(fixture.names(""), ["a", "dangling", "link", "made", "script", "usual"]);
}

#[tokio::test]
async fn content_is_taken_in_three_encodings() {
    let fixture = Fixture::new();
    for (encoding, content, expected) in [
        (FileContentEncoding::Utf8, "é\0", &b"\n\xc3\xa9\0\n"[..]),
        (FileContentEncoding::Base64, "w6k", b"\xc3\xa9"),
        (FileContentEncoding::Raw, "é", b"\xe9"),
    ] {
        let input = WriteFile {
            encoding,
            leading_newline: true,
            trailing_newline: true,
            ..write("f", content)
        };
        let written = fixture.ask(input).await.unwrap();
        assert_eq!(fs::read(fixture.path("f")).unwrap(), expected);
        assert_eq!(written.bytes_written, Some(expected.len() as u64));
    }
    for (encoding, content) in
        [(FileContentEncoding::Base64, "###"), (FileContentEncoding::Raw, "€")]
    {
        let error = fixture.ask(WriteFile { encoding, ..write("f", content) }).await.unwrap_err();
        assert_eq!(field(&error), "content");
        let input = AppendFile { file: "f".into(), content: content.into(), encoding };
        assert_eq!(field(&fixture.ask(input).await.unwrap_err()), "content");
    }
    assert_eq!(fs::read(fixture.path("f")).unwrap(), b"\xe9");
}

#[tokio::test]
async fn appending_adds_to_the_same_file() {
    let fixture = Fixture::new();
    let append = |content: &str| AppendFile {
        file: "sub/log".into(),
        content: content.into(),
        ..AppendFile::default()
    };
    fixture.ask(append("one\n")).await.unwrap();
    let file = fs::metadata(fixture.path("sub/log")).unwrap().ino();
    let written = fixture.ask(append("two\n")).await.unwrap();
    assert_eq!(written.bytes_written, Some(4));
    let more = WriteFile { append: true, leading_newline: true, ..write("sub/log", "3") };
    fixture.ask(more).await.unwrap();
    assert_eq!(fixture.get("sub/log"), "one\ntwo\n\n3");
    assert_eq!(fs::metadata(fixture.path("sub/log")).unwrap().ino(), file);
    let mode = WriteFile { append: true, mode: Some(0o600), ..write("sub/log", "") };
    fixture.ask(mode).await.unwrap();
    assert_eq!(fs::metadata(fixture.path("sub/log")).unwrap().mode() & 0o7777, 0o600);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_at_once_never_mix_and_appends_are_never_torn() {
    let fixture = std::sync::Arc::new(Fixture::new());
    let mut tasks = Vec::new();
    for number in 0..40 {
        let fixture = std::sync::Arc::clone(&fixture);
        let letter = char::from(b'a' + u8::try_from(number % 26).unwrap());
        let text = letter.to_string().repeat(100_000);
        tasks.push(tokio::spawn(async move {
            fixture.ask(write("written", text.clone())).await.unwrap();
            let seen = fixture.ask(read("written")).await.unwrap().content;
            assert_eq!(seen.len(), 100_000);
            assert!(seen.bytes().all(|byte| byte == seen.as_bytes()[0]), "a mixture");
            let content = format!("{text}\n");
            let append = AppendFile { file: "log".into(), content, ..AppendFile::default() };
            fixture.ask(append).await.unwrap();
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let log = fixture.get("log");
    assert_eq!(log.lines().count(), 40);
    assert!(log.lines().all(|line| {
        line.len() == 100_000 && line.bytes().all(|byte| byte == line.as_bytes()[0])
    }));
    assert_eq!(fixture.names(""), ["log", "written"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edits_of_one_file_at_once_are_all_made() {
    let fixture = std::sync::Arc::new(Fixture::new());
    let text: String = (0..50).map(|number| format!("<{number}>")).collect();
    fixture.put("f", &text);
    symlink("f", fixture.path("link")).unwrap();
    let tasks: Vec<_> = (0..50)
        .map(|number| {
            let fixture = std::sync::Arc::clone(&fixture);
            let name = if number % 2 == 0 { "f" } else { "link" };
            tokio::spawn(async move {
                let (old, new) = (format!("<{number}>"), format!("[{number}]"));
                let done = fixture.ask(replace(name, &old, &new)).await.unwrap();
                assert_eq!(done.replaced_count, 1);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(fixture.get("f"), text.replace('<', "[").replace('>', "]"));
}

#[tokio::test]
async fn every_occurrence_is_replaced_and_nothing_else_touched() {
    let fixture = Fixture::new();
    let file = fixture.put("f", b"a.b\r\na.b\xff");
    let done = fixture.ask(replace(&file, "a.b", "x")).await.unwrap();
    assert_eq!((done.file.as_str(), done.replaced_count), (file.as_str(), 2));
    assert_eq!(fs::read(&file).unwrap(), b"x\r\nx\xff");

    let before = fs::metadata(&file).unwrap();
    let done = fixture.ask(replace(&file, "a.b", "x")).await.unwrap();
    assert_eq!(done.replaced_count, 0);
    let after = fs::metadata(&file).unwrap();
    assert_eq!(
        (before.ino(), before.modified().unwrap()),
        (after.ino(), after.modified().unwrap())
    );
    assert_eq!(field(&fixture.ask(replace(&file, "", "x")).await.unwrap_err()), "old_str");
    let fault = fixture.refused(replace(&fixture.at("missing"), "a", "b")).await;
    assert_eq!((fault.operation.as_str(), fault.error_type.as_str()), ("replace", "not_found"));
}

#[tokio::test]
async fn an_edit_keeps_to_its_limit_before_and_after() {
    let fixture = Fixture::with(Limits { file_edit_bytes: 100, ..Limits::default() });
    let large = fixture.put("large", "x".repeat(101));
    assert_eq!(fixture.refused(replace(&large, "x", "y")).await.error_type, "too_large");
    let growing = fixture.put("growing", "x".repeat(50));
    assert_eq!(fixture.refused(replace(&growing, "x", "yyy")).await.error_type, "too_large");
    assert_eq!(fixture.get("growing"), "x".repeat(50));
}

#[tokio::test]
async fn matches_are_found_line_by_line() {
    let fixture = Fixture::new();
    let file = fixture.put("f", b"ab ab\r\n\xff\nAB\n\nlast ab");
    let found = fixture.ask(search(&file, "(?i)ab$|a[b]")).await.unwrap();
    assert_eq!(found.matches, ["ab", "ab", "AB", "ab"]);
    assert_eq!(found.line_numbers, [0, 0, 2, 4]);
    assert!(!found.truncated);
    let blank = fixture.ask(search(&file, "^$")).await.unwrap();
    assert_eq!(blank.line_numbers, [3]);
    for regex in ["(", "(?<=a)b", "(a{1000}){1000}{1000}", &"(".repeat(5000)] {
        assert_eq!(field(&fixture.ask(search(&file, regex)).await.unwrap_err()), "regex");
    }
}

#[tokio::test]
async fn matches_and_lines_past_their_limits_are_left_out_and_told() {
    let limits = Limits { file_search_matches: 3, file_read_bytes: 100, ..Limits::default() };
    let fixture = Fixture::with(limits);
    let file = fixture.put("f", "x\n".repeat(4));
    let found = fixture.ask(search(&file, "x")).await.unwrap();
    assert_eq!((found.matches.len(), found.truncated), (3, true));
    assert!(fixture.hint().contains("narrower"));
    let long = fixture.put("long", format!("{}end\nend\n", "-".repeat(300_000)));
    let found = fixture.ask(search(&long, "end")).await.unwrap();
    assert_eq!((found.line_numbers, found.truncated), (vec![1], true));
    assert!(fixture.hint().contains("100 bytes"));
    let wide = fixture.put("wide", "y".repeat(60) + "\n" + &"y".repeat(60));
    let found = fixture.ask(search(&wide, "y+")).await.unwrap();
    assert_eq!((found.matches.len(), found.truncated), (1, true));
}

#[tokio::test]
async fn temporary_files_get_names_nobody_uses() {
    let fixture = Fixture::new();
    let create = |pattern: Option<&str>, content: &str| CreateTempFile {
        dir: Some("new/dir".into()),
        pattern: pattern.map(str::to_owned),
        content: content.into(),
        ..CreateTempFile::default()
    };
    let one = fixture.ask(create(Some("a*b-*.txt"), "text")).await.unwrap().file;
    let other = fixture.ask(create(Some("a*b-*.txt"), "text")).await.unwrap().file;
    assert_ne!(one, other);
    let name = Path::new(&one).file_name().unwrap().to_str().unwrap();
    let random = name.strip_prefix("a*b-").and_then(|rest| rest.strip_suffix(".txt"));
    assert!(random.is_some_and(|random| random.len() > 5), "{name}");
    let mut text = String::new();
    fs::File::open(&one).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), fs::metadata(&one).unwrap().mode() & 0o7777), ("text", 0o600));

    let bytes = CreateTempFile { base64: true, mode: Some(0o644), ..create(None, "/w==") };
    let file = fixture.ask(bytes).await.unwrap().file;
    assert_eq!(fs::read(&file).unwrap(), b"\xff");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o644);
    let plain = fixture.ask(create(Some("plain"), "")).await.unwrap().file;
    assert!(plain.starts_with(&fixture.at("new/dir/plain")));
    let somewhere = CreateTempFile { dir: Some(String::new()), ..create(None, "") };
    let file = fixture.ask(somewhere).await.unwrap().file;
    assert!(file.starts_with("/tmp/tmp"), "{file}");
    fs::remove_file(file).unwrap();

    assert_eq!(field(&fixture.ask(create(Some("a/b"), "")).await.unwrap_err()), "pattern");
    let wrong = CreateTempFile { base64: true, ..create(None, "#") };
    assert_eq!(field(&fixture.ask(wrong).await.unwrap_err()), "content");
    let fault = fixture.refused(create(Some(&"x".repeat(300)), "")).await;
    assert_eq!(fault.error_type, "invalid_path");
}

#[tokio::test]
async fn what_must_not_be_written_says_so_and_stays() {
    let fixture = Fixture::new();
    // Refused even to root: a file of the kernel's that is only for reading.
    let fault = fixture.refused(write("/proc/sys/kernel/ostype", "x")).await;
    assert_eq!(fault.error_type, "permission_denied", "{}", fault.message);
    let fault = fixture.refused(write("/proc/nothing/new", "x")).await;
    assert_eq!(fault.error_type, "not_found", "{}", fault.message);
    if permissions_count() {
        let file = fixture.put("f", "old");
        fs::set_permissions(&file, Permissions::from_mode(0o400)).unwrap();
        let fault = fixture.refused(write(&file, "new")).await;
        assert_eq!(fault.errno_name.as_deref(), Some("EACCES"));
        fs::set_permissions(&file, Permissions::from_mode(0o000)).unwrap();
        assert_eq!(fixture.refused(read(&file)).await.error_type, "permission_denied");
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(fixture.get("f"), "old");
        // A directory that takes no new file does not keep a file in it from being written.
        fs::create_dir(fixture.path("closed")).unwrap();
        let inside = fixture.put("closed/f", "old");
        fs::set_permissions(fixture.path("closed"), Permissions::from_mode(0o500)).unwrap();
        fixture.ask(write(&inside, "new")).await.unwrap();
        assert_eq!(fixture.get("closed/f"), "new");
        let fault = fixture.refused(write(fixture.at("closed/g"), "x")).await;
        assert_eq!(fault.error_type, "permission_denied");
        fs::set_permissions(fixture.path("closed"), Permissions::from_mode(0o700)).unwrap();
    }
}

//! The helper's side: one request in, one answer out.

use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::sync::Arc;

use atoll_operation::{Context, Error, Kind};
use serde_json::json;

use super::Privileged;
use super::wire::{Answer, Failure, Outcome, Request, Task};
use crate::file::desk::{Desk, Interest};

/// Bytes of a request: the largest content, however it is escaped, is far below.
const REQUEST_BYTES: u64 = 1 << 30;

/// Carries out one request, read from `stdin`, and writes the answer to `stdout`. Reading and searching break off when
/// `stdin` ends: the server closes it when nobody waits for the answer, and could not stop a process of root's.
pub fn as_root_main(
    mut stdin: impl BufRead + Send + 'static,
    mut stdout: impl Write,
) -> io::Result<()> {
    let mut line = Vec::new();
    (&mut stdin).take(REQUEST_BYTES).read_until(b'\n', &mut line)?;
    let interest = Interest::default();
    let lost = interest.clone();
    std::thread::spawn(move || {
        let _the_end = io::copy(&mut stdin, &mut io::sink());
        lost.lose();
    });
    let cx = Context::new(super::SUBCOMMAND);
    let outcome = match serde_json::from_slice::<Request>(&line) {
        Ok(request) => carry_out(request, &cx, interest),
        Err(error) => Err(Error::new(
            Kind::Internal,
            "internal",
            format!("the request to work as root could not be read: {error}"),
        )),
    };
    let outcome = match outcome {
        Ok(result) => Outcome::Result(result),
        Err(error) => Outcome::Failure(Failure::from(&error)),
    };
    serde_json::to_writer(&mut stdout, &Answer { outcome, hint: cx.take_hint() })?;
    stdout.write_all(b"\n")?;
    stdout.flush()
}

fn carry_out(
    request: Request,
    cx: &Context,
    interest: Interest,
) -> Result<serde_json::Value, Error> {
    let desk =
        Desk { limits: Arc::new(request.limits), turns: Arc::default(), cx: cx.clone(), interest };
    match request.task {
        Task::Read(input) => run(input, &desk),
        Task::Write(input) => run(input, &desk),
        Task::Replace(input) => run(input, &desk),
        Task::Search(input) => run(input, &desk),
    }
}

fn run<O: Privileged>(mut input: O, desk: &Desk) -> Result<serde_json::Value, Error> {
    let path = std::mem::take(input.file());
    input.run(desk, Path::new(&path)).map(|output| json!(output))
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;
    use std::os::unix::net::UnixStream;

    use atoll_api::file::{FileOperationError, ReadFile, WriteFile};
    use atoll_api::system::Limits;
    use serde_json::Value;

    use super::*;

    /// What the helper answers while the server waits.
    fn answer(line: &[u8]) -> Answer {
        let (mut server, helper) = UnixStream::pair().unwrap();
        server.write_all(line).unwrap();
        let mut output = Vec::new();
        as_root_main(BufReader::new(helper), &mut output).unwrap();
        serde_json::from_slice(&output).unwrap()
    }

    fn request(task: Task) -> Vec<u8> {
        let mut line = serde_json::to_vec(&Request { limits: Limits::default(), task }).unwrap();
        line.push(b'\n');
        line
    }

    fn read(path: &Path) -> Vec<u8> {
        let file = path.to_str().unwrap().to_owned();
        request(Task::Read(ReadFile { file, ..ReadFile::default() }))
    }

    #[test]
    fn results_and_faults_cross_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let file = path.to_str().unwrap().to_owned();
        let content = "line\n\"é\"\0".to_owned();
        let write = WriteFile { file, content: content.clone(), ..WriteFile::default() };
        let Outcome::Result(written) = answer(&request(Task::Write(write))).outcome else {
            unreachable!("a failure")
        };
        assert_eq!(written["bytes_written"], json!(content.len()));
        let Outcome::Result(text) = answer(&read(&path)).outcome else { unreachable!("a failure") };
        assert_eq!(text["content"], json!(content));

        let Outcome::Failure(failure) = answer(&read(&path.join("below"))).outcome else {
            unreachable!("a result")
        };
        let error = Error::from(failure);
        assert_eq!((error.kind(), error.code()), (Kind::InvalidArgument, "file.invalid_target"));
        let details: Value = error.details().unwrap().clone();
        let fault: FileOperationError = serde_json::from_value(details).unwrap();
        assert_eq!(fault.errno_name.as_deref(), Some("ENOTDIR"));
    }

    #[test]
    fn reading_breaks_off_when_the_server_has_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("endless");
        std::fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let file = path.to_str().unwrap().to_owned();
        let read = ReadFile { file, start_line: Some(1), ..ReadFile::default() };
        let (mut server, helper) = UnixStream::pair().unwrap();
        server.write_all(&request(Task::Read(read))).unwrap();
        drop(server);
        let mut output = Vec::new();
        as_root_main(BufReader::new(helper), &mut output).unwrap();
        assert!(String::from_utf8(output).unwrap().contains("Cancelled"));
    }

    #[test]
    fn what_makes_no_sense_is_answered() {
        for line in [&b"{}\n"[..], b"no json\n", b"\n"] {
            assert!(matches!(answer(line).outcome, Outcome::Failure(_)));
        }
    }
}

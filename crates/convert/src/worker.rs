//! The process that converts: one job after another over a socket, until the other side hangs up.
//!
//! A message is two lengths, a header in JSON, and bytes. Jobs bring the document or say which file to read; answers
//! bring the Markdown. A worker says of itself when it has had enough (memory that parsers do not give back), and
//! whoever owns it starts another. It has no timeouts: it is killed when its time is up.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::convert::convert;
use crate::document::{Bounds, Markdown, Selection, Source};
use crate::error::ConvertError;

/// Bytes of stack for a conversion: parsers of nested documents call themselves. Only what is used is taken.
pub const STACK: usize = 256 << 20;
/// Bytes of a message before its header.
pub const PREFIX: usize = 12;
/// Bytes of a header.
pub const HEADER: usize = 1 << 20;
/// Conversions after which a worker has had enough.
const JOBS: u32 = 1000;
/// Pages of memory a worker may still hold after a job.
const RESIDENT_PAGES: u64 = (256 << 20) / 4096;

/// A conversion that is asked for. The document's bytes follow, unless it is a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// The file to read; `None` when its bytes come along.
    pub file: Option<PathBuf>,
    /// Bytes it may have.
    pub input_bytes: u64,
    /// What is known of it.
    pub source: Source,
    /// What is wanted of it.
    pub selection: Selection,
    /// What the conversion may use.
    pub bounds: Bounds,
}

/// How a conversion went. The Markdown's text follows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer {
    /// The document, or why it could not be converted.
    pub outcome: Result<Markdown, Failure>,
    /// Whether the worker has had enough.
    pub worn: bool,
}

/// Why there is no Markdown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// The file cannot be read.
    File {
        /// The system's number for the reason.
        errno: Option<i32>,
        /// The reason.
        message: String,
    },
    /// The document cannot be converted.
    Document(ConvertError),
}

/// The beginning of a message: its prefix and header.
pub fn encode(header: &impl Serialize, body: usize) -> io::Result<Vec<u8>> {
    let header = serde_json::to_vec(header)?;
    let length = u32::try_from(header.len()).ok().filter(|length| *length as usize <= HEADER);
    let length = length.ok_or_else(|| io::Error::other("the header of a message is too large"))?;
    let mut message = Vec::with_capacity(PREFIX + header.len());
    message.extend(length.to_le_bytes());
    message.extend((body as u64).to_le_bytes());
    message.extend(header);
    Ok(message)
}

/// The lengths of header and body that a prefix announces.
pub fn lengths(prefix: [u8; PREFIX]) -> io::Result<(usize, u64)> {
    let [a, b, c, d, body @ ..] = prefix;
    let header = u32::from_le_bytes([a, b, c, d]) as usize;
    if header > HEADER {
        return Err(io::Error::other("the header of a message is too large"));
    }
    Ok((header, u64::from_le_bytes(body)))
}

/// Connects to whoever started this process, and works for it until it hangs up.
pub fn run(socket: &Path) -> io::Result<()> {
    let stream = UnixStream::connect(socket)?;
    // A parser that panics is an answer, not news for a log.
    std::panic::set_hook(Box::new(|_| {}));
    let work = move || serve(&stream, &stream);
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(work)?;
    worker.join().unwrap_or_else(|_| Err(io::Error::other("the worker broke off")))
}

/// Answers jobs until there are no more.
pub fn serve(mut jobs: impl Read, mut answers: impl Write) -> io::Result<()> {
    let mut done = 0;
    while let Some((job, body)) = receive::<Job>(&mut jobs)? {
        let mut outcome = carry_out(&job, body);
        let text = outcome.as_mut().map(|markdown| std::mem::take(&mut markdown.text));
        let text = text.unwrap_or_default();
        done += 1;
        let worn = done >= JOBS || resident_pages().is_some_and(|pages| pages > RESIDENT_PAGES);
        answers.write_all(&encode(&Answer { outcome, worn }, text.len())?)?;
        answers.write_all(text.as_bytes())?;
        answers.flush()?;
    }
    Ok(())
}

fn receive<H: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<(H, Vec<u8>)>> {
    let mut prefix = [0; PREFIX];
    match from.read_exact(&mut prefix) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let (header, body) = lengths(prefix)?;
    let mut bytes = vec![0; header];
    from.read_exact(&mut bytes)?;
    let header = serde_json::from_slice(&bytes)?;
    let mut bytes = Vec::new();
    from.take(body).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < body {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((header, bytes)))
}

fn carry_out(job: &Job, body: Vec<u8>) -> Result<Markdown, Failure> {
    let bytes = match &job.file {
        None => body,
        Some(path) => read(path, job.input_bytes).map_err(|error| Failure::File {
            errno: error.raw_os_error(),
            message: error.to_string(),
        })?,
    };
    if bytes.len() as u64 > job.input_bytes {
        let what = "the document";
        return Err(Failure::Document(ConvertError::too_large(what, job.input_bytes, "bytes")));
    }
    convert(bytes, &job.source, &job.selection, &job.bounds).map_err(Failure::Document)
}

/// Reads a file, up to one byte more than it may have.
fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let metadata = std::fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    if metadata.len() <= limit {
        bytes.reserve_exact(usize::try_from(metadata.len()).unwrap_or(0));
    }
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn resident_pages() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::package::tests::BOUNDS;

    fn job(file: Option<PathBuf>) -> Job {
        Job {
            file,
            input_bytes: 1000,
            source: Source { name: Some("a.csv".to_owned()), ..Source::default() },
            selection: Selection::default(),
            bounds: BOUNDS,
        }
    }

    fn ask(jobs: &[(Job, &[u8])]) -> Vec<(Result<Markdown, Failure>, String)> {
        let mut sent = Vec::new();
        for (job, body) in jobs {
            sent.extend(encode(job, body.len()).unwrap());
            sent.extend(*body);
        }
        let mut answers = Vec::new();
        serve(sent.as_slice(), &mut answers).unwrap();
        let mut answers = answers.as_slice();
        let next = || receive::<Answer>(&mut answers).unwrap();
        let text = |(answer, text): (Answer, _)| (answer.outcome, String::from_utf8(text).unwrap());
        std::iter::from_fn(next).map(text).collect()
    }

    #[test]
    fn jobs_are_answered_in_their_order_whatever_becomes_of_each() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("b.csv");
        std::fs::write(&path, "x,y\n").unwrap();
        let missing = directory.path().join("missing");
        let large = vec![b'x'; 2000];
        let answers = ask(&[
            (job(None), b"a,b\n"),
            (job(Some(missing)), b""),
            (job(Some(directory.path().to_owned())), b""),
            (job(None), &large),
            (job(Some(path)), b""),
        ]);
        assert_eq!(answers[0].1, "| a | b |\n| --- | --- |");
        assert!(matches!(&answers[1].0, Err(Failure::File { errno: Some(2), .. })));
        assert!(matches!(&answers[2].0, Err(Failure::File { .. })));
        assert!(matches!(&answers[3].0, Err(Failure::Document(ConvertError::TooLarge { .. }))));
        assert_eq!(answers[4].1, "| x | y |\n| --- | --- |");
    }

    #[test]
    fn a_message_that_ends_early_is_an_error() {
        let mut sent = encode(&job(None), 10).unwrap();
        sent.extend(b"abc");
        assert!(serve(sent.as_slice(), Vec::new()).is_err());
        assert!(lengths([0xff; PREFIX]).is_err());
    }
}

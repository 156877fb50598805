//! What is printed: for people on a terminal, JSON for everything else.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use atoll_client::Downloading;
use futures::StreamExt;
use serde_json::Value;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::render;

/// Where answers go, and in which form.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    human: bool,
    colour: bool,
    file: Option<PathBuf>,
    /// Whether standard output was asked for by name: then it gets whatever there is.
    by_name: bool,
}

impl Output {
    /// As the flags and the terminal say.
    pub(crate) fn new(globals: &Globals) -> Self {
        let terminal = io::stdout().is_terminal();
        let by_name = globals.output.as_deref() == Some(Path::new("-"));
        let file = globals.output.clone().filter(|_| !by_name);
        let human = terminal && !globals.json && file.is_none();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { human, colour: human && !no_colour, file, by_name }
    }

    /// Whether people read it.
    pub(crate) fn is_human(&self) -> bool {
        self.human
    }

    /// Whether it may have colours.
    pub(crate) fn is_colourful(&self) -> bool {
        self.colour
    }

    /// Shows the answer of an operation.
    pub(crate) fn show(&self, operation: &str, value: &Value) -> Result<(), Failure> {
        let text = if self.human {
            render::human(operation, value, self.colour)
        } else {
            format!("{value:#}\n")
        };
        self.write(text.as_bytes())
    }

    /// Shows one of many: a line of JSON, or a text for people.
    pub(crate) fn show_line(&self, value: &Value, text: &str) -> Result<(), Failure> {
        if self.human { print(text.as_bytes()) } else { print(format!("{value}\n").as_bytes()) }
    }

    /// A text for people with a headline's weight, where colours are wanted.
    pub(crate) fn strong(&self, text: &str) -> String {
        render::paint(self.colour, render::Ink::Strong, text)
    }

    /// Writes bytes where answers go.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        match &self.file {
            Some(path) => std::fs::write(path, bytes).map_err(|error| unwritable(path, &error)),
            None => print(bytes),
        }
    }

    /// Saves a download: to the file, or to standard output where that is no terminal or the bytes are text.
    pub(crate) async fn save(
        &self,
        mut download: Downloading,
        connection: &Connection,
    ) -> Result<u64, Failure> {
        let media_type = download.header("content-type").unwrap_or_default().to_owned();
        let readable = media_type.starts_with("text/") || media_type.contains("json");
        let mut sink: Box<dyn Write> = match &self.file {
            Some(path) => Box::new(File::create(path).map_err(|error| unwritable(path, &error))?),
            None if io::stdout().is_terminal() && !readable && !self.by_name => {
                return Err(Failure::usage(format!(
                    "the answer is {media_type}, which a terminal cannot show: name a file with -o FILE, or pipe it on"
                )));
            }
            None => Box::new(io::stdout()),
        };
        let mut bytes = 0;
        while let Some(part) = download.next().await {
            let part = part.map_err(|error| connection.explain(&error))?;
            bytes += part.len() as u64;
            written(sink.write_all(&part))?;
        }
        written(sink.flush())?;
        Ok(bytes)
    }

    /// The file answers go to, if one was named.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

/// Writes to standard output, at once.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    written(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// A reader that has read enough (`| head`) needs no words.
pub(crate) fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::no_reader()),
        Err(error) => Err(Failure::failed(format!("cannot print: {error}"))),
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("{} cannot be written: {error}", path.display()))
}

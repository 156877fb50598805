//! Python's `markitdown`, where the sandbox has it installed, for what we do not convert ourselves: audio, mail, …

use std::path::{Path, PathBuf};

use atoll_convert::{ConvertError, Kind as DocumentKind, Markdown};
use atoll_operation::{Error, Kind};
use atoll_process::{Command, Exit, Piped, PipedSettings};

use super::converter::{Content, Document};
use super::refusal;
use crate::programs::Programs;

const NAME: &str = "markitdown";
/// Bytes of what it complains of that are read.
const COMPLAINT: usize = 4096;

/// Converts a document with it. `what` is what we have no converter for.
pub(super) async fn convert(
    programs: &Programs,
    document: &Document,
    what: &str,
) -> Result<Markdown, Error> {
    let Some(program) = find(programs) else {
        let error = ConvertError::Unsupported { what: what.to_owned() };
        return Err(refusal::of_document(&error).with_hint(
            "Install Python's markitdown (pip install 'markitdown[all]') in the sandbox: it is used for what we do not convert.",
        ));
    };
    let mut arguments = Vec::new();
    let mut body: &[u8] = &[];
    match &document.content {
        Content::File(path) => arguments.push(path.to_string_lossy().into_owned()),
        Content::Bytes(bytes) => {
            body = bytes;
            let name = document.source.name.as_deref().unwrap_or_default();
            if let Some((_, extension)) = name.rsplit_once('.') {
                arguments.extend(["-x".to_owned(), extension.to_owned()]);
            }
            let media_type = document.source.media_type.as_deref().unwrap_or_default();
            if let Some(media_type) = media_type.split(';').next().filter(|it| it.contains('/')) {
                arguments.extend(["-m".to_owned(), media_type.trim().to_owned()]);
            }
        }
    }
    let command = Command {
        program,
        arguments,
        environment: programs.environment(None),
        directory: programs.foundation().workspace.clone(),
    };
    let settings = PipedSettings { log: programs.log_settings(), input_queue_bytes: body.len() };
    let piped =
        Piped::start(programs.confined_spawner(), &command, &settings).await.map_err(|error| {
            refusal::unavailable(format!("markitdown could not be started: {error}"))
        })?;
    if !body.is_empty() {
        // One that ends without reading says why on its error stream.
        let _ended_already = piped.stdin().write(body);
    }
    let _ended_already = piped.stdin().close();
    let exit = piped.wait().await;
    if exit != Exit::Code(0) {
        let said = piped.stderr().read_text(0, COMPLAINT).text;
        let said = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        let message = format!("markitdown, which converts {what}, {exit}: {}", said.trim());
        return Err(Error::new(Kind::InvalidArgument, "convert.failed", message));
    }
    let most = programs.foundation().limits.convert_output_bytes;
    let length = piped.stdout().progress().end;
    if length > most {
        let (what, unit) = ("its Markdown".to_owned(), "bytes".to_owned());
        return Err(refusal::of_document(&ConvertError::TooLarge { what, limit: most, unit }));
    }
    let text = piped.stdout().read_text(0, usize::try_from(most).unwrap_or(usize::MAX)).text;
    let (kind, properties) =
        (DocumentKind::Other, [("converter".to_owned(), NAME.to_owned())].into());
    Ok(Markdown { kind, title: None, properties, text })
}

/// Where the sandbox has it.
fn find(programs: &Programs) -> Option<PathBuf> {
    let path = programs.foundation().environment.get("PATH").unwrap_or_default();
    let candidates = path.split(':').filter(|directory| directory.starts_with('/'));
    candidates.map(|directory| Path::new(directory).join(NAME)).find(|path| path.is_file())
}

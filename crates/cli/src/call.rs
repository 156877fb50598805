//! Carrying out an operation by its declaration, whatever its shape.

use std::io::{self, BufRead};
use std::path::Path;

use atoll_client::Payload;
use atoll_operation::{ByteStream, Declaration, Shape, Spec};
use clap::ArgMatches;
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::failure::Failure;
use crate::file::local_file;
use crate::generate::{self, FILE, FOLLOW};
use crate::output::print;
use crate::program::Session;
use crate::render::size;
use crate::stdin;

/// Lines of standard input that wait to be sent.
const WAITING: usize = 16;

/// Carries out an operation and shows what came of it.
pub(crate) async fn call(
    session: &Session,
    declaration: &'static Declaration,
    matches: &ArgMatches,
) -> Result<u8, Failure> {
    let spec = &declaration.spec;
    let input = generate::input(declaration, matches)?;
    match spec.shape {
        Shape::Streaming if matches.get_flag(FOLLOW) => follow(session, spec, &input).await,
        Shape::Unary | Shape::Streaming => {
            let answered = session.client.call_declared(spec, &input).await;
            let value = answered.map_err(|error| session.explain(error))?;
            session.output.show(spec.id, &value)?;
            // A tool that failed has answered all the same.
            Ok(u8::from(spec.id == "mcp_call_tool" && value["isError"] == true))
        }
        Shape::Upload => upload(session, spec, &input, matches).await,
        Shape::Download => download(session, spec, &input).await,
        Shape::Conversation => converse(session, spec, &input).await,
        Shape::Window => {
            let url = format!("{}{}", session.connection.url, spec.path);
            session.output.show(spec.id, &json!({"url": url}))?;
            Ok(0)
        }
    }
}

/// Prints events as they come: a line of JSON for each, or what a command printed as it printed it.
pub(crate) async fn follow(session: &Session, spec: &Spec, input: &Value) -> Result<u8, Failure> {
    let events = session.client.stream_declared(spec, input).await;
    let mut events = events.map_err(|error| session.explain(error))?;
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| session.explain(error))?;
        let line = json!({"event": event.name, "id": event.id, "data": event.data});
        let text = match event.data["data"].as_str() {
            Some(text) => text.to_owned(),
            None => format!("{}: {}\n", event.name, event.data),
        };
        session.output.show_line(&line, &text)?;
        if event.name == "error" {
            return Ok(1);
        }
    }
    Ok(0)
}

async fn upload(
    session: &Session,
    spec: &Spec,
    input: &Value,
    matches: &ArgMatches,
) -> Result<u8, Failure> {
    let path = matches.get_one::<String>(FILE).map(String::as_str);
    let file = match path {
        None => None,
        Some("-") => {
            let pieces = stdin::pieces()?;
            let bytes: ByteStream = futures::stream::unfold(pieces, async |mut pieces| {
                let piece = pieces.recv().await?;
                Some((Ok(piece.into()), pieces))
            })
            .boxed();
            Some(("upload", Payload::from(bytes)))
        }
        Some(path) => {
            let name = Path::new(path).file_name().and_then(|name| name.to_str());
            Some((name.unwrap_or("upload"), local_file(Path::new(path)).await?))
        }
    };
    let answered = session.client.upload_declared(spec, input, file).await;
    let value = answered.map_err(|error| session.explain(error))?;
    session.output.show(spec.id, &value)?;
    Ok(0)
}

async fn download(session: &Session, spec: &Spec, input: &Value) -> Result<u8, Failure> {
    let answered = session.client.download_declared(spec, input).await;
    let download = answered.map_err(|error| session.explain(error))?;
    let media_type = download.header("content-type").unwrap_or_default().to_owned();
    let bytes = session.output.save(download, &session.connection).await?;
    if let Some(path) = session.output.file() {
        let path = path.display().to_string();
        let told = json!({"file": path, "bytes": bytes, "media_type": media_type});
        let text = format!("{told:#}\n");
        let human = io::IsTerminal::is_terminal(&io::stdout());
        let text = if human { format!("{path}  {}\n", size(bytes)) } else { text };
        print(text.as_bytes())?;
    }
    Ok(0)
}

/// Lines of JSON both ways, until the server is done or standard input has ended and nothing more comes.
async fn converse(session: &Session, spec: &Spec, input: &Value) -> Result<u8, Failure> {
    let opened = session.client.converse_declared(spec, input).await;
    let (mut speaking, mut hearing) = opened.map_err(|error| session.explain(error))?;
    let mut lines = lines()?;
    let mut all_said = false;
    loop {
        tokio::select! {
            message = hearing.receive() => match message {
                Some(message) => {
                    let message = message.map_err(|error| session.explain(error))?;
                    print(format!("{message}\n").as_bytes())?;
                }
                None => return Ok(0),
            },
            line = lines.recv(), if !all_said => match line {
                Some(line) => {
                    let sent = speaking.send(line).await;
                    sent.map_err(|error| session.explain(error))?;
                }
                None => all_said = true,
            },
            // Whoever has said everything may still hear an answer; silence ends it.
            () = tokio::time::sleep(std::time::Duration::from_secs(2)), if all_said => return Ok(0),
        }
    }
}

fn lines() -> Result<mpsc::Receiver<String>, Failure> {
    let (sender, receiver) = mpsc::channel(WAITING);
    let read = move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if !line.trim().is_empty() && sender.blocking_send(line).is_err() {
                return;
            }
        }
    };
    let started = std::thread::Builder::new().name("stdin".to_owned()).spawn(read);
    started.map_err(|error| Failure::failed(format!("standard input cannot be read: {error}")))?;
    Ok(receiver)
}

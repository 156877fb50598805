//! `open`: the pages of a sandbox. At a terminal the one that is named is opened in a browser here.

use std::io::{self, IsTerminal};
use std::process::{Command as Program, Stdio};

use atoll_api::auth::CreateTicket;
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::program::Session;

/// Pages by name, with their paths.
const PAGES: &[(&str, &str)] = &[
    ("dashboard", "/"),
    ("terminal", "/terminal"),
    ("vnc", "/vnc"),
    ("code", "/code-server/"),
    ("jupyter", "/jupyter/lab"),
    ("docs", "/v1/docs"),
];

#[derive(Debug, Args)]
struct OpenArgs {
    /// The page; the addresses of all are printed when none is named.
    #[arg(value_parser = ["dashboard", "terminal", "vnc", "code", "jupyter", "docs"])]
    page: Option<String>,

    /// Only print the address.
    #[arg(long)]
    print: bool,
}

pub(crate) fn command() -> Command {
    let command = Command::new("open")
        .about("Print the addresses of the sandbox's pages, or open one in a browser here");
    OpenArgs::augment_args(command)
}

/// Prints addresses, and opens one.
pub(crate) async fn run(session: &Session, matches: &ArgMatches) -> Result<u8, Failure> {
    let arguments = OpenArgs::from_arg_matches(matches).map_err(Failure::usage)?;
    if session.connection.url.starts_with("unix:") {
        return Err(Failure::usage(
            "a browser cannot open a unix socket: let the sandbox listen on a port, or put a proxy before it",
        ));
    }
    let Some(name) = arguments.page else {
        let address = |(name, path): &(&str, &str)| {
            ((*name).to_owned(), Value::from(format!("{}{path}", session.connection.url)))
        };
        let pages: Map<_, _> = PAGES.iter().map(address).collect();
        session.output.show("open", &Value::Object(pages))?;
        return Ok(0);
    };
    let path = PAGES.iter().find(|(known, _)| *known == name).map_or("/", |(_, path)| *path);
    let mut url = format!("{}{path}", session.connection.url);
    if session.connection.is_authenticated() {
        // A browser has no key; it gets a cookie in exchange for a ticket.
        let ticket = session.client.call(CreateTicket {}).await;
        let ticket = ticket.map_err(|error| session.explain(error))?;
        url = format!("{url}?ticket={}", ticket.ticket);
    }
    let opens = io::stdout().is_terminal() && !arguments.print;
    if !opens || !open_here(&url) {
        session.output.show("open", &json!({ "url": url }))?;
    }
    Ok(0)
}

/// Whether the address could be handed to a browser.
fn open_here(url: &str) -> bool {
    let opened = Program::new("xdg-open")
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    opened.is_ok_and(|status| status.success())
}

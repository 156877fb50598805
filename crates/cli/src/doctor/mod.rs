//! `doctor`: what a sandbox on this machine would have and lack, with the cure; and how the one that runs is.

mod local;
mod server;

use clap::Command;
use serde::Serialize;
use serde_json::json;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::output::Output;
use crate::render::{Ink, paint};

/// How a part stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Fine,
    Missing,
    Failed,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    /// What it is.
    part: String,
    state: State,
    /// Whether a sandbox is of no use without it.
    required: bool,
    /// What was found, or what is lost without it.
    detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cure: Option<String>,
}

pub(crate) fn command() -> Command {
    Command::new("doctor")
        .about(
            "Tell what a sandbox here has and lacks, how to get it, and how the one that runs is",
        )
        .after_help("Exit codes: 0 nothing that is needed is missing, 1 something is.")
}

/// Looks at everything; the answer is 1 when something that is needed is missing.
pub(crate) async fn run(globals: &Globals) -> Result<u8, Failure> {
    let output = Output::new(globals);
    let here = local::look().await;
    let connection = Connection::find(globals)?;
    let there = server::look(&connection).await;
    let broken = |findings: &[Finding]| {
        findings.iter().any(|finding| finding.required && finding.state != State::Fine)
    };
    let healthy = !broken(&here) && !broken(&there);
    if output.is_human() {
        let mut text = format!("{}\n", output.strong("This machine"));
        tell(&mut text, &here, &output);
        text.push_str(&format!(
            "\n{}\n",
            output.strong(&format!("The sandbox at {}", connection.url))
        ));
        tell(&mut text, &there, &output);
        output.write(text.as_bytes())?;
    } else {
        let found = json!({"healthy": healthy, "machine": here, "sandbox": there});
        output.show("doctor", &found)?;
    }
    Ok(u8::from(!healthy))
}

fn tell(text: &mut String, findings: &[Finding], output: &Output) {
    let width =
        findings.iter().map(|finding| finding.part.chars().count()).max().unwrap_or_default();
    for finding in findings {
        let (mark, ink) = match (finding.state, finding.required) {
            (State::Fine, _) => ("✓", Ink::Good),
            (_, true) => ("✗", Ink::Bad),
            (_, false) => ("–", Ink::Faint),
        };
        let mark = paint(output.is_colourful(), ink, mark);
        text.push_str(&format!("  {mark} {:width$}  {}\n", finding.part, finding.detail));
        if let Some(cure) = &finding.cure {
            text.push_str(&format!("    {:width$}  → {cure}\n", ""));
        }
    }
}

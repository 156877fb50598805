//! How the sandbox that runs is: whether it answers, lets us in, can run something, and what of it is down.

use std::time::Instant;

use atoll_api::bash::ExecBash;
use atoll_api::system::{GetSandbox, Ping};
use atoll_client::Client;
use serde_json::{Value, json};

use super::{Finding, State};
use crate::connection::Connection;
use crate::registry;

/// Asks the server. One that cannot be reached is no fault of this machine's.
pub(super) async fn look(connection: &Connection) -> Vec<Finding> {
    let client = match connection.client() {
        Ok(client) => client,
        Err(failure) => return vec![failed("address", &failure.to_string(), false)],
    };
    let started = Instant::now();
    if let Err(error) = client.call(Ping {}).await {
        let failure = connection.explain(&error).to_string();
        return vec![failed("reachable", &failure, error.status().is_some())];
    }
    let mut findings =
        vec![fine("reachable", format!("answers in {} ms", started.elapsed().as_millis()))];
    findings.push(match client.call(GetSandbox {}).await {
        Ok(context) => fine("version", context.version),
        Err(error) => failed("version", &connection.explain(&error).to_string(), true),
    });
    let echo = ExecBash { command: "echo fine".to_owned(), ..ExecBash::default() };
    findings.push(match client.call(echo).await {
        Ok(result) if result.stdout.as_deref() == Some("fine\n") => {
            fine("commands", "run".to_owned())
        }
        Ok(result) => failed("commands", &result.stderr.unwrap_or_default(), true),
        Err(error) => failed("commands", &connection.explain(&error).to_string(), true),
    });
    findings.extend(services(&client).await);
    findings
}

/// The services of the sandbox, where it has a list of them.
async fn services(client: &Client) -> Vec<Finding> {
    let Some(declaration) = registry::find("service_list") else {
        return Vec::new();
    };
    let Ok(list) = client.call_declared(&declaration.spec, &json!({})).await else {
        return Vec::new();
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let services = list["services"].as_array().cloned().unwrap_or_default();
    let told = services.iter().map(|service| {
        let (state, detail) = (text(&service["state"]), text(&service["detail"]));
        let name = text(&service["name"]);
        let down = matches!(state.as_str(), "failed" | "backoff");
        Finding {
            cure: down.then(|| format!("atoll logs {name}, then atoll services restart {name}")),
            part: name,
            state: match state.as_str() {
                "missing" => State::Missing,
                _ if down => State::Failed,
                _ => State::Fine,
            },
            required: down,
            detail: if detail.is_empty() { state } else { format!("{state}: {detail}") },
        }
    });
    told.collect()
}

fn fine(part: &str, detail: String) -> Finding {
    Finding { part: part.to_owned(), state: State::Fine, required: true, detail, cure: None }
}

/// A failure whose words hold the cure, in the lines after the first.
fn failed(part: &str, said: &str, required: bool) -> Finding {
    let (detail, cure) = said.split_once("\n  ").unwrap_or((said, ""));
    Finding {
        part: part.to_owned(),
        state: State::Failed,
        required,
        detail: detail.to_owned(),
        cure: (!cure.is_empty()).then(|| cure.replace("\n  ", "; ")),
    }
}

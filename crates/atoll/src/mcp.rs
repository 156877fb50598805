//! The MCP face: what it is made from for `atoll serve`; and `atoll mcp`, which puts a client through to a server.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use atoll_http::Mount;
use atoll_mcp::{Bridge, HubSettings, Mcp, ServerConfig, Settings, read_servers};
use atoll_process::Spawner;
use atoll_sandbox::Foundation;

use crate::VERSION;
use crate::config::Config;
use crate::secrets::Secrets;

/// Where MCP is spoken.
const PATHS: &[&str] = &["/mcp", "/mcp/", "/v1/mcp", "/v1/mcp/"];

/// What the face has beside the sandbox's own tools.
pub(crate) struct Others {
    servers: Vec<ServerConfig>,
    hidden: Vec<String>,
    conformance: bool,
}

impl Others {
    /// The servers that the file and `EXTRA_MCP_SERVERS` name; a mistake says where it stands.
    pub(crate) fn read(
        config: &Config,
        secrets: &Secrets,
        conformance: bool,
    ) -> Result<Self, String> {
        if let Some(url) = &config.mcp.search_url {
            let address = url.starts_with("http://") || url.starts_with("https://");
            if !address || !url.contains("{query}") {
                let example = "https://searx.example.org/search?format=json&q={query}";
                return Err(format!("[mcp] search_url {url:?} is no address such as {example}"));
            }
        }
        let mut servers = Vec::new();
        if let Some(path) = &config.mcp.servers {
            let place = path.display();
            let text = std::fs::read_to_string(path)
                .map_err(|error| format!("cannot read the MCP servers in {place}: {error}"))?;
            let wrong = |error| format!("the MCP servers in {place} cannot be used: {error}");
            servers = read_servers(&text).map_err(wrong)?;
        }
        // Headers and environments of servers hold keys.
        if let Some(text) = secrets.get("EXTRA_MCP_SERVERS") {
            let extra = read_servers(text.expose())
                .map_err(|error| format!("environment variable EXTRA_MCP_SERVERS: {error}"))?;
            // What is named there counts, whatever a file in the image says.
            servers.retain(|server| extra.iter().all(|other| other.name != server.name));
            servers.extend(extra);
        }
        Ok(Self { servers, hidden: config.mcp.hidden.clone(), conformance })
    }

    /// The face of a sandbox.
    pub(crate) fn face(self, foundation: &Foundation, spawner: &Spawner) -> Mcp {
        Mcp::new(Settings {
            version: VERSION,
            limits: Arc::clone(&foundation.limits),
            workspace: foundation.workspace.clone(),
            hub: HubSettings {
                servers: self.servers,
                hidden: self.hidden,
                spawner: Some(spawner.clone()),
                environment: foundation.environment.with(&BTreeMap::new()).into_iter().collect(),
                directory: foundation.workspace.clone(),
                runtime_dir: foundation.runtime_dir.clone(),
            },
            conformance: self.conformance,
            stop: foundation.stop.clone(),
        })
    }
}

/// The face at its place in the REST face.
pub(crate) fn mount(mcp: &Mcp) -> Mount {
    let mcp = mcp.clone();
    let answer = move |request| {
        let mcp = mcp.clone();
        Box::pin(async move { mcp.answer(request).await }) as _
    };
    Mount { name: "mcp", paths: PATHS, answer: Arc::new(answer) }
}

/// Runs `atoll mcp`: puts a client on standard input and output through to an endpoint, or to that of a server.
pub(crate) fn bridge(url: &str, headers: &[String]) -> ExitCode {
    let carry = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let bridge = Bridge::new(&endpoint(url), headers).map_err(|error| error.to_string())?;
        let carried = runtime.block_on(bridge.run());
        // A read of standard input cannot be called off; it must not keep the program alive.
        runtime.shutdown_background();
        carried.map_err(|error| error.to_string())
    };
    match carry() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("atoll: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The endpoint at an address: `/mcp` where only a server is named.
fn endpoint(url: &str) -> String {
    let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    match rest.find(['/', '?']) {
        None => format!("{url}/mcp"),
        Some(at) if rest.get(at..) == Some("/") => format!("{url}mcp"),
        Some(_) => url,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_path_means_its_endpoint() {
        assert_eq!(endpoint("http://a:8080"), "http://a:8080/mcp");
        assert_eq!(endpoint("a:8080/"), "http://a:8080/mcp");
        assert_eq!(endpoint("https://a/box/mcp?profile=all"), "https://a/box/mcp?profile=all");
    }
}

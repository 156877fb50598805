//! Other MCP servers behind this one: their tools appear as `server__tool`, and a server that is broken or slow keeps
//! nobody waiting for the others.

mod child;
mod config;
mod hearing;
mod member;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use atoll_process::Spawner;
use rmcp::model::Tool;
use tokio_util::sync::CancellationToken;

pub use config::{ServerConfig, ServerConfigError, read_servers};
pub(crate) use member::Member;

use crate::catalogue::Selection;
use crate::notices::Notices;

/// What stands between a server's name and its tool's.
const SEPARATOR: &str = "__";
/// Characters of a tool's name that clients accept.
const TOOL_NAME: usize = 64;
/// How long a list of tools waits for servers that are just starting. Late ones are announced when they have come.
const PATIENCE: Duration = Duration::from_secs(5);

/// Other servers, and what they run with.
#[derive(Debug)]
pub struct HubSettings {
    /// The servers.
    pub servers: Vec<ServerConfig>,
    /// Servers that are not listed unless asked for.
    pub hidden: Vec<String>,
    /// What starts programs; without it only servers with an address can be used.
    pub spawner: Option<Spawner>,
    /// Environment of programs, before their own variables.
    pub environment: BTreeMap<String, String>,
    /// Where programs run.
    pub directory: PathBuf,
    /// Private directory for what programs write faster than it is read.
    pub runtime_dir: PathBuf,
}

/// The other servers.
pub(crate) struct Hub {
    members: Vec<Arc<Member>>,
    hidden: Vec<String>,
    notices: Notices,
}

impl Hub {
    pub(crate) fn new(
        mut settings: HubSettings,
        notices: Notices,
        stop: &CancellationToken,
    ) -> Self {
        let servers = std::mem::take(&mut settings.servers);
        let hidden = std::mem::take(&mut settings.hidden);
        let settings = Arc::new(settings);
        let member = |config| {
            Arc::new(Member::new(config, Arc::clone(&settings), notices.clone(), stop.clone()))
        };
        let members = servers.into_iter().map(member).collect();
        Self { members, hidden, notices }
    }

    /// Names of servers.
    pub(crate) fn names(&self, hidden: bool) -> impl Iterator<Item = &str> {
        let names = self.members.iter().map(|member| member.name());
        names.filter(move |name| hidden || !self.is_hidden(name))
    }

    pub(crate) fn is_hidden(&self, name: &str) -> bool {
        self.hidden.iter().any(|hidden| hidden == name)
    }

    /// The server with this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Member>> {
        self.members.iter().find(|member| member.name() == name)
    }

    /// The server and its own name of the tool that goes by this name here.
    pub(crate) async fn find(&self, name: &str) -> Option<(Arc<Member>, String)> {
        let member = self.members.iter().find(|member| {
            name.strip_prefix(member.name()).is_some_and(|rest| rest.starts_with(SEPARATOR))
        })?;
        let rest = name.get(member.name().len() + SEPARATOR.len()..)?;
        // A name that had to be changed leads back only by the list.
        if let Some(connection) = member.connected().or(member.connect().await.ok()) {
            let tools = connection.tools();
            let meant = tools.iter().find(|tool| public_name(member.name(), &tool.name) == name);
            if let Some(tool) = meant {
                return Some((Arc::clone(member), tool.name.to_string()));
            }
            return None;
        }
        Some((Arc::clone(member), rest.to_owned()))
    }

    /// The tools of all servers by the names they have here, as far as a selection lists them. Servers that have not
    /// answered in a while are left out.
    pub(crate) async fn tools(&self, selection: &Selection) -> Vec<Tool> {
        let wanted: Vec<_> =
            self.members.iter().filter(|member| self.may_list(selection, member)).collect();
        let starting = wanted.iter().filter(|member| member.connected().is_none());
        let starting: Vec<_> = starting
            .map(|member| {
                let (member, notices) = (Arc::clone(member), self.notices.clone());
                let started = std::time::Instant::now();
                tokio::spawn(async move {
                    let connected = member.connect().await.is_ok();
                    if connected && started.elapsed() > PATIENCE {
                        notices.tools_changed();
                    }
                })
            })
            .collect();
        if !starting.is_empty() {
            let all = futures::future::join_all(starting);
            // Those that are not there by then are announced when they come.
            drop(tokio::time::timeout(PATIENCE, all).await);
        }
        let mut listed: Vec<Tool> = Vec::new();
        for member in wanted {
            let Some(connection) = member.connected() else { continue };
            for tool in connection.tools().iter() {
                let hidden = self.is_hidden(member.name());
                let name = public_name(member.name(), &tool.name);
                let taken = listed.iter().any(|known| known.name == name);
                if taken {
                    tracing::warn!(name, "two tools have this name; the second is left out");
                } else if selection.lists_foreign(member.name(), &tool.name, hidden) {
                    let mut tool = tool.clone();
                    tool.name = name.into();
                    listed.push(tool);
                }
            }
        }
        listed
    }

    fn may_list(&self, selection: &Selection, member: &Member) -> bool {
        selection.may_want(member.name())
            && (!self.is_hidden(member.name()) || *selection != Selection::default())
    }

    /// Ends all servers with everything they started.
    pub(crate) async fn close(&self) {
        for member in &self.members {
            member.disconnect();
        }
        // Ending is asked for by dropping; a moment lets those that end properly do so.
        tokio::task::yield_now().await;
    }
}

/// The name of a server's tool here: one that every client accepts.
pub(crate) fn public_name(server: &str, tool: &str) -> String {
    let fine =
        |char: char| if char.is_ascii_alphanumeric() || "_-".contains(char) { char } else { '_' };
    let name = format!("{server}{SEPARATOR}{tool}");
    name.chars().map(fine).take(TOOL_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_such_as_clients_accept() {
        assert_eq!(public_name("a", "echo"), "a__echo");
        assert_eq!(public_name("a", "x/y z"), "a__x_y_z");
        assert_eq!(public_name("a", &"x".repeat(100)).len(), 64);
    }
}

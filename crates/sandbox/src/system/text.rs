//! The description as text: what an agent reads first, so every line says something it can act on.

use std::fmt;

use atoll_api::system::{SandboxDetail, ToolSpec};

use super::machine::Machine;

/// Categories whose tools are named beside the runtimes rather than among the other tools.
const DEVELOPMENT: &str = "Development";

/// A sandbox's description, written out by `Display`.
#[derive(Debug)]
pub(crate) struct Description<'a> {
    pub(crate) version: &'a str,
    pub(crate) machine: &'a Machine,
    pub(crate) detail: &'a SandboxDetail,
}

impl fmt::Display for Description<'_> {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, machine, detail } = self;
        let system = &detail.system;
        writeln!(text, "System Environment (v{version}):")?;
        writeln!(
            text,
            "- {} {}, {} on {}, {}",
            system.os,
            system.os_version,
            machine.kernel,
            system.arch,
            if machine.has_route {
                "with a route to other networks"
            } else {
                "without a network route"
            }
        )?;
        let rights = if machine.is_root { "root rights" } else { "ordinary rights" };
        let sudo =
            if !machine.is_root && has_tool(detail, "sudo") { ", sudo is installed" } else { "" };
        writeln!(text, "- User: {} with {rights}{sudo}", system.user)?;
        writeln!(text, "- Home directory: {}", system.home_dir)?;
        if let Some(workspace) = &system.workspace {
            writeln!(text, "- Workspace: {workspace}")?;
        }
        writeln!(text, "- Time zone: {}", system.timezone)?;
        writeln!(text, "- Occupied ports: {}", or_none(&system.occupied_ports.join(", ")))?;

        writeln!(text, "\nDevelopment Environment:")?;
        runtimes(text, "Python", &detail.runtime.python)?;
        runtimes(text, "Node.js", &detail.runtime.nodejs)?;
        let (development, others): (Vec<_>, Vec<_>) =
            detail.utils.iter().partition(|category| category.category == DEVELOPMENT);
        for tool in development.iter().flat_map(|category| &category.tools) {
            let description = tool.description.as_deref().unwrap_or_default();
            writeln!(text, "- {}: {description}", tool.name)?;
        }

        writeln!(text, "\nAvailable Tools:")?;
        for category in others {
            let names: Vec<_> = category.tools.iter().map(|tool| tool.name.as_str()).collect();
            writeln!(text, "- {}: {}", category.category, names.join(", "))?;
        }
        Ok(())
    }
}

fn runtimes(text: &mut fmt::Formatter<'_>, name: &str, found: &[ToolSpec]) -> fmt::Result {
    if found.is_empty() {
        writeln!(text, "- {name}: not installed")?;
    }
    for runtime in found {
        let version = runtime.ver.as_deref().unwrap_or("of unknown version");
        let commands = runtime.alias.join(", ");
        let bin = runtime.bin.as_deref().unwrap_or_default();
        writeln!(text, "- {name} {version}: {commands} ({bin})")?;
    }
    Ok(())
}

fn or_none(list: &str) -> &str {
    if list.is_empty() { "none" } else { list }
}

fn has_tool(detail: &SandboxDetail, name: &str) -> bool {
    let mut tools = detail.utils.iter().flat_map(|category| &category.tools);
    tools.any(|tool| tool.name == name)
}

#[cfg(test)]
mod tests {
    use atoll_api::system::{AvailableTool, RuntimeEnv, SystemEnv, ToolCategory};

    use super::*;

    fn tools(category: &str, names: &[&str]) -> ToolCategory {
        let tool = |name: &&str| AvailableTool {
            name: (*name).to_owned(),
            description: Some("useful".to_owned()),
        };
        ToolCategory { category: category.to_owned(), tools: names.iter().map(tool).collect() }
    }

    #[test]
    fn the_text_tells_everything_there_is_and_what_is_missing() {
        let machine = Machine {
            os: "Some Linux".to_owned(),
            os_version: "9".to_owned(),
            kernel: "Linux 7.1".to_owned(),
            arch: "x86_64".to_owned(),
            timezone: "UTC".to_owned(),
            is_root: false,
            has_route: false,
        };
        let detail = SandboxDetail {
            system: SystemEnv {
                os: machine.os.clone(),
                os_version: machine.os_version.clone(),
                arch: machine.arch.clone(),
                user: "someone".to_owned(),
                home_dir: "/home/someone".to_owned(),
                workspace: Some("/data".to_owned()),
                timezone: machine.timezone.clone(),
                occupied_ports: vec!["22".to_owned(), "8080".to_owned()],
            },
            runtime: RuntimeEnv {
                python: vec![ToolSpec {
                    ver: Some("3.12.1".to_owned()),
                    bin: Some("/usr/bin/python3".to_owned()),
                    alias: vec!["python3".to_owned(), "python".to_owned()],
                }],
                nodejs: Vec::new(),
            },
            utils: vec![tools(DEVELOPMENT, &["git"]), tools("System monitoring", &["ps", "sudo"])],
        };
        let description = Description { version: "1.2.3", machine: &machine, detail: &detail };
        assert_eq!(
            description.to_string(),
            "System Environment (v1.2.3):\n\
             - Some Linux 9, Linux 7.1 on x86_64, without a network route\n\
             - User: someone with ordinary rights, sudo is installed\n\
             - Home directory: /home/someone\n\
             - Workspace: /data\n\
             - Time zone: UTC\n\
             - Occupied ports: 22, 8080\n\
             \n\
             Development Environment:\n\
             - Python 3.12.1: python3, python (/usr/bin/python3)\n\
             - Node.js: not installed\n\
             - git: useful\n\
             \n\
             Available Tools:\n\
             - System monitoring: ps, sudo\n"
        );
    }
}

//! The tools this sandbox offers itself: every operation marked for MCP by its own name, and the names and arguments
//! that clients of other systems use, translated to operations.
//!
//! A tool appears only when everything it needs is bound, so that a build without a browser offers no browser tools.

mod agent;
mod aliases;
mod browser;
mod native;
mod sandbox;
mod schema;
mod selection;
mod text;
mod tool;
mod web;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use atoll_operation::Bound;

use crate::calls::Operations;

pub(crate) use selection::Selection;
pub(crate) use tool::{Sets, Tool};

/// Servers of our own: their names, and whether they are shown to those who do not ask for hidden ones.
const SERVERS: &[(&str, bool)] = &[
    (sandbox::SERVER, true),
    (browser::SERVER, true),
    (sandbox::MARKITDOWN, false),
    (agent::SERVER, false),
    (native::SERVER, false),
];

/// The tools.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    operations: Arc<Operations>,
    tools: Vec<Tool>,
    by_name: HashMap<String, usize>,
}

impl Catalogue {
    /// The tools that follow from these operations.
    pub(crate) fn new(operations: Vec<Arc<Bound>>) -> Self {
        let native = native::tools(&operations);
        let operations = Arc::new(Operations::new(operations));
        let mut catalogue = Self { operations, ..Self::default() };
        // The first to take a name keeps it: names with a meaning elsewhere before our own for operations.
        let ops = Arc::clone(&catalogue.operations);
        catalogue.add(sandbox::tools(&ops));
        catalogue.add(browser::tools(&ops));
        catalogue.add(agent::tools(&ops));
        catalogue.add(web::tools(&ops));
        catalogue.add(native);
        for (name, meant) in aliases::ALIASES {
            let alias = catalogue.get(meant).map(|tool| tool.alias(name));
            catalogue.add(alias);
        }
        catalogue
    }

    fn add(&mut self, tools: impl IntoIterator<Item = Tool>) {
        for tool in tools {
            let name = tool.definition.name.to_string();
            if let Some(known) = self.by_name.get(&name) {
                // The same tool for another set of clients.
                let known = &mut self.tools[*known];
                known.sets = known.sets.and(tool.sets);
            } else {
                self.by_name.insert(name, self.tools.len());
                self.tools.push(tool);
            }
        }
    }

    pub(crate) fn operations(&self) -> &Arc<Operations> {
        &self.operations
    }

    /// The tool with this name, listed or not.
    pub(crate) fn get(&self, name: &str) -> Option<&Tool> {
        self.by_name.get(name).and_then(|position| self.tools.get(*position))
    }

    /// Every tool, in the order they are listed.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter()
    }

    /// Names of our own servers that have tools.
    pub(crate) fn servers(&self, hidden: bool) -> Vec<String> {
        let with_tools = |name: &str| self.of_server(name).next().is_some();
        let shown = SERVERS.iter().filter(|(_, shown)| *shown || hidden);
        shown.map(|(name, _)| *name).filter(|name| with_tools(name)).map(str::to_owned).collect()
    }

    /// The listed tools of one of our own servers.
    pub(crate) fn of_server<'a>(&'a self, server: &'a str) -> impl Iterator<Item = &'a Tool> {
        self.tools.iter().filter(move |tool| tool.server == server && tool.sets != Sets::NONE)
    }

    /// Whether a name is one of our own servers'.
    pub(crate) fn is_server(name: &str) -> bool {
        SERVERS.iter().any(|(own, _)| *own == name)
    }

    /// A tool of one of our own servers, by its name with or without the server's before it.
    pub(crate) fn in_server(&self, server: &str, name: &str) -> Option<&Tool> {
        let prefixed = format!("{server}_{name}");
        let tool = self.get(name).or_else(|| self.get(&prefixed))?;
        (tool.server == server).then_some(tool)
    }

    /// Names much like one that does not exist.
    pub(crate) fn similar(&self, name: &str) -> Vec<&str> {
        let wanted = name.to_ascii_lowercase();
        let stem = wanted.rsplit(['_', '.', '/', '-']).next().unwrap_or(&wanted).to_owned();
        let listed = self.tools.iter().filter(|tool| tool.sets != Sets::NONE);
        let names = listed.map(|tool| tool.definition.name.as_ref()).filter(|known: &&str| {
            let known = known.to_ascii_lowercase();
            known.contains(&wanted) || (stem.len() > 2 && known.contains(&stem))
        });
        names.take(5).collect()
    }
}

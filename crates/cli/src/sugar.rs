//! What the generated verbs are given by hand, as data: shorter names, the order of words, what an omitted word means.

/// Something an operation's verb has beyond its declaration.
#[derive(Debug)]
pub(crate) struct Sugar {
    id: &'static str,
    /// Other names of the verb.
    pub(crate) aliases: &'static [&'static str],
    /// Fields that may be given as words, in this order, instead of those that must be given.
    pub(crate) words: &'static [&'static str],
    /// What a field is that is not given.
    pub(crate) defaults: &'static [(&'static str, &'static str)],
}

const fn named(id: &'static str, aliases: &'static [&'static str]) -> Sugar {
    Sugar { id, aliases, words: &[], defaults: &[] }
}

const fn worded(
    id: &'static str,
    aliases: &'static [&'static str],
    words: &'static [&'static str],
    defaults: &'static [(&'static str, &'static str)],
) -> Sugar {
    Sugar { id, aliases, words, defaults }
}

/// The workspace, for verbs that look into a directory.
const HERE: &[(&str, &str)] = &[("path", ".")];

const SUGAR: &[Sugar] = &[
    named("sandbox_get_context", &["info"]),
    worded("file_list", &["ls"], &["path"], HERE),
    worded("file_grep", &[], &["pattern", "path"], HERE),
    worded("file_find", &[], &["glob", "path"], HERE),
    worded("file_glob", &[], &["pattern", "path"], HERE),
    named("file_delete", &["rm"]),
    named("file_move", &["mv"]),
    named("browser_tab_list", &["tabs"]),
    named("mcp_call_tool", &["call"]),
];

/// The names of groups of operations, where people and the documents use another than the operations' ids.
pub(crate) const GROUP_NAMES: &[(&str, &str)] =
    &[("desktop", "gui"), ("service", "services"), ("skill", "skills"), ("hook", "hooks")];

/// What is to be said of a group in a line.
const GROUP_ABOUTS: &[(&str, &str)] = &[
    ("auth", "Ask who one is, and make tickets for links"),
    ("bash", "Run commands with separate output streams, and follow them"),
    ("browser", "Use the browser: pages, tabs, clicks, screenshots, cookies, requests"),
    ("code", "Run Python and JavaScript"),
    ("egress", "See and set what may be reached from the sandbox"),
    ("file", "List, read, write, copy, edit and search files"),
    ("gui", "Use the desktop: screenshots, mouse, keyboard, windows, clipboard"),
    ("hooks", "See and set what runs when the sandbox starts and stops"),
    ("jupyter", "Use Jupyter kernels"),
    (
        "mcp",
        "List and call MCP tools; without a verb, connect an MCP client on standard input and output",
    ),
    ("nodejs", "Use Node.js sessions"),
    ("observe", "Measure the sandbox and write reports"),
    ("proxy", "See and set the proxy that the sandbox reaches others by"),
    ("sandbox", "Ask what the sandbox is and has"),
    ("services", "See, start and stop the services of the sandbox"),
    ("shell", "Use shell sessions, which keep their state"),
    ("skills", "List and register skills"),
    ("system", "Ask for limits and for a sign of life"),
    ("util", "Convert documents to Markdown"),
    ("web", "Fetch pages and search the web"),
];

/// What an operation's verb has beyond its declaration.
pub(crate) fn of(id: &str) -> Option<&'static Sugar> {
    SUGAR.iter().find(|sugar| sugar.id == id)
}

/// A group in a line.
pub(crate) fn about(group: &str) -> String {
    let known = GROUP_ABOUTS.iter().find(|(name, _)| *name == group);
    known.map_or_else(
        || format!("Operations of the group {group}"),
        |(_, about)| (*about).to_owned(),
    )
}

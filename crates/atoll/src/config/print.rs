//! `--print-config`: the settings in force as a configuration file, each under a comment that says what it is and
//! where else it can be set. The comments come from the types, so that they cannot fall behind.

use schemars::Schema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::environment::LIMIT_PREFIX;
use super::{Config, auth, browser, egress, hooks, mcp, observe, services, skills, web, windows};

/// Where each setting can be made beside the file: its flag and its variables, strongest first.
const PLACES: &[(&str, &str, &str)] = &[
    ("allow_hosts", "--allow-host", "ATOLL_ALLOW_HOSTS"),
    ("allow_origins", "--allow-origin", "ATOLL_ALLOW_ORIGINS"),
    ("disable_jupyter", "--disable-jupyter", "DISABLE_JUPYTER"),
    ("home", "--home", "ATOLL_HOME"),
    ("listen", "--listen", "ATOLL_LISTEN, PUBLIC_PORT"),
    ("log_dir", "--log-dir", "LOG_DIR"),
    ("log_format", "--log-format", "ATOLL_LOG_FORMAT"),
    ("log_level", "--log-level", "ATOLL_LOG_LEVEL"),
    ("pass_env", "--pass-env", "ATOLL_PASS_ENV"),
    ("runtime_dir", "--runtime-dir", "ATOLL_RUNTIME_DIR"),
    ("warm_kernel", "--warm-kernel", "ATOLL_WARM_KERNEL"),
    ("workspace", "--workspace", "WORKSPACE"),
];

/// Settings that are tables of their own.
const TABLES: &[&str] = &[
    "auth", "browser", "egress", "hooks", "limits", "mcp", "observe", "services", "skills", "web",
    "windows",
];

impl Config {
    /// This configuration as a file.
    pub(crate) fn to_toml(&self) -> String {
        let schema = schemars::schema_for!(Config);
        let mut lines = vec![
            "# The settings in force. A flag is stronger than the environment, the environment than a file."
                .to_owned(),
        ];
        for (name, value) in fields(self) {
            if TABLES.contains(&name.as_str()) {
                continue;
            }
            let places = PLACES.iter().find(|(setting, ..)| *setting == name);
            let (_, flag, variables) = places.copied().unwrap_or_default();
            let description = described(&schema, &["properties", &name]);
            let places = format!("Flag {flag}, environment {variables}.");
            lines.extend(entry(&name, &value, &[description, &places]));
        }
        let description = described(&schema, &["properties", "auth"]);
        lines.extend([String::new(), format!("# {description}"), "[auth]".to_owned()]);
        for (name, value) in fields(&self.auth) {
            let places = auth::PLACES.iter().find(|(setting, ..)| *setting == name);
            let (_, flag, variables) = places.copied().unwrap_or_default();
            let description = described(&schema, &["$defs", "AuthConfig", "properties", &name]);
            let places = format!("Flag {flag}, environment {variables}.");
            lines.extend(entry(&name, &value, &[description, &places]));
        }
        let description = described(&schema, &["properties", "browser"]);
        lines.extend([String::new(), format!("# {description}"), "[browser]".to_owned()]);
        for (name, value) in fields(&self.browser) {
            let places = browser::PLACES.iter().find(|(setting, _)| *setting == name);
            let variables = places.map_or("", |(_, variables)| variables);
            let description = described(&schema, &["$defs", "BrowserConfig", "properties", &name]);
            lines.extend(entry(
                &name,
                &value,
                &[description, &format!("Environment {variables}.")],
            ));
        }
        let table = Table { name: "egress", schema: "EgressConfig", places: egress::PLACES };
        lines.extend(table.lines(&schema, &self.egress));
        let table = Table { name: "hooks", schema: "HooksConfig", places: hooks::PLACES };
        lines.extend(table.lines(&schema, &self.hooks));
        let table = Table { name: "skills", schema: "SkillsConfig", places: skills::PLACES };
        lines.extend(table.lines(&schema, &self.skills));
        let table = Table { name: "mcp", schema: "McpConfig", places: mcp::PLACES };
        lines.extend(table.lines(&schema, &self.mcp));
        let table = Table { name: "observe", schema: "ObserveConfig", places: observe::PLACES };
        lines.extend(table.lines(&schema, &self.observe));
        let table = Table { name: "services", schema: "ServicesConfig", places: services::PLACES };
        lines.extend(table.lines(&schema, &self.services));
        let table = Table { name: "web", schema: "WebConfig", places: web::PLACES };
        lines.extend(table.lines(&schema, &self.web));
        let table = Table { name: "windows", schema: "WindowsConfig", places: windows::PLACES };
        lines.extend(table.lines(&schema, &self.windows));
        let description = described(&schema, &["properties", "limits"]);
        lines.extend([String::new(), format!("# {description}"), "[limits]".to_owned()]);
        for (name, value) in fields(&self.limits) {
            let description = described(&schema, &["$defs", "Limits", "properties", &name]);
            let variable = format!("Environment {LIMIT_PREFIX}{}.", name.to_uppercase());
            lines.extend(entry(&name, &value, &[description, &variable]));
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

/// A table whose settings say themselves where else they can be made.
struct Table {
    name: &'static str,
    /// The name of its type.
    schema: &'static str,
    places: &'static [(&'static str, &'static str)],
}

impl Table {
    fn lines(&self, schema: &Schema, of: &impl Serialize) -> Vec<String> {
        let Self { name, places, .. } = self;
        let description = described(schema, &["properties", name]);
        let mut lines = vec![String::new(), format!("# {description}"), format!("[{name}]")];
        for (name, value) in fields(of) {
            let place = places.iter().find(|(setting, _)| *setting == name);
            let description = described(schema, &["$defs", self.schema, "properties", &name]);
            lines.extend(entry(&name, &value, &[description, place.map_or("", |(_, at)| at)]));
        }
        lines
    }
}

/// A setting under its comments.
fn entry(name: &str, value: &Value, comments: &[&str]) -> Vec<String> {
    let mut lines = vec![String::new()];
    let comments = comments.iter().flat_map(|comment| comment.lines());
    lines.extend(comments.map(|line| format!("# {line}")));
    lines.push(match toml::Value::try_from(value) {
        Ok(value) => format!("{name} = {value}"),
        // TOML has no word for it.
        Err(_) => format!("# {name} is not set"),
    });
    lines
}

fn fields(of: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(of) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn described<'a>(schema: &'a Schema, path: &[&str]) -> &'a str {
    let root = Some(schema.as_value());
    let found = path.iter().fold(root, |at, name| at?.get(name));
    let description = found.and_then(|found| found.get("description"));
    description.and_then(Value::as_str).unwrap_or_default()
}

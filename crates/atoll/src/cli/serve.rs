//! Flags of `atoll serve`. They only say what was given; what it means together with the environment and the file is
//! decided in [`crate::config`].

use std::path::PathBuf;

use clap::Args;

use crate::config::{AuthLayer, Layer, Listen, LogFormat, LogLevel, McpLayer, ServicesLayer};

pub(super) const SERVE_HELP: &str = "\
A flag is stronger than an environment variable, a variable than the configuration file. Every limit of the server \
can be set in the file under [limits] and by variables ATOLL_LIMIT_<NAME>; `atoll serve --print-config` shows them \
all with the values in force.

Signals: SIGTERM, SIGINT and SIGHUP stop the server after open requests have had limits.stop_grace_seconds to end; a \
second one stops it at once.

Exit codes: 0 stopped as asked, 1 could not start or failed, 2 wrong flags or configuration.

Examples:
  atoll serve
  SANDBOX_API_KEY=$(openssl rand -hex 32) atoll serve --listen 0.0.0.0:8080 --workspace /data
  atoll serve --listen /run/atoll.sock --log-format json
  MAX_SHELL_SESSIONS=200 atoll serve --print-config > atoll.toml";

/// Flags of `atoll serve`.
#[derive(Debug, Default, Args)]
pub(crate) struct ServeFlags {
    /// Where to listen: address and port (0 takes a free one), or the path of a unix socket
    /// [env: ATOLL_LISTEN, PUBLIC_PORT] [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<Listen>,

    /// Home directory of the sandbox [env: ATOLL_HOME] [default: $HOME].
    #[arg(long, value_name = "DIRECTORY")]
    home: Option<PathBuf>,

    /// Where commands run unless told otherwise [env: WORKSPACE] [default: the home directory].
    #[arg(long, value_name = "DIRECTORY")]
    workspace: Option<PathBuf>,

    /// Directory for this process's private files, spilled output among them [env: ATOLL_RUNTIME_DIR] [default: the
    /// first of $TMPDIR, /tmp and /var/tmp that is on a disk].
    #[arg(long, value_name = "DIRECTORY")]
    runtime_dir: Option<PathBuf>,

    /// Configuration file, TOML [env: ATOLL_CONFIG].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print the settings in force as a configuration file, and exit.
    #[arg(long)]
    pub(crate) print_config: bool,

    /// Form of the log [env: ATOLL_LOG_FORMAT] [default: text].
    #[arg(long, value_name = "FORM")]
    log_format: Option<LogFormat>,

    /// The least severe messages that are logged [env: ATOLL_LOG_LEVEL] [default: info].
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<LogLevel>,

    /// Also write the log to the file atoll.log in this directory [env: LOG_DIR].
    #[arg(long, value_name = "DIRECTORY")]
    log_dir: Option<PathBuf>,

    /// Accept requests addressed to this host name beside the server's own; repeatable; * allows any
    /// [env: ATOLL_ALLOW_HOSTS].
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,

    /// Accept requests from web pages of this origin beside the server's own; repeatable; * allows any
    /// [env: ATOLL_ALLOW_ORIGINS].
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,

    #[command(flatten)]
    auth: AuthFlags,

    /// Let commands see this variable of the server's environment, by name or pattern (MY_*); repeatable. The server's
    /// own keys and settings are never passed on [env: ATOLL_PASS_ENV].
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,

    /// Keep a Python kernel started, so that the first execution need not wait for one [env: ATOLL_WARM_KERNEL].
    #[arg(long)]
    warm_kernel: bool,

    /// Offer no JupyterLab at /jupyter [env: DISABLE_JUPYTER].
    #[arg(long)]
    disable_jupyter: bool,

    /// Offer the tools of the MCP servers in this file too, in the `mcpServers` JSON that MCP clients share; more in the
    /// variable EXTRA_MCP_SERVERS [env: ATOLL_MCP_SERVERS].
    #[arg(long, value_name = "FILE")]
    mcp_servers: Option<PathBuf>,

    /// Run the services that this file sets up [env: ATOLL_SERVICES] [default: .config/atoll/services.toml in the home].
    #[arg(long, value_name = "FILE")]
    services: Option<PathBuf>,

    /// Run the services that the *.conf files in this directory set up in the way of supervisord
    /// [env: SUPERVISOR_CONF_DIR].
    #[arg(long, value_name = "DIRECTORY")]
    supervisor_conf_dir: Option<PathBuf>,

    /// Offer what the official MCP conformance suite tests instead of the sandbox's tools.
    #[arg(long, hide = true)]
    pub(crate) conformance: bool,

    /// Write the server's URL to this file once it accepts connections, and remove it at the end.
    #[arg(long, value_name = "FILE")]
    pub(crate) ready_file: Option<PathBuf>,
}

/// Flags about who may come in. No secret is a flag: every process can read every command line.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Who may come in")]
struct AuthFlags {
    /// Accept the API key that this file holds; one may also be in the variable SANDBOX_API_KEY
    /// [env: ATOLL_API_KEY_FILE].
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,

    /// Accept the API keys that this file lists: on each line a name, the SHA-256 of the key, and its scopes
    /// [env: ATOLL_API_KEYS_FILE].
    #[arg(long, value_name = "FILE")]
    api_keys_file: Option<PathBuf>,

    /// Accept tokens signed for the public keys in this file, PEM or a JSON Web Key Set; one may also be in the variable
    /// JWT_PUBLIC_KEY [env: ATOLL_JWT_KEYS_FILE].
    #[arg(long, value_name = "FILE")]
    jwt_keys_file: Option<PathBuf>,

    /// Accept tokens signed with the secret that this file holds; one may also be in the variable JWT_SECRET
    /// [env: ATOLL_JWT_SECRET_FILE].
    #[arg(long, value_name = "FILE")]
    jwt_secret_file: Option<PathBuf>,

    /// Refuse requests without a credential also where only a secret for tokens is configured [env: JWT_AUTH_REQUIRED].
    #[arg(long)]
    jwt_auth_required: bool,

    /// Accept only tokens for this audience; repeatable [env: JWT_AUDIENCE].
    #[arg(long, value_name = "NAME")]
    jwt_audience: Vec<String>,

    /// Accept only tokens of this issuer; repeatable [env: JWT_ISSUER].
    #[arg(long, value_name = "NAME")]
    jwt_issuer: Vec<String>,

    /// Seconds a ticket is good for [env: TICKET_TTL_SECONDS] [default: 30].
    #[arg(long, value_name = "SECONDS")]
    ticket_seconds: Option<u64>,

    /// Listen beyond this machine although anybody who comes is let in [env: ATOLL_ALLOW_UNAUTHENTICATED].
    #[arg(long)]
    allow_unauthenticated: bool,

    /// Record every request in this file: who, what, when, from where, with which outcome [env: ATOLL_AUDIT_LOG].
    #[arg(long, value_name = "FILE")]
    audit_log: Option<PathBuf>,
}

impl AuthFlags {
    fn into_layer(self) -> AuthLayer {
        let given = |list: Vec<String>| (!list.is_empty()).then_some(list);
        AuthLayer {
            api_key_file: self.api_key_file,
            api_keys_file: self.api_keys_file,
            jwt_keys_file: self.jwt_keys_file,
            jwt_secret_file: self.jwt_secret_file,
            jwt_auth_required: self.jwt_auth_required.then_some(true),
            jwt_audiences: given(self.jwt_audience),
            jwt_issuers: given(self.jwt_issuer),
            ticket_seconds: self.ticket_seconds,
            allow_unauthenticated: self.allow_unauthenticated.then_some(true),
            audit_log: self.audit_log,
        }
    }
}

impl ServeFlags {
    /// The settings given by flags.
    pub(crate) fn into_layer(self) -> Layer {
        let given = |list: Vec<String>| (!list.is_empty()).then_some(list);
        Layer {
            listen: self.listen,
            home: self.home,
            workspace: self.workspace,
            runtime_dir: self.runtime_dir,
            log_format: self.log_format,
            log_level: self.log_level,
            log_dir: self.log_dir,
            allow_hosts: given(self.allow_host),
            allow_origins: given(self.allow_origin),
            pass_env: given(self.pass_env),
            warm_kernel: self.warm_kernel.then_some(true),
            disable_jupyter: self.disable_jupyter.then_some(true),
            auth: self.auth.into_layer(),
            mcp: McpLayer { servers: self.mcp_servers, ..McpLayer::default() },
            services: ServicesLayer {
                conf_dir: self.supervisor_conf_dir,
                file: self.services,
                wait_ports: None,
            },
            ..Layer::default()
        }
    }
}

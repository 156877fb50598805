// How common clients are told of this sandbox.
export interface Snippet {
  name: string;
  /** Where it goes. */
  where: string;
  text: string;
}

const NAME = "atoll";
const KEY = "YOUR_KEY";

/** `base` is the address of this server with a slash at its end; `locked` when it asks for a credential. */
export function snippets(base: string, locked: boolean): Snippet[] {
  const url = `${base}mcp`;
  const headers = { Authorization: `Bearer ${KEY}` };
  const json = (value: unknown) => JSON.stringify(value, null, 2);
  const server = (kind: Record<string, unknown>) => ({ ...kind, ...(locked ? { headers } : {}) });
  const remote = ["-y", "mcp-remote", url, ...(locked ? ["--header", `Authorization: Bearer ${KEY}`] : [])];
  return [
    {
      name: "Claude Code",
      where: "Run in a terminal",
      text: `claude mcp add --transport http ${NAME} ${url}${locked ? ` \\\n  --header "Authorization: Bearer ${KEY}"` : ""}`,
    },
    {
      name: "Claude Desktop",
      where: "claude_desktop_config.json",
      text: json({ mcpServers: { [NAME]: { command: "npx", args: remote } } }),
    },
    { name: "Cursor", where: "~/.cursor/mcp.json", text: json({ mcpServers: { [NAME]: server({ url }) } }) },
    { name: "VS Code", where: ".vscode/mcp.json", text: json({ servers: { [NAME]: server({ type: "http", url }) } }) },
    {
      name: "Codex",
      where: "~/.codex/config.toml",
      text: `[mcp_servers.${NAME}]\nurl = "${url}"${locked ? '\nbearer_token_env_var = "ATOLL_API_KEY"' : ""}`,
    },
    { name: "JSON", where: "Any client that speaks streamable HTTP", text: json({ mcpServers: { [NAME]: server({ type: "http", url }) } }) },
    {
      name: "Python SDK",
      where: "pip install agent-sandbox",
      text: `from agent_sandbox import Sandbox\n\nclient = Sandbox(base_url="${base.replace(/\/$/, "")}"${
        locked ? `,\n                 headers={"Authorization": "Bearer ${KEY}"}` : ""
      })\nprint(client.shell.exec_command(command="uname -a").data.output)`,
    },
    {
      name: "curl",
      where: "Run in a terminal",
      text: `curl ${locked ? `-H "Authorization: Bearer ${KEY}" \\\n  ` : ""}-H 'Content-Type: application/json' \\\n  -d '{"command": "uname -a"}' ${base}v1/bash/exec`,
    },
  ];
}

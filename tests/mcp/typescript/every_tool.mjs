// Lists the tools of a server with the official TypeScript client and calls each of them. Prints what came of it.
//
//   PACKAGES=…/node_modules node every_tool.mjs URL

import { pathToFileURL } from "node:url";
import { join } from "node:path";

const load = (path) =>
  import(pathToFileURL(join(process.env.PACKAGES, "@modelcontextprotocol/sdk/dist/esm", path)).href);
const { Client } = await load("client/index.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");

function sample(schema) {
  if (schema.enum) return schema.enum[0];
  if ("default" in schema) return schema.default;
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case "object":
      return Object.fromEntries((schema.required ?? []).map((name) => [name, sample(schema.properties?.[name] ?? {})]));
    case "array":
      return schema.minItems ? [sample(schema.items ?? {})] : [];
    case "integer":
    case "number":
      return schema.minimum ?? 1;
    case "boolean":
      return false;
    default:
      return "nonexistent-thing";
  }
}

const client = new Client({ name: "every-tool", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
const { tools } = await client.listTools();
const report = { called: [], failed: [] };
for (const tool of tools) {
  // The browser has tests of its own.
  if (/^(browser_|sandbox_browser|sandbox_get_browser|Web)/.test(tool.name)) continue;
  try {
    // The client holds structured results against the tool's schema.
    const result = await client.callTool({ name: tool.name, arguments: sample(tool.inputSchema) });
    if (result.isError && !result.content[0]?.text) throw new Error("failed without a word");
    report.called.push(tool.name);
  } catch (error) {
    report.failed.push(`${tool.name}: ${error.message}`);
  }
}
await client.close();
console.log(JSON.stringify(report));

// Gathers what the server embeds into dist/. Runs on Node alone and touches only files that changed, so that an
// unchanged build does not make cargo build again.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const swagger = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
const target = join(here, "dist", "swagger");

const names = ["swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-bundle.js.LICENSE.txt", "LICENSE", "NOTICE"];
for (const name of names) {
  put(join(swagger, name), join(target, name));
}
console.log(`Swagger UI is in ${target}`);

// noVNC is a tree of modules that import each other by their places: it is taken as it is, with its licences.
const novnc = join(dirname(fileURLToPath(import.meta.resolve("@novnc/novnc"))), "..");
const viewer = join(here, "dist", "novnc");
for (const name of readdirSync(novnc, { recursive: true, withFileTypes: true })) {
  const path = join(name.parentPath, name.name).slice(novnc.length + 1);
  if (name.isFile() && /^(core|vendor)\/.*\.js$|LICENSE|AUTHORS/.test(path)) {
    put(join(novnc, path), join(viewer, path));
  }
}
console.log(`noVNC is in ${viewer}`);

function put(source, destination) {
  const content = readFileSync(source);
  if (!isCurrent(destination, content)) {
    mkdirSync(dirname(destination), { recursive: true });
    writeFileSync(destination, content);
  }
}

function isCurrent(path, content) {
  try {
    return readFileSync(path).equals(content);
  } catch {
    return false;
  }
}

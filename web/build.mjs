// Gathers what the server embeds into dist/. Runs on Node alone and touches only files that changed, so that an
// unchanged build does not make cargo build again.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const swagger = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
const target = join(here, "dist", "swagger");

mkdirSync(target, { recursive: true });
const names = ["swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-bundle.js.LICENSE.txt", "LICENSE", "NOTICE"];
for (const name of names) {
  const content = readFileSync(join(swagger, name));
  if (!isCurrent(join(target, name), content)) {
    writeFileSync(join(target, name), content);
  }
}
console.log(`Swagger UI is in ${target}`);

function isCurrent(path, content) {
  try {
    return readFileSync(path).equals(content);
  } catch {
    return false;
  }
}

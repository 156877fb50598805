// Builds what the server embeds into dist/: our pages, and what we take from others as it is. Touches only files that
// changed, so that an unchanged build does not make cargo build again.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
const require = createRequire(import.meta.url);
const packageOf = (name) => dirname(require.resolve(`${name}/package.json`));

const swagger = packageOf("swagger-ui-dist");
const swaggerFiles = ["swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-bundle.js.LICENSE.txt", "LICENSE", "NOTICE"];
put("swagger", new Map(swaggerFiles.map((name) => [name, readFileSync(join(swagger, name))])));

// noVNC is a tree of modules that import each other by their places: it is taken as it is, with its licences.
const novnc = join(dirname(fileURLToPath(import.meta.resolve("@novnc/novnc"))), "..");
put("novnc", tree(novnc, (path) => /^(core|vendor)\/.*\.js$|LICENSE|AUTHORS/.test(path)));

// Pages of others load these by their old names and versions.
const old = new Map();
for (const [name, version, files] of [
  ["xterm", "5.3.0", ["lib/xterm.js", "css/xterm.css", "LICENSE"]],
  ["xterm-addon-fit", "0.8.0", ["lib/xterm-addon-fit.js", "LICENSE"]],
]) {
  for (const file of files) {
    // The maps their last lines name are not served.
    const content = readFileSync(join(packageOf(name), file), "utf8").replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, "\n");
    old.set(`${name}@${version}/${file}`, Buffer.from(content));
  }
}
put("xterm", old);

const built = await build({ root: here, configFile: join(here, "vite.config.ts"), logLevel: "warn", build: { write: false } });
const pages = new Map(built.output.map((file) => [file.fileName, Buffer.from(file.code ?? file.source)]));
put("app", pages);

/** The files below a directory whose paths are wanted. */
function tree(root, wanted) {
  const found = new Map();
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(root.length + 1);
    if (entry.isFile() && wanted(path)) {
      found.set(path, readFileSync(join(root, path)));
    }
  }
  return found;
}

/** Makes a part of dist/ hold exactly these files, with a compressed form beside each text. */
function put(part, files) {
  const root = join(dist, part);
  const all = new Map(files);
  for (const [path, content] of files) {
    const compressed = gzipSync(content, { level: 9 });
    // The time of day would else be in it.
    compressed.fill(0, 4, 8);
    if ([".js", ".css", ".html", ".svg"].includes(extname(path)) && compressed.length < content.length * 0.9) {
      all.set(`${path}.gz`, compressed);
    }
  }
  for (const path of tree(made(root), () => true).keys()) {
    if (!all.has(path)) rmSync(join(root, path));
  }
  for (const [path, content] of all) {
    const place = join(root, path);
    if (!isCurrent(place, content)) {
      mkdirSync(dirname(place), { recursive: true });
      writeFileSync(place, content);
    }
  }
  console.log(`${part}: ${files.size} files in ${root}`);
}

function made(root) {
  mkdirSync(root, { recursive: true });
  return root;
}

function isCurrent(path, content) {
  try {
    return readFileSync(path).equals(content);
  } catch {
    return false;
  }
}

// How code that lies in no file finds modules: from a directory, as if it were a file there, and then from the package
// directories that everybody shares.
'use strict';

const fs = require('fs');
const Module = require('module');
const path = require('path');
const { pathToFileURL } = require('url');

const GLOBALS = ['require', 'module', 'exports', '__filename', '__dirname'];

/** Lets `require` fall back to shared directories everywhere, in packages too, without an environment variable. */
function share(roots) {
  const own = process.env.NODE_PATH;
  process.env.NODE_PATH = [...roots, own].filter(Boolean).join(path.delimiter);
  Module._initPaths();
  if (own === undefined) delete process.env.NODE_PATH;
  else process.env.NODE_PATH = own;
}

/** `import()` as a file of that directory would call it. Only a compiled module has the default loader behind it. */
function importerAt(directory) {
  const filename = path.join(directory, 'main.cjs');
  const module = new Module(filename, null);
  module.filename = filename;
  module.paths = Module._nodeModulePaths(directory);
  module._compile(
    'module.exports = (specifier, options) => options === undefined ? import(specifier) : import(specifier, options)',
    filename,
  );
  return module.exports;
}

/** The name of the package a specifier begins with; null when it names no package. */
function packageName(specifier) {
  if (/^(\.{0,2}\/|[a-z][a-z0-9+.-]*:|#|\.{1,2}$)/i.test(specifier) || Module.builtinModules.includes(specifier)) return null;
  const name = /^(@[^/]+\/)?[^/]+/.exec(specifier);
  return name === null ? null : name[0];
}

/** Where a package lies that a file of `directory` would find, or else a shared one. */
function packageDirectory(name, directory, roots) {
  const candidates = [...Module._nodeModulePaths(directory), ...roots];
  return candidates.map((root) => path.join(root, name)).find((candidate) => fs.existsSync(candidate));
}

/** `import()` for code in that directory, with what declarations and `import.meta` need beside it. */
function loaderAt(directory, roots) {
  const filename = path.join(directory, 'main.mjs');
  let own;

  async function load(specifier, options) {
    try {
      own ??= importerAt(directory);
      return await own(specifier, options);
    } catch (error) {
      const name = typeof specifier === 'string' ? packageName(specifier) : null;
      const missing = error !== null && typeof error === 'object' && error.code === 'ERR_MODULE_NOT_FOUND';
      if (!missing || name === null) throw error;
      const root = roots.find((candidate) => fs.existsSync(path.join(candidate, name)));
      if (root === undefined) throw error;
      return importerAt(path.dirname(root))(specifier, options);
    }
  }

  /** What an import declaration does: names that are not exported are an error at once. */
  async function declared(specifier, attributes, names) {
    const namespace = await load(specifier, attributes === null ? undefined : { with: attributes, assert: attributes });
    const lacking = names.find((name) => !(name in namespace));
    if (lacking === undefined) return namespace;
    throw new SyntaxError(`The requested module '${specifier}' does not provide an export named '${lacking}'`);
  }

  function loader(specifier, options) {
    return load(typeof specifier === 'string' ? specifier : `${specifier}`, options);
  }
  loader.declared = declared;
  loader.meta = Object.assign(Object.create(null), {
    dirname: directory,
    filename,
    url: pathToFileURL(filename).href,
    resolve: (specifier) => {
      if (/^\.{0,2}\//.test(specifier)) return new URL(specifier, pathToFileURL(filename)).href;
      const found = Module.createRequire(filename).resolve(specifier);
      return path.isAbsolute(found) ? pathToFileURL(found).href : `node:${found.replace(/^node:/, '')}`;
    },
  });
  return loader;
}

function hidden(name, value) {
  Object.defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });
}

/** Gives global code what a file in that directory would have; as the main module, if it is to be one. */
function settle(directory, roots, loaderName, isMain) {
  const filename = path.join(directory, 'main.js');
  const module = new Module(filename, null);
  module.filename = filename;
  module.paths = Module._nodeModulePaths(directory);
  module.loaded = true;
  if (isMain) module.id = '.';
  // A `require` made from here on names it.
  process.mainModule = isMain ? module : undefined;
  const values = [Module.createRequire(filename), module, module.exports, filename, directory];
  GLOBALS.forEach((name, position) => hidden(name, values[position]));
  hidden(loaderName, loaderAt(directory, roots));
  return module;
}

/** Built-in modules under their own names, loaded when first looked at. */
function offerBuiltins() {
  const names = Module.builtinModules.filter((name) => /^[a-z_]+$/.test(name) && name[0] !== '_');
  names.filter((name) => !(name in globalThis)).forEach((name) => {
    Object.defineProperty(globalThis, name, {
      configurable: true,
      enumerable: false,
      get() {
        hidden(name, require(name));
        return globalThis[name];
      },
      set(value) {
        hidden(name, value);
      },
    });
  });
}

/** Output is complete when it is written: a full pipe makes the writer wait, so that nothing is lost at the exit. */
function writeInFull() {
  for (const name of ['stdout', 'stderr']) {
    const { get, enumerable } = Object.getOwnPropertyDescriptor(process, name);
    let stream;
    Object.defineProperty(process, name, {
      configurable: true,
      enumerable,
      get() {
        if (stream === undefined) {
          stream = get.call(process);
          stream._handle?.setBlocking?.(true);
        }
        return stream;
      },
    });
  }
}

module.exports = { loaderAt, offerBuiltins, packageDirectory, packageName, settle, share, writeInFull };

//# sourceURL=atoll:modules

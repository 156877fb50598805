// Runs one program in a fresh process, as a file of its own would run, and tells the value of its last expression.
//
// A plain script runs as `node -p` runs it. One that awaits at its top level runs as it would be typed into the
// developer tools. One with imports or exports is a module, and only its own file can be one. One that returns at its
// top level is a CommonJS module. Errors are left to Node, which prints them and ends the process as ever.
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');
const { cut, readLine, sender, DOWN } = require('./channel.js');
const modules = require('./modules.js');
const { describe, describeError, isPromise } = require('./report.js');

const LOADER = '__import';
const NAME = 'main.js';

const settings = readLine();
const send = sender(settings.secret);
const { then } = Promise.prototype;
fs.closeSync(DOWN);
modules.writeInFull();
modules.share(settings.roots);
modules.offerBuiltins();
const main = modules.settle(settings.directory, settings.roots, LOADER, true);
process.argv = [process.argv[0], main.filename];
const ours = Object.keys(require.cache).filter((name) => path.dirname(name) === __dirname);
ours.forEach((name) => delete require.cache[name]);

process.on('uncaughtExceptionMonitor', (error) => {
  if (process.listenerCount('uncaughtException') === 0) tellError(error);
});

function tellError(error) {
  const { name, message, traceback } = describeError(error, settings.limit);
  send(['type', 'error', 'name', name, 'message', message, 'traceback', traceback]);
}

function tellResult(value) {
  if (isPromise(value)) {
    // Without a second handler, so that a rejection stays as unhandled as it is.
    then.call(value, tellResult);
  } else if (value !== undefined) {
    send(['type', 'result', 'text', cut(describe(value), settings.limit)]);
  }
}

function parses(code) {
  try {
    new vm.Script(code);
    return true;
  } catch {
    return false;
  }
}

/** Whether a script awaits outside any function. In a static block such an await is an error, and in functions it is none. */
function awaits(code) {
  return /\bawait\b/.test(code) && !parses(`class _ { static {${code}\n} }`);
}

function runScript(code) {
  // What is wrong with a program has nothing to do with who reads it; but an error without any frame looks odd.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 1;
  const script = new vm.Script(code, { filename: NAME });
  Error.stackTraceLimit = stackTraceLimit;
  setImmediate(function run() {
    tellResult(script.runInThisContext());
  });
}

function runAwaiting(code) {
  const { evaluate } = require('./realm.js').create();
  let settled = false;
  process.on('exit', (status) => {
    if (settled || status !== 0) return;
    process.exitCode = 13;
    fs.writeSync(2, 'Warning: the program waits at its top level for something that cannot come any more\n');
  });
  evaluate(code, NAME, (outcome) => {
    settled = true;
    if ('value' in outcome) tellResult(outcome.value);
    // Nobody handles this rejection: Node reports it as it reports any other.
    else Promise.reject(outcome.thrown);
  });
}

/** A specifier as it reads from another directory: the user's files by their place, packages by a link beside it. */
function relocate(text, place) {
  const specifier = vm.runInThisContext(`(${text})`);
  if (/^\.{1,2}(\/|$)/.test(specifier)) {
    const { pathToFileURL } = require('url');
    return JSON.stringify(new URL(specifier, pathToFileURL(main.filename)).href);
  }
  const name = modules.packageName(specifier);
  const directory = name === null ? undefined : modules.packageDirectory(name, settings.directory, settings.roots);
  if (directory !== undefined) {
    const link = path.join(place, 'node_modules', name);
    fs.mkdirSync(path.dirname(link), { recursive: true });
    if (!fs.existsSync(link)) fs.symlinkSync(fs.realpathSync(directory), link);
  }
  return text;
}

function runModule(code, found, { toModule }) {
  const place = settings.module_directory;
  fs.mkdirSync(place, { recursive: true });
  const filename = path.join(place, 'main.mjs');
  fs.writeFileSync(filename, toModule(code, found, LOADER, (text) => relocate(text, place)));
  // Errors in the program reject this, and nobody handles that.
  globalThis[LOADER](require('url').pathToFileURL(filename).href);
}

function start() {
  let code = settings.typescript ? require('./types.js').withoutTypes(settings.code) : settings.code;
  let scanner;
  let found;
  if (/\b(?:import|export)\b/.test(code)) {
    scanner = vm.runInThisContext(fs.readFileSync(path.join(__dirname, 'scan.js'), 'utf8'));
    found = scanner.scan(code);
    if (found.exports || found.imports.length > 0 || found.metas.length > 0) return runModule(code, found, scanner);
    code = scanner.toRepl(code, found, LOADER);
  }
  if (parses(code)) return awaits(code) ? runAwaiting(code) : runScript(code);
  if (/\bawait\b/.test(code) && parses(`async () => {${code}\n}`)) return runAwaiting(code);
  if (/\breturn\b/.test(code) && parses(`() => {${code}\n}`)) return setImmediate(() => main._compile(code, main.filename));
  return runScript(code);
}

start();

//# sourceURL=atoll:script

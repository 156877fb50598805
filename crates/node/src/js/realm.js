// The inspector's way to evaluate code, and a realm that code cannot reach into.
'use strict';

const fs = require('fs');
const inspector = require('inspector');
const path = require('path');
const vm = require('vm');

/** Console methods that only print. Those of Node also tell the inspector, which costs more than printing does. */
function plainConsole() {
  const plain = new console.Console({ stdout: process.stdout, stderr: process.stderr });
  Object.keys(plain).forEach((name) => {
    console[name] = plain[name];
  });
}

function create() {
  const session = new inspector.Session();
  session.connect();
  plainConsole();
  const context = vm.createContext({});
  const load = (file) => {
    const filename = path.join(__dirname, file);
    return vm.runInContext(fs.readFileSync(filename, 'utf8'), context, { filename: `atoll:${file}` });
  };
  const call = new vm.Script('call()', { filename: 'atoll:guard' });
  const run = call.runInContext.bind(call, context, { breakOnSigint: true });

  /** Calls a function so that SIGINT breaks it off, however it loops; then this throws. */
  function guard(work) {
    context.call = work;
    return run();
  }

  const post = session.post.bind(session);
  const host = { global: globalThis, objects: Object.prototype, post };
  return { evaluate: load('repl.js')(host).evaluate, guard, load };
}

module.exports = { create };

//# sourceURL=atoll:realm

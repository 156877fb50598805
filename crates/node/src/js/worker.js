// One session: a process that evaluates what it is sent, one piece of code after another, and keeps their state.
//
// The session's own logic (`session.js`) runs in a realm that the user's code cannot reach, on what is handed over
// here: functions taken before that code ran. Its output goes where it always goes, to the standard streams.
'use strict';

const fs = require('fs');
const net = require('net');
const path = require('path');
const { Readable } = require('stream');
const vm = require('vm');
const { DOWN, cut, readLine, sender } = require('./channel.js');
const modules = require('./modules.js');
const realm = require('./realm.js');
const { describe, describeError, isPromise } = require('./report.js');
const { withoutTypes } = require('./types.js');

const LOADER = '__import';

const settings = readLine();
modules.writeInFull();
modules.share(settings.roots);
modules.offerBuiltins();
process.argv.splice(1);
const ours = Object.keys(require.cache).filter((name) => path.dirname(name) === __dirname);
ours.forEach((name) => delete require.cache[name]);

const { call } = Function.prototype;
const uncurried = (method) => call.bind(method);
const then = uncurried(Promise.prototype.then);
const listenerCount = process.listenerCount.bind(process);
const { evaluate, guard, load } = realm.create();
const { cwd, chdir } = process;
const { Script } = vm;
const { defineProperty } = Object;
const closedInput = Object.getOwnPropertyDescriptor(process, 'stdin');
let hasInput = false;
let settled = null;

const host = {
  limit: settings.limit,
  loader: LOADER,
  cut,
  cwd,
  describe,
  describeError,
  evaluate,
  guard,
  isPromise,
  later: setImmediate,
  scanner: load('scan.js'),
  send: sender(settings.secret),
  then,
  withoutTypes,

  /** Enters a directory, if one is given, and lets modules be found from where the session is. */
  enter(directory) {
    if (directory !== null) chdir(directory);
    let now = settled;
    try {
      now = cwd();
    } catch {
      // The directory is gone; so it stays where modules were found last.
    }
    if (now !== settled) modules.settle(now, settings.roots, LOADER, false);
    settled = now;
  },

  /** What the next code reads as its standard input; the process's own is at its end from the start. */
  input(text) {
    if (text !== null) {
      const value = new Readable({ read() {} });
      value.push(text, 'utf8');
      value.push(null);
      defineProperty(process, 'stdin', { configurable: true, enumerable: true, writable: true, value });
    } else if (hasInput) {
      defineProperty(process, 'stdin', closedInput);
    }
    hasInput = text !== null;
  },

  isInterrupt(error) {
    return typeof error === 'object' && error !== null && error.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED';
  },

  isHandled(event) {
    return listenerCount(event) > 1;
  },

  parses(code) {
    try {
      new Script(code);
      return true;
    } catch {
      return false;
    }
  },
};

const session = load('session.js')(host);
process.on('uncaughtException', session.uncaught);
process.on('unhandledRejection', session.unhandled);
// Without a listener the signal that breaks off a loop would end a process that does not loop.
process.on('SIGINT', () => {});

const { concat } = Buffer;
const indexOf = uncurried(Buffer.prototype.indexOf);
const subarray = uncurried(Buffer.prototype.subarray);
const toText = uncurried(Buffer.prototype.toString);
let pieces = [];

function arrived(bytes) {
  let rest = bytes;
  for (let stop = indexOf(rest, 0x0a); stop >= 0; stop = indexOf(rest, 0x0a)) {
    pieces[pieces.length] = subarray(rest, 0, stop);
    const line = toText(concat(pieces));
    pieces = [];
    rest = subarray(rest, stop + 1);
    session.obey(line);
  }
  if (rest.length > 0) pieces[pieces.length] = rest;
}

const socket = new net.Socket({ fd: DOWN, readable: true, writable: false });
socket.on('data', arrived);
socket.on('close', () => process.exit(1));
host.enter(null);
host.send(['type', 'ready']);

//# sourceURL=atoll:worker

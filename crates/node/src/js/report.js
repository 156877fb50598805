// What is said of values and errors. Both may be hostile: whoever calls this catches what they throw.
'use strict';

const { inspect, types } = require('util');

const { cut } = require('./channel.js');

const OPTIONS = { maxStringLength: Infinity };
// Frames that belong to this machinery and not to the user's code.
const OURS = /\((?:node:inspector|atoll:)|^\s+at (?:node:inspector|atoll:)/;

function describe(value) {
  return inspect(value, OPTIONS);
}

/** The lines of a description without our frames, what they called to run the code, and what lies below them. */
function ownFrames(text) {
  const lines = [];
  let below = false;
  for (const line of text.split('\n')) {
    if (!/^\s+at /.test(line)) below = false;
    else if (!below && OURS.test(line)) {
      below = true;
      if (/\(node:vm:/.test(lines.at(-1))) lines.pop();
    }
    if (!below) lines.push(line);
  }
  return lines;
}

/** Name, message and traceback of anything thrown, each of at most `limit` characters. */
function describeError(error, limit) {
  try {
    const isError = types.isNativeError(error) || error instanceof Error;
    if (!isError) {
      const text = cut(describe(error), limit);
      return { name: 'Error', message: text, traceback: [`Uncaught ${text}`] };
    }
    const text = (value) => cut(typeof value === 'string' ? value : describe(value), limit);
    return { name: text(error.name), message: text(error.message), traceback: ownFrames(cut(describe(error), limit)) };
  } catch {
    return { name: 'Error', message: 'an error that cannot be described', traceback: [] };
  }
}

module.exports = { describe, describeError, isPromise: types.isPromise };

//# sourceURL=atoll:report

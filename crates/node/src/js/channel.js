// The way to the server: one message per line on a descriptor of its own, each beginning with a secret, so that nothing
// the user's code writes anywhere can pass for a message. Everything needed is taken before that code runs.
'use strict';

const fs = require('fs');

const DOWN = 3;
const UP = 4;

const { readSync, writeSync } = fs;
const { from } = Buffer;
const { stringify } = JSON;

/** Reads one line, all of it, before anything else happens. */
function readLine() {
  const pieces = [];
  const piece = Buffer.allocUnsafe(1 << 16);
  for (;;) {
    const count = readSync(DOWN, piece);
    if (count === 0) process.exit(1);
    pieces.push(Buffer.from(piece.subarray(0, count)));
    if (piece[count - 1] === 0x0a) return JSON.parse(Buffer.concat(pieces).toString());
  }
}

/** A function that sends messages. They are put together by hand: `JSON.stringify` asks objects, and they may lie. */
function sender(secret) {
  return (fields) => {
    let text = '';
    for (let index = 0; index < fields.length; index += 2) {
      const value = fields[index + 1];
      const isList = typeof value === 'object' && value !== null;
      text += `${index === 0 ? '' : ','}"${fields[index]}":${isList ? list(value) : stringify(value)}`;
    }
    const bytes = from(`\n${secret} {${text}}\n`);
    let done = 0;
    while (done < bytes.length) done += writeSync(UP, bytes, done, bytes.length - done);
  };
}

function list(strings) {
  let text = '';
  for (let index = 0; index < strings.length; index += 1) text += `${index === 0 ? '' : ','}${stringify(strings[index])}`;
  return `[${text}]`;
}

/** The text, or as much of its beginning as may be sent. */
function cut(text, limit) {
  return text.length <= limit ? text : `${text.slice(0, limit)}\n\n... [${text.length - limit} characters left out] ...`;
}

module.exports = { DOWN, cut, readLine, sender };

//# sourceURL=atoll:channel

// Evaluates code as the developer tools do, in the main realm: awaiting at the top level, declaring again what was
// declared, the value of the last statement known.
//
// Runs in a realm of its own, whose prototypes the user's code cannot reach. What the inspector hands over are objects
// of the main realm, so only their own fields count.
((host) => {
  'use strict';

  const { getOwnPropertyDescriptor, defineProperty, hasOwn } = Object;
  const { deleteProperty } = Reflect;
  const GROUP = 'evaluation';
  let kept;
  const keep = (value) => {
    kept = value;
  };
  const keeper = referenceTo(keep);

  /** Sends a command. The inspector puts it into an object of the main realm before it turns it into text, and a
   *  `toJSON` the user gave all objects would be asked: it is put aside until the command itself is asked. */
  function post(method, fields, callback) {
    const set = getOwnPropertyDescriptor(host.objects, 'toJSON');
    let aside = set !== undefined && deleteProperty(host.objects, 'toJSON');
    const putBack = () => {
      if (aside) defineProperty(host.objects, 'toJSON', set);
      aside = false;
    };
    const command = {
      toJSON() {
        putBack();
        return fields;
      },
    };
    try {
      host.post(method, command, callback);
    } finally {
      putBack();
    }
  }

  /** How the inspector calls a function of ours. It is found by a name that exists for no longer than this takes. */
  function referenceTo(value) {
    const name = '__atoll';
    let reference;
    host.global[name] = value;
    post('Runtime.evaluate', { expression: name, objectGroup: 'own' }, (error, answer) => {
      reference = answer.result.objectId;
    });
    delete host.global[name];
    return reference;
  }

  /** The value the inspector describes. */
  function valueOf(remote) {
    if (hasOwn(remote, 'objectId')) {
      const call = {
        functionDeclaration: 'function (value) { this(value) }',
        objectId: keeper,
        arguments: [{ objectId: remote.objectId }],
        silent: true,
      };
      post('Runtime.callFunctionOn', call, () => {});
      const value = kept;
      kept = undefined;
      return value;
    }
    if (hasOwn(remote, 'unserializableValue')) {
      const text = remote.unserializableValue;
      return text.endsWith('n') ? BigInt(text.slice(0, -1)) : Number(text);
    }
    return hasOwn(remote, 'value') ? remote.value : undefined;
  }

  /** Where a program is no program; null when the error arose while it ran. */
  function place(details) {
    if (hasOwn(details, 'stackTrace') || !hasOwn(details, 'lineNumber')) return null;
    return { line: details.lineNumber, column: details.columnNumber };
  }

  /** Evaluates; `done` gets one of `{ value }`, `{ thrown, place }` and `{ terminated }`, at once or later. */
  function evaluate(code, name, done) {
    const command = {
      expression: `${code}\n//# sourceURL=${name}`,
      objectGroup: GROUP,
      replMode: true,
      silent: true,
    };
    post('Runtime.evaluate', command, (error, answer) => {
      if (error) return done({ terminated: true });
      let outcome;
      if (hasOwn(answer, 'exceptionDetails')) {
        const details = answer.exceptionDetails;
        outcome = { thrown: valueOf(details.exception), place: place(details) };
      } else {
        outcome = { value: valueOf(answer.result) };
      }
      post('Runtime.releaseObjectGroup', { objectGroup: GROUP }, () => {});
      return done(outcome);
    });
  }

  return { evaluate };
});

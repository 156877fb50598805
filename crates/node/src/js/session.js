// What a session does with each message. Runs in a realm of its own.
//
// An execution is over when the value of its code is there, and settled if it is a promise; what its timers and promises
// do later belongs to the execution that runs then, or to none. It is reported in the next turn of the event loop, so
// that rejections nobody handles count among its errors.
((host) => {
  'use strict';

  let current = null;
  let count = 0;

  /** Sends an error, which fails the execution that runs if one does. */
  function tellError(error, before) {
    const { name, message, traceback } = host.describeError(error, host.limit);
    if (current !== null) current.failed = true;
    const lines = before === undefined ? traceback : [...before, ...traceback];
    host.send(['type', 'error', 'name', name, 'message', message, 'traceback', lines]);
  }

  /** Ends an execution, once. */
  function finish(run, status) {
    if (run.finished) return;
    run.finished = true;
    host.later(() => {
      if (current === run) current = null;
      host.send(['type', 'done', 'id', run.id, 'status', run.failed && status === 'ok' ? 'error' : status, 'cwd', cwd()]);
    });
  }

  function cwd() {
    try {
      return host.cwd();
    } catch {
      return null;
    }
  }

  /** Does something that may be broken off. Where the user's code has broken the means for that, it cannot be. */
  function breakable(run, work) {
    let begun = false;
    const attempt = () => {
      begun = true;
      try {
        work();
      } catch (error) {
        tellError(error);
        finish(run, 'error');
      }
    };
    try {
      host.guard(attempt);
    } catch (error) {
      if (host.isInterrupt(error)) finish(run, 'interrupted');
      else if (!begun) attempt();
    }
  }

  function conclude(run, value) {
    if (run.finished) return;
    if (host.isPromise(value)) {
      host.then(
        value,
        (settled) => conclude(run, settled),
        (error) => failed(run, error),
      );
      return;
    }
    breakable(run, () => {
      if (value !== undefined) {
        host.send(['type', 'result', 'text', host.cut(host.describe(value), host.limit)]);
      }
      finish(run, 'ok');
    });
  }

  function failed(run, error, before) {
    if (run.finished) return;
    breakable(run, () => {
      tellError(error, before);
      finish(run, 'error');
    });
  }

  /** Where code is no code, as Node shows it. */
  function excerpt(run, place) {
    const lines = run.code.split('\n');
    // What ends too early ends behind the last line, where we added one.
    const beyond = place.line >= lines.length;
    const line = beyond ? lines.length - 1 : place.line;
    const text = lines[line];
    const column = beyond ? text.length : place.column - (line === 0 ? run.shift : 0);
    if (text.length > 1000) return [`${run.name}:${line + 1}`];
    return [`${run.name}:${line + 1}`, text, `${' '.repeat(Math.max(0, column))}^`, ''];
  }

  /** The code as it is evaluated. */
  function prepared(run, code, typescript) {
    let text = typescript ? host.withoutTypes(code) : code;
    if (/\bimport\b/.test(text)) {
      const { scan, toRepl } = host.scanner;
      text = toRepl(text, scan(text), host.loader);
    }
    // An object literal looks like a block, but who sends one means the object.
    if (/^\s*\{/.test(text) && !/;\s*$/.test(text) && host.parses(`async () => (${text}\n)`)) {
      run.shift = 1;
      text = `(${text}\n)`;
    }
    return text;
  }

  function execute({ id, code, typescript, stdin, directory }) {
    count += 1;
    const run = { id, code, name: `REPL${count}`, shift: 0, failed: false, finished: false };
    current = run;
    breakable(run, () => {
      host.enter(directory);
      host.input(stdin);
      host.evaluate(prepared(run, code, typescript), run.name, (outcome) => {
        if (outcome.terminated) finish(run, 'interrupted');
        else if ('value' in outcome) conclude(run, outcome.value);
        else failed(run, outcome.thrown, outcome.place === null ? undefined : excerpt(run, outcome.place));
      });
    });
  }

  function obey(line) {
    const message = JSON.parse(line);
    if (message.type === 'execute') execute(message);
    else if (current !== null && current.id === message.id) finish(current, 'interrupted');
  }

  return {
    obey,
    uncaught(error) {
      if (!host.isHandled('uncaughtException')) tellError(error);
    },
    unhandled(error) {
      if (!host.isHandled('unhandledRejection')) tellError(error);
    },
  };
});

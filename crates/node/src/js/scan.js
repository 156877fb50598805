// Finds what only a module may contain: import and export declarations, `import.meta`, and `import()` calls, which are
// legal elsewhere but need a loader. It reads tokens, not a grammar: enough to tell code from strings, comments,
// templates and regular expressions. What it does not understand it leaves alone, for the engine to complain about.
//
// Evaluates to `{ scan, toRepl, toModule }`; uses nothing but the language, so that it runs in any realm.
(() => {
  'use strict';

  // After one of these words a slash begins a regular expression.
  const OPERATORS = new Set([
    'return', 'typeof', 'instanceof', 'in', 'of', 'new', 'delete', 'void', 'throw', 'case', 'do', 'else', 'await',
    'yield', 'default', 'extends', 'export',
  ]);
  // The parenthesis after one of these is no operand.
  const CONTROLS = new Set(['if', 'while', 'for', 'with']);
  const WORD = /[\p{ID_Continue}$\u200c\u200d\\]+/uy;
  const BLANK = /(?:\s+|\/\/.*|\/\*[^]*?\*\/)*/y;
  const BLANK_IN_LINE = /(?:[^\S\n\r\u2028\u2029]+|\/\*[^\n\r\u2028\u2029]*?\*\/)*/y;
  const NUMBER = /\.?\d[\w.]*/y;

  /** Where a sticky pattern that begins at `at` ends; `at` when it does not match. */
  function end(pattern, code, at) {
    pattern.lastIndex = at;
    const match = pattern.exec(code);
    return match === null ? at : at + match[0].length;
  }

  /** Where the string that begins at `at` ends; `at` when none does. Loops, for a pattern would backtrack over megabytes. */
  function stringEnd(code, at) {
    const quote = code[at];
    if (quote !== '"' && quote !== "'") return at;
    for (let next = at + 1; next < code.length; next += 1) {
      const mark = code[next];
      if (mark === quote) return next + 1;
      if (mark === '\\') next += 1;
      else if (mark === '\n' || mark === '\r') return at;
    }
    return at;
  }

  /** Where the regular expression that begins at `at` ends; `at` when none does. */
  function regexEnd(code, at) {
    let inClass = false;
    for (let next = at + 1; next < code.length; next += 1) {
      const mark = code[next];
      if (mark === '/' && !inClass) return end(WORD, code, next + 1);
      if (mark === '\\') next += 1;
      else if (mark === '[') inClass = true;
      else if (mark === ']') inClass = false;
      else if (mark === '\n' || mark === '\r') return at;
    }
    return at;
  }

  /** Reads one declaration token by token; every step returns false when something else is there. */
  class Reader {
    constructor(code, at) {
      this.code = code;
      this.at = at;
      this.text = '';
      this.start = at;
    }

    blank() {
      this.at = end(BLANK, this.code, this.at);
    }

    mark(mark) {
      this.blank();
      if (this.code[this.at] !== mark) return false;
      this.at += 1;
      return true;
    }

    take(stop) {
      this.start = this.at;
      this.at = stop;
      this.text = this.code.slice(this.start, stop);
      return stop > this.start;
    }

    word(word) {
      const before = this.at;
      this.blank();
      const found = this.take(end(WORD, this.code, this.at));
      if (found && (word === undefined || this.text === word)) return true;
      this.at = before;
      return false;
    }

    string() {
      this.blank();
      return this.take(stringEnd(this.code, this.at));
    }
  }

  /** `{ a, b as c, "d" as e }`, the brace being read: pairs of what is imported and what it is called. */
  function named(reader) {
    const names = [];
    while (!reader.mark('}')) {
      if (!reader.string() && !reader.word()) return null;
      const imported = reader.text;
      let local = imported;
      if (reader.word('as')) {
        if (!reader.string() && !reader.word()) return null;
        local = reader.text;
      }
      names.push([imported, local]);
      if (!reader.mark(',')) return reader.mark('}') ? names : null;
    }
    return names;
  }

  /** `from "x" with {…};`, the names being read. */
  function source(reader, found) {
    if (!reader.string()) return null;
    found.specifier = { start: reader.start, end: reader.at, text: reader.text };
    found.attributes = null;
    const before = reader.at;
    if ((reader.word('with') || reader.word('assert')) && reader.mark('{')) {
      const start = reader.at - 1;
      const close = reader.code.indexOf('}', start);
      if (close < 0) return null;
      reader.at = close + 1;
      found.attributes = reader.code.slice(start, reader.at);
    } else {
      reader.at = before;
    }
    const after = reader.at;
    if (!reader.mark(';')) reader.at = after;
    found.end = reader.at;
    return found;
  }

  function importDeclaration(code, start, at) {
    const reader = new Reader(code, at);
    const found = { start, end: at, whole: null, fallback: null, names: [] };
    const plain = source(reader, found);
    if (plain !== null) return plain;
    reader.at = at;
    let more = true;
    if (reader.word()) {
      found.fallback = reader.text;
      more = reader.mark(',');
    }
    if (more && reader.mark('*')) {
      if (!reader.word('as') || !reader.word()) return null;
      found.whole = reader.text;
    } else if (more && reader.mark('{')) {
      found.names = named(reader);
      if (found.names === null) return null;
    } else if (more) {
      return null;
    }
    return reader.word('from') ? source(reader, found) : null;
  }

  /** The source of `export … from`, if that is what follows. */
  function exportSource(code, at) {
    const reader = new Reader(code, at);
    if (reader.mark('*')) {
      if (reader.word('as') && !reader.string() && !reader.word()) return null;
    } else if (!reader.mark('{') || named(reader) === null) {
      return null;
    }
    return reader.word('from') ? source(reader, { start: at }) : null;
  }

  function scan(code) {
    const found = { calls: [], metas: [], imports: [], sources: [], exports: false };
    const open = [];
    let at = code.startsWith('#!') ? end(/.*/y, code, 0) : 0;
    // Whether the last token ends an operand, so that a slash divides; and that token.
    let operand = false;
    let last = '';

    function template() {
      while (at < code.length) {
        if (code[at] === '\\') at += 2;
        else if (code[at] === '`') {
          at += 1;
          operand = true;
          last = '`';
          return;
        } else if (code[at] === '$' && code[at + 1] === '{') {
          at += 2;
          open.push({ template: true });
          operand = false;
          last = '{';
          return;
        } else at += 1;
      }
    }

    function importWord(start) {
      const next = end(BLANK, code, at);
      if (code[next] === '(') {
        last = '(';
        operand = false;
        at = next + 1;
        open.push({ call: start });
      } else if (code[next] === '.') {
        const reader = new Reader(code, next + 1);
        operand = true;
        last = 'import';
        if (!reader.word('meta')) return;
        found.metas.push({ start, end: reader.at });
        at = reader.at;
      } else {
        const declaration = open.length === 0 ? importDeclaration(code, start, at) : null;
        operand = declaration === null;
        last = operand ? 'import' : ';';
        if (declaration === null) return;
        found.imports.push(declaration);
        at = declaration.end;
      }
    }

    function word(start) {
      const text = code.slice(start, at);
      if (last === '.') {
        operand = true;
        last = 'property';
      } else if (text === 'import') {
        importWord(start);
      } else {
        if (text === 'export' && open.length === 0) {
          found.exports = true;
          const reexported = exportSource(code, at);
          if (reexported !== null) found.sources.push(reexported);
        }
        operand = !OPERATORS.has(text);
        last = text === 'await' && last === 'for' ? 'for' : text;
      }
    }

    function isBlock() {
      if (operand || last === '=>' || last === 'else' || last === 'do') return true;
      return last === '' || last === ';' || last === '{' || last === '}';
    }

    function close(bracket) {
      const opened = open.pop();
      at += 1;
      last = bracket;
      operand = opened === undefined || !(opened.control || opened.block);
      if (opened === undefined) return;
      if (opened.template && bracket === '}') template();
      else if (opened.call !== undefined && bracket === ')') {
        // `import(…) {` is a method of that name.
        if (code[end(BLANK_IN_LINE, code, at)] !== '{') found.calls.push(opened.call);
      }
    }

    while (at < code.length) {
      at = end(BLANK, code, at);
      if (at >= code.length) break;
      const start = at;
      const mark = code[at];
      if (mark === '"' || mark === "'") {
        at = Math.max(stringEnd(code, at), at + 1);
        operand = true;
        last = mark;
      } else if (mark === '`') {
        at += 1;
        template();
      } else if (mark === '/' && !operand && regexEnd(code, at) > at) {
        at = regexEnd(code, at);
        operand = true;
        last = '/';
      } else if (mark === '(') {
        at += 1;
        open.push({ control: CONTROLS.has(last) });
        operand = false;
        last = mark;
      } else if (mark === '[') {
        at += 1;
        open.push({});
        operand = false;
        last = mark;
      } else if (mark === '{') {
        at += 1;
        open.push({ block: isBlock() });
        operand = false;
        last = mark;
      } else if (mark === ')' || mark === ']' || mark === '}') {
        close(mark);
      } else if ((mark === '+' || mark === '-') && code[at + 1] === mark) {
        // `x++ / 2` divides, `++ /x/.lastIndex` does not: the operand stays what it was.
        at += 2;
        last = mark;
      } else if (mark === '=' && code[at + 1] === '>') {
        at += 2;
        operand = false;
        last = '=>';
      } else if (end(NUMBER, code, at) > at && !(mark === '.' && operand)) {
        at = end(NUMBER, code, at);
        operand = true;
        last = '0';
      } else if (end(WORD, code, at) > at) {
        at = end(WORD, code, at);
        word(start);
      } else {
        at += code.codePointAt(at) > 0xffff ? 2 : 1;
        operand = false;
        last = mark;
      }
    }
    return found;
  }

  /** The code with each edit's range replaced. */
  function edited(code, edits) {
    edits.sort((a, b) => a.start - b.start);
    let text = '';
    let at = 0;
    for (const edit of edits) {
      text += code.slice(at, edit.start) + edit.text;
      at = edit.end;
    }
    return text + code.slice(at);
  }

  function loaderEdits(found, loader) {
    const calls = found.calls.map((start) => ({ start, end: start + 'import'.length, text: loader }));
    const metas = found.metas.map(({ start, end: stop }) => ({ start, end: stop, text: `${loader}.meta` }));
    return [...calls, ...metas];
  }

  /** Imports as a script awaits them, through the function named `loader`. Lines stay where they are. */
  function toRepl(code, found, loader) {
    const edits = found.imports.map((declaration) => {
      const { start, end: stop, whole, fallback, names, specifier, attributes } = declaration;
      const wanted = names.map(([imported]) => imported);
      if (fallback !== null) wanted.unshift('default');
      const quoted = wanted.map((name) => (/^["']/.test(name) ? name : `'${name}'`)).join(', ');
      const load = `await ${loader}.declared(${specifier.text}, ${attributes}, [${quoted}])`;
      const pairs = names.map(([imported, local]) => `${imported}: ${local}`);
      if (fallback !== null) pairs.unshift(`default: ${fallback}`);
      let text = load;
      if (whole !== null) {
        text = `const ${whole} = ${load}`;
        if (pairs.length > 0) text += `, { ${pairs.join(', ')} } = ${whole}`;
      } else if (pairs.length > 0) {
        text = `const { ${pairs.join(', ')} } = ${load}`;
      }
      const lines = code.slice(start, stop).split('\n').length - 1;
      return { start, end: stop, text: `${text};${'\n'.repeat(lines)}` };
    });
    return edited(code, [...edits, ...loaderEdits(found, loader)]);
  }

  /** A module whose sources are what `resolve` makes of them. */
  function toModule(code, found, loader, resolve) {
    const edits = [...found.imports, ...found.sources].map(({ specifier }) => {
      return { start: specifier.start, end: specifier.end, text: resolve(specifier.text) };
    });
    return edited(code, [...edits, ...loaderEdits(found, loader)]);
  }

  return { scan, toRepl, toModule };
})();

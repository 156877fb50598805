// CSS that sees through open shadow roots and knows a few words more: `:visible`, `:hidden`, `:has-text("…")`,
// `:text("…")`, `:text-is("…")`, `:text-matches("…", "i")`, `:nth-match(…, 2)`.
//
// A selector without these words on a page without shadow roots goes to the browser as it is; any other is taken apart
// and matched from right to left, with a shadow root's host as the parent of what is in it.

const OWN_WORDS = new Set(['visible', 'hidden', 'has-text', 'contains', 'text', 'text-is', 'text-matches', 'nth-match']);
const NESTING_WORDS = new Set(['is', 'where', 'not', 'has']);
const OWN_WORD = /:(visible|hidden|has-text|contains|text-is|text-matches|text|nth-match)(?![\w-])/;

/** A selector list taken apart; `plain` when the browser's own engine could answer it in a document without shadows. */
function parseCss(source) {
  const list = splitOutside(source, ',').map((each) => parseComplex(each, source));
  const plain = !OWN_WORD.test(source) && list.every((steps) => steps.every((step) => !step.own.length && !step.scope))
    && list.every((steps) => steps[0].combinator === '');
  if (plain) checkNative(source, source);
  return { source, list, plain };
}

function checkNative(part, source) {
  try {
    document.createDocumentFragment().querySelector(part);
  } catch {
    throw new Refusal('selector', `${JSON.stringify(shorten(source, 200))} is not a valid CSS selector`
      + `${part === source ? '' : `: the browser does not understand ${JSON.stringify(shorten(part, 80))}`}.`
      + ' To look for text write text=…, for an XPath xpath=…, for a role role=button[name="…"].');
  }
}

/** Splits at a separator that is not within quotes, brackets or parentheses. */
function splitOutside(source, separator) {
  const parts = [];
  let start = 0;
  for (let at = 0; at < source.length; at++) {
    const character = source[at];
    if (character === separator) {
      parts.push(source.slice(start, at));
      start = at + 1;
    } else at = skipGroup(source, at);
  }
  parts.push(source.slice(start));
  return parts.map((part) => part.trim());
}

/** Where the quote, bracket or escape that begins here ends; here when nothing begins. */
function skipGroup(source, at) {
  const character = source[at];
  if (character === '\\') return at + 1;
  const ends = { '"': '"', "'": "'", '[': ']', '(': ')' };
  const end = ends[character];
  if (!end) return at;
  const quoted = end === character;
  for (let next = at + 1; next < source.length; next++) {
    if (source[next] === end) return next;
    next = quoted ? (source[next] === '\\' ? next + 1 : next) : skipGroup(source, next);
  }
  const where = `the ${character} at position ${at + 1}`;
  throw new Refusal('selector', `in ${JSON.stringify(shorten(source, 200))} ${where} is never closed.`);
}

/** `a > b:visible` as steps, each with the combinator before it. */
function parseComplex(text, source) {
  if (!text) throw new Refusal('selector', `${JSON.stringify(source)} has an empty selector before or after a comma.`);
  const steps = [];
  let combinator = '';
  let at = 0;
  while (at < text.length) {
    const gap = /^\s*(>>>|[>+~])?\s*/.exec(text.slice(at));
    if (gap[0]) {
      combinator = gap[1] === '>>>' ? ' ' : gap[1] ?? (steps.length ? ' ' : '');
      at += gap[0].length;
    }
    const end = endOfCompound(text, at);
    if (end === at) {
      throw new Refusal('selector', `${JSON.stringify(source)} ends with ${JSON.stringify(combinator)}: a selector must follow.`);
    }
    steps.push({ combinator, ...parseCompound(text.slice(at, end), source) });
    combinator = '';
    at = end;
  }
  return steps;
}

function endOfCompound(text, from) {
  for (let at = from; at < text.length; at++) {
    if (/[\s>+~]/.test(text[at])) return at;
    at = skipGroup(text, at);
  }
  return text.length;
}

/** `button.primary:visible` as what the browser matches and what we do. */
function parseCompound(text, source) {
  const own = [];
  let native = '';
  let scope = false;
  for (let at = 0; at < text.length; at++) {
    const pseudo = text[at] === ':' && /^:([a-z-]+)/i.exec(text.slice(at));
    if (!pseudo) {
      const end = skipGroup(text, at);
      native += text.slice(at, end + 1);
      at = end;
      continue;
    }
    const word = pseudo[1].toLowerCase();
    const after = at + pseudo[0].length;
    const close = text[after] === '(' ? skipGroup(text, after) : after - 1;
    const body = close >= after ? text.slice(after + 1, close).trim() : null;
    if (OWN_WORDS.has(word)) own.push(ownWord(word, body, source));
    else if (word === 'scope') scope = true;
    else if (NESTING_WORDS.has(word) && body && OWN_WORD.test(body)) own.push(ownWord(word, body, source));
    else native += text.slice(at, close + 1);
    at = close;
  }
  if (native) checkNative(native, source);
  return { native, own, scope };
}

function ownWord(word, body, source) {
  const need = (what) => {
    if (!body) throw new Refusal('selector', `in ${JSON.stringify(source)}, :${word} needs ${what} in parentheses.`);
  };
  switch (word) {
    case 'visible':
    case 'hidden':
      return { word };
    case 'has-text':
    case 'contains':
    case 'text':
    case 'text-is':
      need('a text');
      return { word, matches: textTest(unquote(body), word === 'text-is') };
    case 'text-matches': {
      need('a regular expression');
      const [pattern, flags = ''] = splitOutside(body, ',').map(unquote);
      return { word, matches: patternTest(pattern, flags, source) };
    }
    case 'nth-match': {
      need('a selector and a number');
      const parts = splitOutside(body, ',');
      const nth = Number(parts.pop());
      if (!parts.length || !Number.isInteger(nth) || nth < 1) need('a selector, then a number from 1,');
      return { word, css: parseCss(parts.join(',')), nth };
    }
    default:
      return { word, css: parseCss(body) };
  }
}

function unquote(text) {
  const quoted = /^(["'])([\s\S]*)\1$/.exec(text.trim());
  return quoted ? quoted[2].replace(/\\(.)/g, '$1') : text.trim();
}

/** A test of squeezed text: the same, or containing it in any case. */
function textTest(wanted, exact) {
  const text = squeeze(wanted);
  const lower = text.toLowerCase();
  const test = exact ? (candidate) => candidate === text : (candidate) => candidate.toLowerCase().includes(lower);
  // A parent's text contains its children's, so a branch without the text need not be entered.
  test.mayHold = (candidate) => candidate.toLowerCase().includes(lower);
  return test;
}

function patternTest(pattern, flags, source) {
  let expression;
  try {
    expression = new RegExp(pattern, flags.replace(/[gy]/g, ''));
  } catch (error) {
    const written = `/${pattern}/${flags}`;
    throw new Refusal('selector', `in ${JSON.stringify(source)}, ${written} is not a regular expression: ${error.message}`);
  }
  const test = (candidate) => expression.test(candidate);
  test.mayHold = () => true;
  return test;
}

/** Every element below `scope` a parsed selector matches, in document order. */
function queryCss(css, scope, texts = new Map()) {
  const roots = rootsOf(scope);
  if (css.plain && roots.length === 1) return [...scope.querySelectorAll(css.source)];
  const found = new Set();
  const look = { scope, texts };
  for (const steps of css.list) {
    const last = steps.at(-1);
    for (const root of roots) {
      for (const element of root.querySelectorAll(last.native || '*')) {
        if (!found.has(element) && matchesSteps(element, steps, steps.length - 1, look)) found.add(element);
      }
    }
  }
  return roots.length > 1 || css.list.length > 1 ? inOrder([...found]) : [...found];
}

function matchesSteps(element, steps, at, look) {
  const step = steps[at];
  if (!matchesStep(element, step, look)) return false;
  if (at === 0 && step.combinator === '') return true;
  const matchesRest = at === 0
    ? (other) => other === look.scope
    : (other) => matchesSteps(other, steps, at - 1, look);
  const climb = step.combinator === ' ' || step.combinator === '>' ? parentOf : (node) => node.previousElementSibling;
  const once = step.combinator === '>' || step.combinator === '+';
  for (let other = climb(element); other; other = climb(other)) {
    if (matchesRest(other)) return true;
    if (once) return false;
  }
  return false;
}

function matchesStep(element, step, look) {
  if (step.native && !element.matches(step.native)) return false;
  if (step.scope && element !== (look.scope === document ? document.documentElement : look.scope)) return false;
  return step.own.every((own) => matchesOwn(element, own, look));
}

function matchesOwn(element, own, look) {
  const text = () => squeeze(textOf(element, look.texts));
  switch (own.word) {
    case 'visible':
      return isVisible(element);
    case 'hidden':
      return !isVisible(element);
    case 'has-text':
    case 'contains':
      return !UNSPOKEN.has(element.tagName) && own.matches(text());
    case 'text':
    case 'text-is':
    case 'text-matches':
      return isSmallestWith(element, own.matches, look.texts);
    case 'nth-match':
      return queryCss(own.css, look.scope, look.texts)[own.nth - 1] === element;
    case 'has':
      return own.css.list.some((steps) => {
        // What is looked for may stand beside the element only when the selector says so.
        const beside = ['+', '~'].includes(steps[0].combinator);
        const root = beside ? parentOf(element) ?? element : element;
        const inner = { scope: element, texts: look.texts };
        return rootsOf(root).some((each) => [...each.querySelectorAll(steps.at(-1).native || '*')]
          .some((candidate) => matchesSteps(candidate, steps, steps.length - 1, inner)));
      });
    case 'not':
      return !own.css.list.some((steps) => matchesSteps(element, steps, steps.length - 1, look));
    default:
      return own.css.list.some((steps) => matchesSteps(element, steps, steps.length - 1, look));
  }
}

/** Whether this element's text fits and none of its children's does. */
function isSmallestWith(element, test, texts) {
  if (UNSPOKEN.has(element.tagName) || !test(squeeze(textOf(element, texts)))) return false;
  const children = [...element.children, ...(element.shadowRoot?.children ?? [])];
  return !children.some((child) => !UNSPOKEN.has(child.tagName) && test(squeeze(textOf(child, texts))));
}

/** The smallest elements at or below `scope` whose text fits, found without entering branches that cannot hold it. */
function queryText(test, scope) {
  const texts = new Map();
  const found = [];
  const visit = (element) => {
    if (UNSPOKEN.has(element.tagName) || !test.mayHold(squeeze(textOf(element, texts)))) return;
    if (isSmallestWith(element, test, texts)) found.push(element);
    for (const child of element.shadowRoot?.children ?? []) visit(child);
    for (const child of element.children) visit(child);
  };
  if (isElement(scope)) visit(scope);
  else for (const child of scope.children) visit(child);
  return found;
}

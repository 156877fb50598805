// Selectors: what is looked for, part by part, each part within what the one before it found.
//
//   css           button.primary, css=button.primary          text    text=Sign in, text="Sign in", text=/sign/i, "Sign in"
//   xpath         //a[1], xpath=…                             role    role=button[name="Save" i][checked=true]
//   attribute     id=…, data-testid=…, data-test-id=…, …      choice  nth=0, nth=-1, visible=true
//   frame         frame=name-or-part-of-its-address           chain   form >> text=Send, iframe >> button

const ATTRIBUTE_ENGINES = ['id', 'data-testid', 'data-test-id', 'data-test'];
const ENGINES = ['css', 'text', 'xpath', 'role', 'nth', 'visible', 'frame', ...ATTRIBUTE_ENGINES];
const LONGEST_SELECTOR = 20_000;
const parsedSelectors = new Map();

/** A selector as its parts. What was parsed lately is kept: waits ask again and again. */
function parseSelector(source) {
  const known = parsedSelectors.get(source);
  if (known) return known;
  if (typeof source !== 'string' || !source.trim()) throw new Refusal('selector', 'the selector is empty.');
  if (source.length > LONGEST_SELECTOR) {
    throw new Refusal('selector', `the selector has ${source.length} characters; ${LONGEST_SELECTOR} are allowed.`);
  }
  const parts = splitChain(source).map((part) => parsePart(part, source));
  if (parsedSelectors.size >= 100) parsedSelectors.clear();
  parsedSelectors.set(source, parts);
  return parts;
}

/** Splits at `>>`. In a text without quotes, quotes and brackets are text too. */
function splitChain(source) {
  const parts = [];
  let start = 0;
  for (let at = 0; at < source.length; at++) {
    if (source[at] === '>' && source[at + 1] === '>' && source[at + 2] !== '>' && source[at - 1] !== '>') {
      parts.push(source.slice(start, at));
      start = at + 2;
      at += 1;
    } else if ('"\'[(\\'.includes(source[at]) && !/^\s*text\s*=\s*[^"'\s]/.test(source.slice(start, at + 1))) {
      at = skipGroup(source, at);
    }
  }
  parts.push(source.slice(start));
  return parts.map((part) => part.trim());
}

function parsePart(source, whole) {
  if (!source) throw new Refusal('selector', `${JSON.stringify(whole)} has an empty part before or after >>.`);
  const named = /^([a-zA-Z][\w-]*)\s*=\s*([\s\S]*)$/.exec(source);
  if (named) {
    const [, engine, body] = named;
    if (!ENGINES.includes(engine)) {
      const known = ENGINES.map((each) => `${each}=`).join(', ');
      throw new Refusal('selector', `${JSON.stringify(source)} begins with ${engine}=, which is none of ${known}.`
        + ` For an attribute write [${engine}=${JSON.stringify(unquote(body))}].`);
    }
    return { source, engine, query: engineQuery(engine, body.trim(), source) };
  }
  if (/^\(*\/\/|^\.\.?(\/|$)/.test(source)) return { source, engine: 'xpath', query: engineQuery('xpath', source, source) };
  if (/^(["'])[\s\S]*\1$/.test(source)) return { source, engine: 'text', query: engineQuery('text', source, source) };
  return { source, engine: 'css', query: engineQuery('css', source, source) };
}

/** A function from what was found so far to what is found next. */
function engineQuery(engine, body, source) {
  if (!body) throw new Refusal('selector', `${JSON.stringify(source)} has nothing after ${engine}=.`);
  const within = (find) => (scopes) => [...new Set(scopes.flatMap(find))];
  if (ATTRIBUTE_ENGINES.includes(engine)) {
    const css = parseCss(`[${engine}=${JSON.stringify(unquote(body))}]`);
    return within((scope) => queryCss(css, scope));
  }
  switch (engine) {
    case 'css': {
      const css = parseCss(body);
      return within((scope) => queryCss(css, scope));
    }
    case 'text': {
      const pattern = /^\/([\s\S]+)\/([a-z]*)$/.exec(body);
      const test = pattern ? patternTest(pattern[1], pattern[2], source) : textTest(unquote(body), /^["']/.test(body));
      return within((scope) => queryText(test, scope));
    }
    case 'xpath':
      checkXPath(body);
      return within((scope) => queryXPath(body, scope));
    case 'role': {
      const wanted = parseRole(body, source);
      return within((scope) => allElementsOf(scope).filter((element) => fitsRole(element, wanted)));
    }
    case 'nth': {
      const nth = Number(body);
      if (!Number.isInteger(nth)) {
        throw new Refusal('selector', `${JSON.stringify(source)} needs a whole number: 0 is the first, -1 the last.`);
      }
      return (found) => [found.at(nth)].filter(Boolean);
    }
    case 'visible': {
      if (body !== 'true' && body !== 'false') {
        throw new Refusal('selector', `${JSON.stringify(source)} must be visible=true or visible=false.`);
      }
      return (found) => found.filter((element) => isVisible(element) === (body === 'true'));
    }
    default: {
      const wanted = unquote(body);
      const fits = (frame) => [frame.name, frame.id, frame.title].includes(wanted) || frame.src.includes(wanted);
      return within((scope) => allElementsOf(scope).filter((element) => isFrame(element) && fits(element)));
    }
  }
}

function checkXPath(body) {
  try {
    document.createExpression(body);
  } catch {
    throw new Refusal('selector', `${JSON.stringify(shorten(body, 200))} is not a valid XPath.`);
  }
}

function queryXPath(body, scope) {
  const expression = scope !== document && body.startsWith('/') ? `.${body}` : body;
  let result;
  try {
    result = document.evaluate(expression, scope, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE);
  } catch {
    const written = JSON.stringify(shorten(body, 200));
    throw new Refusal('selector', `the XPath ${written} does not yield nodes: it must select elements, not a number or a text.`);
  }
  const nodes = Array.from({ length: result.snapshotLength }, (_, at) => result.snapshotItem(at));
  return nodes.map((node) => (isElement(node) ? node : node.ownerElement ?? node.parentElement)).filter(Boolean);
}

const ROLE_STATES = ['checked', 'disabled', 'expanded', 'level', 'pressed', 'selected', 'required'];

/** `button[name="Save" i][expanded=false]` */
function parseRole(body, source) {
  const head = /^([a-zA-Z]+)\s*/.exec(body);
  if (!head) throw new Refusal('selector', `${JSON.stringify(source)} needs a role first, as in role=button[name="Save"].`);
  const wanted = { role: head[1].toLowerCase(), tests: [], hidden: false };
  let rest = body.slice(head[0].length).trim();
  while (rest) {
    const end = rest[0] === '[' ? skipGroup(rest, 0) : -1;
    const inner = /^\s*([\w-]+)\s*(?:([*^$~|]?=)\s*([\s\S]*?))?\s*$/.exec(rest.slice(1, Math.max(end, 1)));
    if (end < 0 || !inner) {
      throw new Refusal('selector', `in ${JSON.stringify(source)}, ${JSON.stringify(rest)} is not a condition like [name="Save"].`);
    }
    addRoleTest(wanted, inner[1], inner[2] ?? '=', inner[3], source);
    rest = rest.slice(end + 1).trim();
  }
  return wanted;
}

function addRoleTest(wanted, name, operator, value, source) {
  if (name === 'include-hidden') wanted.hidden = value !== 'false';
  else if (name === 'name') {
    const test = nameTest(operator, value ?? '', source);
    wanted.tests.push((element) => test(nameOf(element)));
  } else if (ROLE_STATES.includes(name)) {
    const told = value === undefined ? 'true' : unquote(value);
    wanted.tests.push((element) => String(statesOf(element)[name] ?? false) === told);
  } else {
    const known = ['name', ...ROLE_STATES, 'include-hidden'].join(', ');
    throw new Refusal('selector', `in ${JSON.stringify(source)}, ${JSON.stringify(name)} is none of ${known}.`);
  }
}

function nameTest(operator, value, source) {
  const pattern = /^\/([\s\S]+)\/([a-z]*)$/.exec(value);
  if (pattern) return patternTest(pattern[1], pattern[2], source);
  const flagged = /^(["'][\s\S]*["'])\s*([is])$/.exec(value);
  const fold = flagged?.[2] === 'i' ? (text) => text.toLowerCase() : (text) => text;
  const wanted = fold(squeeze(unquote(flagged ? flagged[1] : value)));
  const tests = {
    '*=': (name) => name.includes(wanted),
    '^=': (name) => name.startsWith(wanted),
    '$=': (name) => name.endsWith(wanted),
    '~=': (name) => name.split(' ').includes(wanted),
  };
  const test = tests[operator] ?? ((name) => name === wanted);
  return (name) => test(fold(name));
}

function fitsRole(element, wanted) {
  return roleOf(element) === wanted.role
    && (wanted.hidden || !isHiddenFromRoles(element))
    && wanted.tests.every((test) => test(element));
}

/**
 * Everything a selector finds in this frame. When a part leads into a frame, the parts after it are for that frame:
 * `{ elements }`, or `{ frame, rest }` with the frame's element.
 */
function findAll(selector) {
  const parts = parseSelector(selector);
  let found = [document];
  for (const [at, part] of parts.entries()) {
    const filters = part.engine === 'nth' || part.engine === 'visible';
    if (at > 0 && !filters && found.some(isFrame)) {
      const frame = found.find((each) => isFrame(each) && isVisible(each)) ?? found.find(isFrame);
      return { frame, rest: parts.slice(at).map((each) => each.source).join(' >> ') };
    }
    if (at === 0 && filters) {
      const begins = `${JSON.stringify(selector)} begins with ${part.engine}=`;
      throw new Refusal('selector', `${begins}, which chooses among what a part before it found.`);
    }
    found = part.query(found);
    if (!found.length) break;
  }
  return { elements: found };
}

/** The element meant: of several the first that can be seen, as a person would take it. */
const choose = (elements) => (elements.length > 1 ? elements.find(isVisible) : undefined) ?? elements[0];

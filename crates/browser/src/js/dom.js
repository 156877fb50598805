// The tree as the user sees it: shadow roots opened, slots filled, and what is visible in it.
//
// All files of this directory are joined into one function, evaluated in a world of its own that the page's scripts
// cannot see or change. Nothing here alters the page unless its name says so.

/** An error the caller can act on. `kind` is what the Rust side decides on. */
class Refusal extends Error {
  constructor(kind, message, details = {}) {
    super(message);
    this.kind = kind;
    this.details = details;
  }
}

const UNSPOKEN = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'HEAD', 'META', 'LINK', 'TITLE', 'BASE']);

const isElement = (node) => node?.nodeType === Node.ELEMENT_NODE;
const isFrame = (element) => element.localName === 'iframe' || element.localName === 'frame';
const squeeze = (text) => text.replace(/[\s\u200b\u00ad]+/g, ' ').trim();
const shorten = (text, limit) => (text.length > limit ? `${text.slice(0, limit - 1)}…` : text);

/** The element above this one, through shadow roots but not through slots: who wrote it where. */
function parentOf(node) {
  const parent = node.parentNode;
  if (!parent) return null;
  if (parent.nodeType === Node.ELEMENT_NODE) return parent;
  return parent.host ?? null;
}

/** The element this one is drawn in. */
const drawnParentOf = (node) => node.assignedSlot ?? parentOf(node);

/** What is drawn inside an element, in order. */
function drawnChildrenOf(element) {
  if (element.shadowRoot) return element.shadowRoot.childNodes;
  if (element.localName === 'slot') {
    const assigned = element.assignedNodes();
    if (assigned.length) return assigned;
  }
  return element.childNodes;
}

/** Whether `inner` is `outer` or drawn within it. */
function holds(outer, inner) {
  for (let node = inner; node; node = drawnParentOf(node)) if (node === outer) return true;
  return false;
}

/** This root and every open shadow root below it, in document order. */
function rootsOf(root) {
  const roots = [root];
  const visit = (scope) => {
    for (const element of scope.querySelectorAll('*')) {
      if (element.shadowRoot) {
        roots.push(element.shadowRoot);
        visit(element.shadowRoot);
      }
    }
  };
  if (root.shadowRoot) {
    roots.push(root.shadowRoot);
    visit(root.shadowRoot);
  }
  visit(root);
  return roots;
}

/** Every element below a root in the order it is written, each shadow tree right after its host. */
function allElementsOf(root) {
  const found = [];
  const visit = (scope) => {
    for (const element of scope.querySelectorAll('*')) {
      found.push(element);
      if (element.shadowRoot) visit(element.shadowRoot);
    }
  };
  if (root.shadowRoot) visit(root.shadowRoot);
  visit(root);
  return found;
}

/** Sorts elements of several trees as `allElementsOf` would. */
function inOrder(elements) {
  const chain = (element) => {
    const hosts = [element];
    for (let root = element.getRootNode(); root.host; root = root.host.getRootNode()) hosts.unshift(root.host);
    return hosts;
  };
  const chains = new Map(elements.map((element) => [element, chain(element)]));
  return elements.sort((left, right) => {
    const a = chains.get(left);
    const b = chains.get(right);
    for (let depth = 0; ; depth++) {
      if (depth === a.length) return depth === b.length ? 0 : -1;
      if (depth === b.length) return 1;
      if (a[depth] === b[depth]) continue;
      return a[depth].compareDocumentPosition(b[depth]) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
    }
  });
}

/** The text below an element, shadow trees included, as it is written. `cache` serves one query. */
function textOf(element, cache) {
  let text = cache.get(element);
  if (text !== undefined) return text;
  text = '';
  if (element.localName === 'input') {
    if (['submit', 'button', 'reset'].includes(element.type)) text = element.value;
  } else if (!UNSPOKEN.has(element.tagName)) {
    const add = (parent) => {
      for (let node = parent.firstChild; node; node = node.nextSibling) {
        if (node.nodeType === Node.TEXT_NODE) text += node.nodeValue;
        else if (node.nodeType === Node.ELEMENT_NODE) text += textOf(node, cache);
      }
    };
    if (element.shadowRoot) add(element.shadowRoot);
    add(element);
  }
  cache.set(element, text);
  return text;
}

/** Whether an element takes up space and is not hidden by a style; being scrolled away does not matter. */
function isVisible(element) {
  if (!element.isConnected) return false;
  const style = getComputedStyle(element);
  if (style.display === 'contents') {
    for (const child of drawnChildrenOf(element)) {
      if (child.nodeType === Node.TEXT_NODE && hasBoxes(child)) return true;
      if (isElement(child) && isVisible(child)) return true;
    }
    return false;
  }
  if (element.localName === 'option' || element.localName === 'optgroup') {
    const select = element.closest('select');
    if (select) return style.display !== 'none' && isVisible(select);
  }
  if (!element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: false })) return false;
  const box = element.getBoundingClientRect();
  return box.width > 0 && box.height > 0;
}

function hasBoxes(text) {
  const range = document.createRange();
  range.selectNodeContents(text);
  const box = range.getBoundingClientRect();
  return box.width > 0 && box.height > 0;
}

/** Whether an element is switched off, by itself or by something around it. */
function isDisabled(element) {
  if (element.matches(':disabled')) return true;
  for (let node = element; node; node = parentOf(node)) {
    const state = node.getAttribute('aria-disabled');
    if (state) return state === 'true';
  }
  return false;
}

const isReadOnly = (element) => element.matches('input,textarea') && element.readOnly
  || element.getAttribute('aria-readonly') === 'true';

/** How an element is told to a person: its opening tag, shortened, and the start of its text. */
function describe(element) {
  const told = ['id', 'class', 'name', 'type', 'role', 'href', 'aria-label', 'data-testid'];
  const attributes = told
    .filter((name) => element.hasAttribute(name))
    .map((name) => ` ${name}="${shorten(squeeze(element.getAttribute(name)), 40)}"`)
    .join('');
  const text = shorten(squeeze(textOf(element, new Map())), 40);
  return `<${element.localName}${attributes}>${text}`;
}

/** The innermost element drawn at a point of this frame's viewport. */
function elementAt(x, y) {
  let found = null;
  for (let root = document; root; root = found?.shadowRoot) {
    const next = root.elementFromPoint(x, y);
    if (!next || next === found) break;
    found = next;
  }
  return found;
}

/** Where an element is in this frame's viewport, in hundredths: more digits only cost space. */
function boxOf(element) {
  let box = element.getBoundingClientRect();
  if (!box.width && !box.height && getComputedStyle(element).display === 'contents') {
    const range = document.createRange();
    range.selectNodeContents(element);
    box = range.getBoundingClientRect();
  }
  return rounded(box);
}

function rounded({ x, y, width, height }) {
  const round = (number) => Math.round(number * 100) / 100;
  return { x: round(x), y: round(y), width: round(width), height: round(height) };
}

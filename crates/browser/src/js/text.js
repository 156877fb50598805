// A page's text as it is read, its source, and where in it something is said.

/** Where a frame's own text belongs; the caller puts it in. */
const framePlace = (element) => `\0${numberOf(element)}\0`;
const withoutZeros = (text) => text.replaceAll('\0', '');

const BLOCK_DISPLAYS = new Set([
  'block', 'flex', 'grid', 'table', 'list-item', 'flow-root', 'table-row', 'table-caption', 'table-row-group', 'table-header-group',
  'table-footer-group',
]);
const isBlock = (style) => BLOCK_DISPLAYS.has(style.display);

function visibleText({ selector }) {
  const { root, ...elsewhere } = subtree(selector);
  if (!root) return elsewhere;
  const top = root === document ? document.body ?? document.documentElement : root;
  return { text: top ? readText(top) : '', title: document.title, url: location.href };
}

/** What is drawn, lines as they are drawn in blocks, shadow trees and fields' values included. */
function readText(top) {
  let text = '';
  // The number of line ends wanted before the next text; written only when there is one.
  let gap = 0;
  const write = (piece) => {
    if (gap && text) text = text.replace(/[ \t]+$/, '') + '\n'.repeat(gap);
    gap = 0;
    text += piece;
  };
  // Things beside each other are apart, whether or not the source has a space between them.
  const space = () => {
    if (text && !gap && !/\s$/.test(text)) text += ' ';
  };
  const visit = (node, kept) => {
    if (node.nodeType === Node.TEXT_NODE) {
      const parent = drawnParentOf(node);
      if (!parent || getComputedStyle(parent).visibility !== 'visible') return;
      const value = withoutZeros(node.nodeValue);
      if (kept) return void (value && write(value));
      let piece = value.replace(/[ \t\r\n\f]+/g, ' ');
      if (gap || !text || /\s$/.test(text)) piece = piece.trimStart();
      if (piece) write(piece);
      return;
    }
    if (!isElement(node) || UNSPOKEN.has(node.tagName)) return;
    const style = getComputedStyle(node);
    if (style.display === 'none' || style.contentVisibility === 'hidden') return;
    if (node.localName === 'br') return void (text += gap ? '' : '\n');
    if (isFrame(node)) {
      gap = Math.max(gap, 1);
      if (style.visibility === 'visible') write(framePlace(node));
      gap = 1;
      return;
    }
    if (node.matches('input,textarea,select')) {
      const value = valueOf(node) ?? (node.type === 'submit' || node.type === 'button' ? node.value : '');
      if (value && style.visibility === 'visible') {
        space();
        write(withoutZeros(value));
        space();
      }
      return;
    }
    const block = isBlock(style);
    const distance = node.localName === 'p' || /^h[1-6]$/.test(node.localName) ? 2 : 1;
    if (block) gap = Math.max(gap, distance);
    else if (style.display === 'table-cell' && node.previousElementSibling && !gap) text += '\t';
    else if (style.display === 'inline-block' || style.display === 'inline-flex') space();
    const pre = style.whiteSpace.startsWith('pre') && style.whiteSpace !== 'pre-line';
    for (const child of drawnChildrenOf(node)) visit(child, pre);
    if (block) gap = Math.max(gap, distance);
    else if (style.display === 'inline-block' || style.display === 'inline-flex') space();
  };
  visit(top, false);
  return text.replace(/[ \t]+\n/g, '\n').trim();
}

/** The source as it stands now. */
function html({ selector, outer }) {
  if (selector) {
    const { root, ...elsewhere } = subtree(selector);
    if (!root) return elsewhere;
    return { text: outer ? root.outerHTML : root.innerHTML };
  }
  const whole = document.documentElement;
  if (!whole) return { text: '' };
  if (!outer) return { text: whole.innerHTML };
  const type = document.doctype ? `${new XMLSerializer().serializeToString(document.doctype)}\n` : '';
  return { text: type + whole.outerHTML };
}

/** Where a text is said, in any case and with any white space, also across elements of one line. */
function findText({ keyword, limit }) {
  const wanted = fold(squeeze(keyword));
  const matches = [];
  let total = 0;
  for (const run of textRuns(document.body ?? document.documentElement)) {
    const folded = fold(run.text);
    for (let at = folded.indexOf(wanted); wanted && at >= 0; at = folded.indexOf(wanted, at + wanted.length)) {
      const range = document.createRange();
      range.setStart(...run.places[at]);
      const [node, offset] = run.places[at + wanted.length - 1];
      range.setEnd(node, offset + 1);
      total++;
      if (matches.length >= limit) continue;
      const element = parentOf(run.places[at][0]) ?? run.block;
      const from = Math.max(0, at - 80);
      const to = Math.min(run.text.length, at + wanted.length + 80);
      matches.push({
        text: run.text.slice(at, at + wanted.length),
        context: `${from ? '…' : ''}${run.text.slice(from, to)}${to < run.text.length ? '…' : ''}`,
        tag: element.localName,
        selector: pathTo(element),
        bounding_box: rounded(range.getBoundingClientRect()),
      });
    }
  }
  const frames = allElementsOf(document).filter((element) => isFrame(element) && isVisible(element));
  return { matches, total, frames: frames.map((frame) => ({ number: numberOf(frame), origin: originOf(frame) })) };
}

/** Lower case without changing the length, so that places still fit. */
const fold = (text) => text.replace(/\p{Lu}/gu, (character) => {
  const lower = character.toLowerCase();
  return lower.length === character.length ? lower : character;
});

/** The visible text, block by block, with the node and offset each character comes from. */
function textRuns(top) {
  const runs = [];
  let run = null;
  const close = () => {
    if (run?.text.trim()) runs.push(run);
    run = null;
  };
  const visit = (node, block) => {
    if (node.nodeType === Node.TEXT_NODE) {
      const parent = drawnParentOf(node);
      if (!parent || getComputedStyle(parent).visibility !== 'visible') return;
      run ??= { block, text: '', places: [] };
      for (let at = 0; at < node.nodeValue.length; at++) {
        const character = /\s/.test(node.nodeValue[at]) ? ' ' : node.nodeValue[at];
        if (character === ' ' && (!run.text || run.text.endsWith(' '))) continue;
        run.text += character;
        run.places.push([node, at]);
      }
      return;
    }
    if (!isElement(node) || UNSPOKEN.has(node.tagName) || isFrame(node)) return;
    const style = getComputedStyle(node);
    if (style.display === 'none' || style.contentVisibility === 'hidden') return;
    const breaks = isBlock(style) || ['table-cell', 'inline-block'].includes(style.display) || node.localName === 'br';
    if (breaks) close();
    for (const child of drawnChildrenOf(node)) visit(child, breaks ? node : block);
    if (breaks) close();
  };
  if (top) visit(top, top);
  close();
  return runs;
}

/** A short CSS selector that finds exactly this element. */
function pathTo(element) {
  const root = element.getRootNode();
  const unique = (css) => root.querySelectorAll(css).length === 1;
  const steps = [];
  for (let node = element; node && isElement(node); node = node.parentElement) {
    const id = node.id && `#${CSS.escape(node.id)}`;
    if (id && unique(id)) {
      steps.unshift(id);
      break;
    }
    const tag = CSS.escape(node.localName);
    const twins = [...(node.parentElement?.children ?? [])].filter((each) => each.localName === node.localName);
    steps.unshift(twins.length > 1 ? `${tag}:nth-of-type(${twins.indexOf(node) + 1})` : tag);
    if (unique(steps.join(' > '))) break;
  }
  return steps.join(' > ');
}

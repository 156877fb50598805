// A page as Markdown: what a reader came for, without what surrounds it.

const AROUND = 'nav,aside,footer,[role=navigation],[role=banner],[role=contentinfo],[role=complementary],[role=search]';

function markdown({ selector }) {
  const { root, ...elsewhere } = subtree(selector);
  if (!root) return elsewhere;
  const body = root === document ? document.body ?? document.documentElement : root;
  const about = { title: document.title, url: location.href };
  if (!body) return { text: '', ...about };
  if (selector) return { text: joined(blockOf(body, { readable: false })), ...about };
  const whole = body.innerText?.length ?? 0;
  const main = mainContent(body, whole);
  const text = write(main, { readable: true });
  // A page that is all menus, or an application, would lose what it is about.
  return { text: text.length < Math.min(250, whole / 4) ? write(body, { readable: false }) : text, ...about };
}

/** The element that holds most of what is to be read. */
function mainContent(body, whole) {
  const length = (element) => element.innerText?.length ?? 0;
  for (const css of ['main,[role=main]', 'article,[role=article]']) {
    const found = [...body.querySelectorAll(css)].filter((each) => isVisible(each) && !each.parentElement.closest(css));
    const total = found.reduce((sum, each) => sum + length(each), 0);
    if (found.length && (total >= 200 || total >= whole * 0.4)) return found.length === 1 ? found[0] : commonAncestor(found);
  }
  // Paragraphs vote for what holds them, links against it.
  const scores = new Map();
  const vote = (element, points) => {
    if (element && body.contains(element)) scores.set(element, (scores.get(element) ?? 0) + points);
  };
  for (const element of body.querySelectorAll('p,pre,blockquote,td')) {
    if (!isVisible(element) || element.closest(AROUND)) continue;
    const linked = [...element.querySelectorAll('a')].reduce((sum, link) => sum + link.textContent.length, 0);
    const points = element.textContent.length - 2 * linked;
    if (points < 25) continue;
    vote(element.parentElement, points);
    vote(element.parentElement?.parentElement, points / 2);
  }
  const [best] = [...scores].sort((a, b) => b[1] - a[1])[0] ?? [body];
  return length(best) >= Math.max(200, whole * 0.5) ? best : body;
}

function commonAncestor(elements) {
  let ancestor = elements[0].parentElement;
  while (!elements.every((each) => ancestor.contains(each))) ancestor = ancestor.parentElement;
  return ancestor;
}

const joined = (blocks) => blocks.join('\n\n').replace(/\n{3,}/g, '\n\n').trim();
const write = (element, options) => joined(blocksOf(element, options));

/** Whether an element's content stands in lines of its own. */
function standsAlone(element) {
  if (/^(p|h[1-6]|ul|ol|dl|table|pre|blockquote|hr|figure|iframe|frame)$/.test(element.localName)) return true;
  const style = getComputedStyle(element);
  return isBlock(style) || style.display === 'contents' && [...element.children].some(standsAlone);
}

function isLeftOut(element, options) {
  if (UNSPOKEN.has(element.tagName) || element.getAttribute('aria-hidden') === 'true') return true;
  const style = getComputedStyle(element);
  if (style.display === 'none' || style.visibility !== 'visible' && !element.children.length) return true;
  if (!options.readable) return false;
  return element.matches(AROUND) || element.localName === 'header' && !element.closest('main,article,section');
}

/** The blocks inside an element; runs of text between blocks are blocks too. */
function blocksOf(element, options) {
  const blocks = [];
  let line = '';
  const flush = () => {
    const text = tidy(line);
    if (text) blocks.push(atLineStart(text));
    line = '';
  };
  for (const child of drawnChildrenOf(element)) {
    if (isElement(child) && !isLeftOut(child, options) && standsAlone(child)) {
      flush();
      blocks.push(...blockOf(child, options));
    } else line += inlineOf(child, options);
  }
  flush();
  return blocks;
}

function blockOf(element, options) {
  const tag = element.localName;
  if (/^h[1-6]$/.test(tag)) {
    const text = tidy(inlineContent(element, options)).replace(/\n/g, ' ');
    return text ? [`${'#'.repeat(Number(tag[1]))} ${text}`] : [];
  }
  switch (tag) {
    case 'pre':
      return [codeBlock(element)];
    case 'hr':
      return ['---'];
    case 'ul':
    case 'ol':
    case 'menu':
      return [listOf(element, options)].filter(Boolean);
    case 'dl':
      return [definitions(element, options)].filter(Boolean);
    case 'blockquote': {
      const inner = write(element, options);
      return inner ? [inner.replace(/^/gm, '> ')] : [];
    }
    case 'table':
      return isDataTable(element) ? [tableOf(element, options)] : blocksOf(element, options);
    case 'iframe':
    case 'frame':
      return isVisible(element) ? [framePlace(element)] : [];
    case 'textarea':
    case 'select':
    case 'svg':
    case 'img':
    case 'input':
    case 'video':
    case 'audio':
    case 'a':
    case 'button': {
      const text = tag === 'a' && [...element.children].some(standsAlone) ? '' : tidy(inlineOf(element, options));
      return text ? [text] : tag === 'a' ? linkedBlocks(element, options) : [];
    }
    default:
      return blocksOf(element, options);
  }
}

/** A card that is one link: its first text carries the link. */
function linkedBlocks(element, options) {
  const blocks = blocksOf(element, options);
  const target = linkTarget(element);
  const at = blocks.findIndex((block) => /^(#+ )?[^\n[\]!]+$/.test(block));
  if (!target || at < 0) return blocks;
  const [, mark, text] = /^(#+ )?(.*)$/.exec(blocks[at]);
  blocks[at] = `${mark ?? ''}[${text}](${target})`;
  return blocks;
}

function codeBlock(element) {
  const code = withoutZeros(element.innerText ?? element.textContent).replace(/\n+$/, '');
  const classes = [element, ...element.querySelectorAll('code'), element.parentElement].map((each) => each?.className);
  const named = classes.map((each) => /(?:language|lang|highlight-source)-([\w+#-]+)/.exec(each ?? '')).find(Boolean);
  const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map((match) => match[0].length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${named?.[1] ?? ''}\n${code}\n${fence}`;
}

function listOf(list, options) {
  const items = [];
  let number = list.localName === 'ol' ? list.start : 0;
  for (const item of drawnChildrenOf(list)) {
    if (!isElement(item) || isLeftOut(item, options)) continue;
    const mark = list.localName === 'ol' ? `${number++}. ` : '- ';
    const blocks = blocksOf(item, options);
    if (!blocks.length) continue;
    // Paragraphs keep their distance; a list right below its heading line does not need one.
    const text = blocks.reduce((all, block) => `${all}${/^([-*]|\d+\.) /.test(block) ? '\n' : '\n\n'}${block}`);
    items.push(mark + text.replace(/\n(?=[^\n])/g, `\n${' '.repeat(mark.length)}`));
  }
  return items.join('\n');
}

function definitions(list, options) {
  const lines = [];
  for (const element of list.querySelectorAll('dt,dd')) {
    if (isLeftOut(element, options)) continue;
    const text = write(element, options);
    if (text) lines.push(element.localName === 'dt' ? `**${text}**` : `: ${text.replace(/\n(?=[^\n])/g, '\n  ')}`);
  }
  return lines.join('\n');
}

/** A table of data rather than one that places things. */
function isDataTable(table) {
  if (['presentation', 'none'].includes(table.getAttribute('role')) || table.querySelector('table')) return false;
  const widest = Math.max(0, ...[...table.rows].map((row) => row.cells.length));
  return table.rows.length > 0 && (widest > 1 || table.querySelector('th') !== null);
}

function tableOf(table, options) {
  const rows = [...table.rows].filter((row) => !isLeftOut(row, options));
  const cells = rows.map((row) => [...row.cells].flatMap((cell) => {
    const text = write(cell, options).replace(/\s*\n+\s*/g, ' ').replaceAll('|', '\\|');
    return [text, ...Array(Math.max(0, Math.min(cell.colSpan, 100) - 1)).fill('')];
  }));
  const width = Math.max(...cells.map((row) => row.length));
  const line = (row) => `| ${Array.from({ length: width }, (_, at) => row[at] ?? '').join(' | ')} |`;
  const headed = table.tHead || rows[0] && [...rows[0].cells].every((cell) => cell.localName === 'th');
  const head = headed ? cells.shift() : [];
  const caption = table.caption ? `${tidy(inlineContent(table.caption, options))}\n\n` : '';
  return caption + [line(head), `|${' --- |'.repeat(width)}`, ...cells.map(line)].join('\n');
}

/** White space as Markdown wants it: single spaces, no blanks at line ends. */
const tidy = (text) => text.replace(/[ \t]+/g, ' ').replace(/ ?\n ?/g, '\n').replace(/\n{2,}/g, '\n').trim();

/** A line of text that begins like a mark of Markdown's is told apart from one. */
const atLineStart = (text) =>
  text.replace(/^(#{1,6} |[-+] |>|\d+\. )/gm, (mark) => (/^\d/.test(mark) ? mark.replace('.', '\\.') : `\\${mark}`));

const escaped = (text) => text.replace(/([\\`*])/g, '\\$1').replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_');

function inlineContent(element, options) {
  let text = '';
  for (const child of drawnChildrenOf(element)) text += inlineOf(child, options);
  return text;
}

function inlineOf(node, options) {
  if (node.nodeType === Node.TEXT_NODE) return escaped(withoutZeros(node.nodeValue).replace(/\s+/g, ' '));
  if (!isElement(node) || isLeftOut(node, options)) return '';
  const around = (mark) => {
    const text = inlineContent(node, options);
    const [, before, inner, after] = /^(\s*)([\s\S]*?)(\s*)$/.exec(text);
    return inner ? `${before}${mark}${inner}${mark}${after}` : text;
  };
  switch (node.localName) {
    case 'br':
      return '\n';
    case 'strong':
    case 'b':
      return around('**');
    case 'em':
    case 'i':
      return around('*');
    case 'del':
    case 's':
      return around('~~');
    case 'code':
    case 'kbd':
    case 'samp': {
      const code = withoutZeros(node.textContent).replace(/\s+/g, ' ').trim();
      if (!code) return '';
      const fence = code.includes('`') ? '``' : '`';
      return code.includes('`') ? `${fence} ${code} ${fence}` : `${fence}${code}${fence}`;
    }
    case 'a':
      return linkOf(node, options);
    case 'img':
      return imageOf(node);
    case 'iframe':
    case 'frame':
      return isVisible(node) ? framePlace(node) : '';
    case 'input':
      if (node.type === 'checkbox' || node.type === 'radio') return node.checked ? '[x] ' : '[ ] ';
      return ['submit', 'button', 'reset'].includes(node.type) ? ` ${escaped(node.value)} ` : '';
    case 'button':
      return ` ${inlineContent(node, options)} `;
    case 'select':
      return ` ${escaped(valueOf(node) ?? '')} `;
    case 'textarea':
      return ` ${escaped(squeeze(node.value))} `;
    case 'video':
    case 'audio':
      return node.currentSrc ? `[${node.localName}](${node.currentSrc})` : '';
    case 'svg': {
      const title = nameOf(node);
      return title ? escaped(title) : '';
    }
    default: {
      const text = inlineContent(node, options);
      return standsAlone(node) ? ` ${text} ` : text;
    }
  }
}

/** Where a link leads, when that is worth telling. */
function linkTarget(link) {
  const written = link.getAttribute('href')?.trim();
  if (!written || written.startsWith('#') || /^javascript:/i.test(written)) return null;
  return String(link.href).replaceAll('(', '%28').replaceAll(')', '%29').replace(/\s/g, encodeURIComponent);
}

function linkOf(link, options) {
  const text = tidy(inlineContent(link, options)).replace(/\n/g, ' ') || escaped(nameOf(link));
  const target = linkTarget(link);
  if (!text || !target) return text;
  const inner = /^!\[/.test(text) ? text : text.replace(/(?<!\\)]/g, '\\]').replace(/(?<!\\)\[/g, '\\[');
  return `[${inner}](${target})`;
}

function imageOf(image) {
  const alt = squeeze(image.alt || image.title || '').replace(/[[\]]/g, '');
  const box = image.getBoundingClientRect();
  const source = image.currentSrc || image.src;
  // Pictures that say nothing and are small only decorate.
  if (!source || !alt && (box.width < 48 || box.height < 48)) return '';
  return /^(data|blob):/.test(source) ? (alt ? `![${alt}]()` : '') : `![${alt}](${source})`;
}

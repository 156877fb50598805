// The page as assistive technology tells it: roles, names, states and text, indented, one line each.

const UNTOLD_ROLES = new Set([
  null, 'presentation', 'generic', 'strong', 'emphasis', 'rowgroup', 'subscript', 'superscript', 'insertion', 'deletion', 'time',
]);
/** What is told by its name and value alone. */
const CLOSED_TAGS = new Set(['select', 'textarea', 'svg', 'input', 'img', 'video', 'audio', 'canvas']);

/** Lines of `{ depth, text, number?, frame? }`: `number` for what can be acted on, `frame` for a frame to put in. */
function outline({ selector }) {
  const { root, ...elsewhere } = subtree(selector);
  if (!root) return elsewhere;
  const top = root === document ? document.body ?? document.documentElement : root;
  const lines = [];
  if (top) for (const node of nodesOf(top)) tell(node, 0, lines);
  return { lines };
}

/** What an element tells: itself with children, or, when it has nothing to say, its children in its place. */
function nodesOf(element) {
  if (UNSPOKEN.has(element.tagName) || element.getAttribute('aria-hidden') === 'true') return [];
  const style = getComputedStyle(element);
  if (style.display === 'none' || style.contentVisibility === 'hidden') return [];
  const seen = style.visibility === 'visible';
  const role = roleOf(element);
  if (seen && isFrame(element)) return [{ role: 'iframe', name: nameOf(element), element, frame: true, children: [] }];
  const children = CLOSED_TAGS.has(element.localName) || role === 'textbox' ? [] : childrenOf(element, seen);
  const untold = UNTOLD_ROLES.has(role) && !(isInteractive(element) && nameOf(element));
  if (!seen || untold) return children;
  // Paragraphs and list items are their text; everything else named by its content has been told with its name.
  const isText = role === 'paragraph' || role === 'listitem';
  const name = isText ? '' : shorten(nameOf(element), 300);
  const told = NAMED_BY_CONTENT.has(role) && !isText ? withoutEcho(children, name) : children;
  return [{ role: role ?? 'generic', name, element, children: told }];
}

/** Children, with neighbouring texts joined. */
function childrenOf(element, seen) {
  const nodes = [];
  for (const child of drawnChildrenOf(element)) {
    if (isElement(child)) nodes.push(...nodesOf(child));
    else if (seen && child.nodeType === Node.TEXT_NODE && child.nodeValue.trim()) nodes.push({ text: child.nodeValue });
    else if (seen && child.nodeType === Node.TEXT_NODE && nodes.length) nodes.push({ text: ' ' });
  }
  const joined = [];
  for (const node of nodes) {
    const last = joined.at(-1);
    if (node.text !== undefined && last?.text !== undefined) last.text += node.text;
    else joined.push({ ...node });
  }
  return joined.filter((node) => node.text === undefined || node.text.trim());
}

/** A button's text is its name: telling it twice helps nobody. */
function withoutEcho(children, name) {
  const text = squeeze(children.map((child) => child.text ?? child.name ?? '').join(' '));
  if (children.every((child) => child.text !== undefined) && name.includes(text)) return [];
  return children.filter((child) => child.text === undefined || !name.includes(squeeze(child.text)));
}

function tell(node, depth, lines) {
  if (node.text !== undefined) {
    lines.push({ depth, text: `- text: ${shorten(squeeze(node.text), 1000)}` });
    return;
  }
  const { element, role } = node;
  const states = statesOf(element, role);
  const shown = Object.entries(states)
    .filter(([state, value]) => value !== false || state === 'expanded')
    .map(([state, value]) => (value === true ? ` [${state}]` : ` [${state}=${value}]`))
    .join('');
  const only = node.children.length === 1 && node.children[0].text !== undefined ? node.children[0].text : null;
  const value = valueOf(element) ?? (only === null ? undefined : only);
  const name = node.name ? ` ${JSON.stringify(node.name)}` : '';
  const tail = value ? `: ${shorten(squeeze(value), 1000)}` : node.children.length && only === null ? ':' : '';
  const line = { depth, text: `- ${role}${name}${shown}`, tail };
  if (isInteractive(element)) line.number = numberOf(element);
  if (node.frame) line.frame = numberOf(element);
  if (role === 'link' && element.href) line.url = shorten(String(element.href), 300);
  lines.push(line);
  if (only === null) for (const child of node.children) tell(child, depth + 1, lines);
}

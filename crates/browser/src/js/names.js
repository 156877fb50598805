// The accessible name of an element: what its author calls it, else its label, else its content, else its hints.

const NAMED_BY_CONTENT = new Set([
  'button', 'cell', 'checkbox', 'columnheader', 'gridcell', 'heading', 'link', 'menuitem', 'menuitemcheckbox', 'menuitemradio',
  'option', 'radio', 'row', 'rowheader', 'switch', 'tab', 'tooltip', 'treeitem', 'term', 'caption', 'listitem',
]);

/** The name of an element, with its white space squeezed; empty when it has none. */
function nameOf(element) {
  return squeeze(nameFrom(element, { seen: new Set(), following: false, inContent: false }));
}

function nameFrom(element, walk) {
  if (walk.seen.has(element)) return '';
  walk.seen.add(element);

  const labelled = walk.following ? [] : idsOf(element, 'aria-labelledby');
  if (labelled.length) {
    const follow = { seen: new Set([element]), following: true, inContent: false };
    const text = labelled.map((each) => nameFrom(each, follow)).filter(Boolean).join(' ');
    if (text) return text;
  }
  const label = element.getAttribute('aria-label')?.trim();
  if (label) return label;

  if (walk.inContent || walk.following) {
    const held = embeddedValueOf(element);
    if (held !== undefined) return held;
  }
  const native = nativeNameOf(element, walk);
  if (native) return native;

  const role = roleOf(element);
  if (NAMED_BY_CONTENT.has(role) || walk.inContent || walk.following) {
    const text = contentOf(element, walk);
    if (text.trim()) return text;
  }
  return element.getAttribute('title') || element.getAttribute('placeholder') || element.getAttribute('aria-placeholder') || '';
}

/** The elements an attribute refers to, in the tree the element is in. */
function idsOf(element, attribute) {
  const ids = element.getAttribute(attribute)?.trim().split(/\s+/) ?? [];
  const root = element.getRootNode();
  return ids.map((id) => root.getElementById?.(id)).filter(Boolean);
}

/** What a control inside a label adds to the label's text. */
function embeddedValueOf(element) {
  const role = roleOf(element);
  if (role === 'textbox' || role === 'searchbox' || role === 'combobox' || role === 'spinbutton' || role === 'slider') {
    return element.type === 'password' ? '' : valueOf(element) ?? '';
  }
  return undefined;
}

function nativeNameOf(element, walk) {
  const childNamed = (tag) => {
    const child = [...element.children].find((each) => each.localName === tag);
    return child ? contentOf(child, walk) : '';
  };
  switch (element.localName) {
    case 'input':
      if (['submit', 'button', 'reset'].includes(element.type)) {
        return element.value || { submit: 'Submit', reset: 'Reset' }[element.type] || '';
      }
      if (element.type === 'image') return element.alt || labelsOf(element, walk) || 'Submit';
      return labelsOf(element, walk);
    case 'textarea':
    case 'select':
    case 'button':
    case 'meter':
    case 'output':
    case 'progress':
      return labelsOf(element, walk);
    case 'img':
    case 'area':
      return element.getAttribute('alt') ?? '';
    case 'fieldset':
      return childNamed('legend');
    case 'table':
      return childNamed('caption');
    case 'figure':
      return childNamed('figcaption');
    case 'svg':
      return [...element.children].find((each) => each.localName === 'title')?.textContent ?? '';
    case 'optgroup':
    case 'option':
      return element.label;
    default:
      return '';
  }
}

function labelsOf(element, walk) {
  if (walk.inContent) return '';
  const walkIn = () => ({ seen: new Set([element]), following: true, inContent: true });
  const texts = [...(element.labels ?? [])].map((label) => nameFrom(label, walkIn()));
  return texts.filter((text) => text.trim()).join(' ');
}

/** The text drawn inside, with names in place of pictures and controls. */
function contentOf(element, walk) {
  let text = pseudoText(element, '::before');
  const inner = { seen: walk.seen, following: walk.following, inContent: true };
  for (const node of drawnChildrenOf(element)) {
    if (node.nodeType === Node.TEXT_NODE) text += node.nodeValue;
    else if (isElement(node) && !UNSPOKEN.has(node.tagName) && node.getAttribute('aria-hidden') !== 'true') {
      const style = getComputedStyle(node);
      // A hidden label still names its control when it is referred to, so what was hidden at the start stays readable.
      if ((style.display === 'none' || style.visibility !== 'visible') && !walk.following) continue;
      const part = nameFrom(node, inner);
      text += style.display.startsWith('inline') || style.display === 'contents' ? part : ` ${part} `;
    }
  }
  return text + pseudoText(element, '::after');
}

function pseudoText(element, which) {
  const content = getComputedStyle(element, which).content;
  const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(content);
  // Icon fonts draw with characters that mean nothing to anybody.
  return quoted ? quoted[1].replace(/\\(.)/g, '$1').replace(/[\ue000-\uf8ff]/g, '') : '';
}

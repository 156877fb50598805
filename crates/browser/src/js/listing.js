// What a page offers to be acted on, in order, each with its number.

const INTERACTIVE_ROLES = new Set([
  'button', 'checkbox', 'combobox', 'gridcell', 'link', 'listbox', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'option',
  'radio', 'scrollbar', 'searchbox', 'slider', 'spinbutton', 'switch', 'tab', 'textbox', 'treeitem',
]);
const INTERACTIVE_TAGS = new Set(['button', 'input', 'select', 'textarea', 'summary']);

/** Whether an element is there to be used, by what it says of itself. */
function isInteractive(element) {
  const tag = element.localName;
  if (tag === 'input') return element.type !== 'hidden';
  if (INTERACTIVE_TAGS.has(tag)) return true;
  if ((tag === 'a' || tag === 'area') && element.hasAttribute('href')) return true;
  if (element.isContentEditable && !element.parentElement?.isContentEditable) return true;
  const role = element.getAttribute('role');
  if (role && INTERACTIVE_ROLES.has(role.trim().toLowerCase())) return true;
  return element.hasAttribute('onclick') || element.tabIndex >= 0 && element.hasAttribute('tabindex');
}

/** Whether the author gave it a hand for a pointer and nothing around it says the same: scripts listen there. */
function looksInteractive(element) {
  if (getComputedStyle(element).cursor !== 'pointer') return false;
  const parent = drawnParentOf(element);
  return !parent || getComputedStyle(parent).cursor !== 'pointer';
}

/** Hidden file inputs and boxes are used all the same: by upload, and by the label drawn in their place. */
function isUsableUnseen(element) {
  if (element.localName !== 'input') return false;
  if (element.type === 'file') return true;
  return (element.type === 'checkbox' || element.type === 'radio') && [...(element.labels ?? [])].some(isVisible);
}

/** The subtree that is meant: all of it without a selector; refused when the selector finds nothing. */
function subtree(selector) {
  if (!selector) return { root: document };
  const found = findAll(selector);
  if (found.frame) return { frame: numberOf(found.frame), rest: found.rest };
  const root = found.elements.find(isVisible) ?? found.elements[0];
  return root ? { root } : { missing: true };
}

function list({ selector, limit }) {
  const { root, ...elsewhere } = subtree(selector);
  if (!root) return elsewhere;
  const elements = [];
  const frames = [];
  let more = 0;
  const candidates = allElementsOf(root);
  if (isElement(root)) candidates.unshift(root);
  for (const element of candidates) {
    if (isFrame(element)) {
      if (isVisible(element)) frames.push({ number: numberOf(element), at: elements.length, origin: originOf(element) });
      continue;
    }
    if (UNSPOKEN.has(element.tagName) || !isInteractive(element) && !looksInteractive(element)) continue;
    const visible = isVisible(element);
    if (!visible && !isUsableUnseen(element)) continue;
    if (elements.length >= limit) more++;
    else elements.push(entry(element, visible));
  }
  return { elements, frames, more };
}

/** What an element reads on the screen; a field reads nothing, what it holds is its value. */
function shownText(element, role) {
  switch (element.localName) {
    case 'select':
      return valueOf(element);
    case 'input':
      return role === 'button' ? element.value : '';
    case 'textarea':
      return '';
    default:
      return element.innerText ?? element.textContent;
  }
}

/** One element as it is listed; fields that do not apply are null, as clients expect them to be there. */
function entry(element, visible) {
  const tag = element.localName;
  const role = roleOf(element);
  const states = statesOf(element, role);
  const value = valueOf(element);
  return {
    number: numberOf(element),
    tag,
    role,
    name: shorten(nameOf(element), 200),
    text: shorten(squeeze(shownText(element, role) ?? ''), 200),
    placeholder: element.getAttribute('placeholder'),
    href: typeof element.href === 'string' && element.hasAttribute('href') ? shorten(element.href, 500) : null,
    type: element.matches('input,button,select') ? element.type : null,
    value: value === undefined ? null : shorten(value, 200),
    checked: states.checked ?? null,
    bounding_box: boxOf(element),
    is_visible: visible,
    is_enabled: !states.disabled,
  };
}

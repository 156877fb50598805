// What an element is to somebody who does not see it: its role and the states that go with it.

/** Within these a header or footer is theirs, not the page's. */
const LANDMARK_BREAKERS = 'article,aside,main,nav,section,'
  + '[role=article],[role=complementary],[role=main],[role=navigation],[role=region]';

const INPUT_ROLES = {
  button: 'button', submit: 'button', reset: 'button', image: 'button', file: 'button', color: 'button',
  checkbox: 'checkbox', radio: 'radio', range: 'slider', number: 'spinbutton', search: 'searchbox',
};

const TAG_ROLES = {
  article: 'article', aside: 'complementary', blockquote: 'blockquote', button: 'button', caption: 'caption', code: 'code',
  datalist: 'listbox', dd: 'definition', del: 'deletion', details: 'group', dfn: 'term', dialog: 'dialog', dt: 'term',
  em: 'emphasis', fieldset: 'group', figure: 'figure', h1: 'heading', h2: 'heading', h3: 'heading', h4: 'heading',
  h5: 'heading', h6: 'heading', hr: 'separator', iframe: 'iframe', frame: 'iframe', ins: 'insertion', main: 'main', math: 'math',
  menu: 'list', meter: 'meter', nav: 'navigation', ol: 'list', optgroup: 'group', option: 'option', output: 'status',
  p: 'paragraph', progress: 'progressbar', search: 'search', strong: 'strong', sub: 'subscript', summary: 'button',
  sup: 'superscript', svg: 'img', table: 'table', tbody: 'rowgroup', textarea: 'textbox', tfoot: 'rowgroup', thead: 'rowgroup',
  time: 'time', tr: 'row', ul: 'list',
};

/** The role a tag has without an attribute saying so, or null. */
function implicitRoleOf(element) {
  const tag = element.localName;
  switch (tag) {
    case 'a':
    case 'area':
      return element.hasAttribute('href') ? 'link' : null;
    case 'input': {
      const type = element.type;
      if (type === 'hidden') return null;
      if (element.hasAttribute('list') && ['text', 'search', 'tel', 'url', 'email'].includes(type)) return 'combobox';
      return INPUT_ROLES[type] ?? 'textbox';
    }
    case 'select':
      return element.multiple || element.size > 1 ? 'listbox' : 'combobox';
    case 'img':
      return element.getAttribute('alt') === '' && !element.hasAttribute('title') ? 'presentation' : 'img';
    case 'header':
      return element.closest(LANDMARK_BREAKERS) ? null : 'banner';
    case 'footer':
      return element.closest(LANDMARK_BREAKERS) ? null : 'contentinfo';
    case 'section':
      return isNamedByAuthor(element) ? 'region' : null;
    case 'form':
      return isNamedByAuthor(element) ? 'form' : null;
    case 'li':
      return element.parentElement?.matches('ul,ol,menu') ? 'listitem' : null;
    case 'td':
      return element.closest('table')?.matches('[role=grid],[role=treegrid]') ? 'gridcell' : 'cell';
    case 'th':
      return element.scope === 'row' || element.scope === 'rowgroup' ? 'rowheader' : 'columnheader';
    default:
      if (element.isContentEditable && !element.parentElement?.isContentEditable) return 'textbox';
      return TAG_ROLES[tag] ?? null;
  }
}

const isNamedByAuthor = (element) =>
  element.hasAttribute('aria-label') || element.hasAttribute('aria-labelledby') || element.hasAttribute('title');

/** The first role named by the author, else the tag's own. */
function roleOf(element) {
  const named = element.getAttribute('role')?.trim().split(/\s+/)[0]?.toLowerCase();
  if (named === 'none') return 'presentation';
  return named || implicitRoleOf(element);
}

/** Whether assistive technology would skip the element. */
function isHiddenFromRoles(element) {
  for (let node = element; node; node = drawnParentOf(node)) {
    if (node.getAttribute('aria-hidden') === 'true') return true;
  }
  const style = getComputedStyle(element);
  if (style.display === 'contents') return false;
  if (element.localName === 'option') return !isVisible(element);
  return !element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: false });
}

/** The states of an element that matter to a user, only those that apply. */
function statesOf(element, role = roleOf(element)) {
  const states = {};
  const tag = element.localName;
  const truth = (name) => ({ true: true, false: false, mixed: 'mixed' })[element.getAttribute(name)];
  if (tag === 'input' && (element.type === 'checkbox' || element.type === 'radio')) {
    states.checked = element.indeterminate ? 'mixed' : element.checked;
  } else if (truth('aria-checked') !== undefined) states.checked = truth('aria-checked');
  else if (role === 'checkbox' || role === 'radio' || role === 'switch') states.checked = false;
  if (truth('aria-pressed') !== undefined) states.pressed = truth('aria-pressed');
  if (tag === 'summary' && element.parentElement?.localName === 'details') states.expanded = element.parentElement.open;
  else if (truth('aria-expanded') !== undefined) states.expanded = truth('aria-expanded');
  if (tag === 'option') states.selected = element.selected;
  else if (truth('aria-selected') !== undefined) states.selected = truth('aria-selected');
  if (role === 'heading') states.level = Number(element.getAttribute('aria-level')) || Number(tag[1]) || 2;
  if (isDisabled(element)) states.disabled = true;
  if (element.required || truth('aria-required')) states.required = true;
  return states;
}

/** What a form control holds, as text; undefined for what holds nothing, and for passwords only whether there is one. */
function valueOf(element) {
  switch (element.localName) {
    case 'input':
      if (['checkbox', 'radio', 'submit', 'button', 'reset', 'image', 'hidden'].includes(element.type)) return undefined;
      if (element.type === 'password') return element.value ? '••••' : '';
      if (element.type === 'file') return [...element.files].map((file) => file.name).join(', ');
      return element.value;
    case 'textarea':
      return element.value;
    case 'select':
      return [...element.selectedOptions].map((option) => squeeze(option.label)).join(', ');
    case 'progress':
    case 'meter':
      return String(element.value);
    default:
      if (element.isContentEditable && roleOf(element) === 'textbox') return element.innerText;
      return element.getAttribute('aria-valuetext') ?? element.getAttribute('aria-valuenow') ?? undefined;
  }
}

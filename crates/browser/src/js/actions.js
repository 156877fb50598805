// What is done to elements: where to press, and what can be set without pressing.

/**
 * Runs `act` on the target once it is there, again and again until it does not say what it waits for. Where the target
 * was one of several that can be seen, the answer says of how many, and which it was: the caller may have meant another.
 */
function onTarget(request, act) {
  return until(async (attempt) => {
    const { element, among = [], ...missing } = locate(request);
    if (!element) return missing;
    const visible = among.length > 1 ? among.filter(isVisible).length : 0;
    const choice = visible > 1 ? { matched: visible, taken: describe(element) } : {};
    return { ...await act(element, attempt), ...choice };
  }, request);
}

/**
 * Whether a press has come since the last aim. In a frame of another site it may not: the browser decides where a press
 * goes by what it has drawn last, and the page around the frame may just have scrolled.
 */
let pressCame = true;
const takePress = () => {
  pressCame = true;
};

function expectPress() {
  if (window === window.parent) return;
  pressCame = false;
  addEventListener('mousedown', takePress, { capture: true, once: true });
}

/** Where to press, or hover, once that works. */
function aim(request) {
  return onTarget(request, async (element) => {
    const found = await pointable(element, { enabled: request.enabled });
    if (!found.point) return found;
    expectPress();
    return { ...found.point, number: numberOf(element) };
  });
}

/** Where to press to get a box checked or unchecked; `done` when it is. A hidden box is reached by its label. */
function aimAtBox(request) {
  return onTarget(request, async (found) => {
    const element = controlOf(found);
    const role = roleOf(element);
    const native = element.matches('input[type=checkbox],input[type=radio]');
    if (!native && !['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio'].includes(role)) {
      throw new Refusal('unsuitable', `${describe(element)} is neither a checkbox nor a radio button.`);
    }
    const number = numberOf(element);
    if (statesOf(element, role).checked === request.checked) return { done: true, number };
    if (request.pressed && !request.checked && (native ? element.type === 'radio' : role.endsWith('radio'))) {
      throw new Refusal('unsuitable', `${describe(element)} is a radio button: it is unchecked by checking another one.`);
    }
    if (request.pressed) {
      const wanted = request.checked ? 'checked' : 'unchecked';
      return failing(wanted, element, `did not become ${wanted} when pressed`);
    }
    const label = [...(element.labels ?? [])].find(isVisible);
    const refused = checkEnabled(element);
    if (refused) return refused;
    const target = isVisible(element) || !label ? element : label;
    const aimed = await pointable(target);
    if (!aimed.point) return aimed;
    expectPress();
    return { ...aimed.point, number };
  });
}

const TYPED_INPUTS = ['text', 'email', 'password', 'search', 'tel', 'url', 'number', ''];
const SET_INPUTS = ['color', 'date', 'time', 'datetime-local', 'month', 'range', 'week'];

/**
 * Puts text into a field, as if it were typed over what was there: the events are the browser's own. Says `need` for
 * what a text cannot be put into.
 */
function fill(request) {
  return onTarget(request, async (found) => {
    const element = controlOf(found);
    const number = numberOf(element);
    if (element.localName === 'select') return selectIn(element, { values: [request.text] });
    if (element.matches('input[type=checkbox],input[type=radio]')) return { need: 'check', number, told: describe(element) };
    if (element.matches('input[type=file]')) return { need: 'upload', number, told: describe(element) };
    const settable = element.localName === 'input' && SET_INPUTS.includes(element.type);
    const typed = element.localName === 'textarea' || element.isContentEditable
      || element.localName === 'input' && TYPED_INPUTS.includes(element.type);
    if (!settable && !typed) throw new Refusal('unsuitable', `${describe(element)} is not a field that text can be put into.`);
    const refused = checkVisible(element) ?? checkEnabled(element) ?? checkEditable(element);
    if (refused) return refused;
    if (settable) setValue(element, request.text);
    else typeOver(element, request.text);
    return { number, value: element.isContentEditable ? element.innerText : element.value };
  });
}

/** Sets a field that has a form of its own, like a date. */
function setValue(element, text) {
  const value = element.type === 'color' ? text.trim().toLowerCase() : text.trim();
  element.focus();
  const before = element.value;
  element.value = value;
  if (element.value !== value && !(element.type === 'range' && Number(element.value) === Number(value))) {
    const now = element.value;
    element.value = before;
    const forms = {
      color: '#rrggbb',
      date: '2026-12-31',
      time: '23:59',
      'datetime-local': '2026-12-31T23:59',
      month: '2026-12',
      week: '2026-W53',
      range: `a number from ${element.min || 0} to ${element.max || 100}`,
    };
    const instead = now ? ` (it would become ${JSON.stringify(now)})` : '';
    throw new Refusal('unsuitable', `${describe(element)} does not accept ${JSON.stringify(value)}${instead}: write it as ${forms[element.type]}.`);
  }
  element.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
  element.dispatchEvent(new Event('change', { bubbles: true }));
}

function typeOver(element, text) {
  if (element.type === 'number' && text.trim() !== '' && Number.isNaN(Number(text))) {
    throw new Refusal('unsuitable', `${describe(element)} takes a number, not ${JSON.stringify(text)}.`);
  }
  element.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
  element.focus();
  if (element.isContentEditable) getSelection().selectAllChildren(element);
  else element.select();
  const wanted = element.isContentEditable ? null : sanitized(element, text);
  const empty = text === '' && (element.isContentEditable ? element.innerText.trim() === '' : element.value === '');
  const typed = empty || (text === '' ? document.execCommand('delete') : document.execCommand('insertText', false, text));
  // A page may change what is typed, to format it; only a field that took nothing at all is set by other means.
  if (typed || wanted === null || element.value === wanted) return;
  element.value = text;
  element.dispatchEvent(new InputEvent('input', { bubbles: true, composed: true, inputType: 'insertText', data: text }));
  element.dispatchEvent(new Event('change', { bubbles: true }));
}

/** What is left of a text in a field of one line, or of several. */
const sanitized = (element, text) =>
  (element.localName === 'textarea' ? text.replace(/\r\n?/g, '\n') : text.replace(/[\r\n]/g, ''));

/** Chooses options; waits for them when they are not there yet. */
function select(request) {
  return onTarget(request, async (found) => {
    const element = controlOf(found);
    if (element.localName !== 'select') {
      throw new Refusal('unsuitable', `${describe(element)} is not a <select>: open it with a click and click the option.`);
    }
    return selectIn(element, request);
  });
}

function selectIn(element, { values = [], labels = [], indexes = [] }) {
  const refused = checkVisible(element) ?? checkEnabled(element);
  if (refused) return refused;
  const options = [...element.options];
  const reading = (text) => options.find((each) => squeeze(each.label) === squeeze(text));
  const worth = (value) => options.find((each) => each.value === value);
  const wishes = [
    // A value that no option has may be what the user reads on it.
    ...values.map((value) => [`value ${JSON.stringify(value)}`, worth(value) ?? reading(value)]),
    ...labels.map((label) => [`label ${JSON.stringify(label)}`, reading(label)]),
    ...indexes.map((index) => [`index ${index}`, options[index]]),
  ];
  const missing = wishes.find(([, option]) => !option);
  if (missing) {
    const there = options.slice(0, 20).map((each) => `${JSON.stringify(each.value)} (${squeeze(each.label)})`).join(', ');
    return failing('option', element, `has no option with ${missing[0]}; it has ${there || 'none'}`);
  }
  const disabled = wishes.find(([, option]) => option.matches(':disabled'));
  if (disabled) return failing('enabled', element, `has its option with ${disabled[0]} disabled`);
  const chosen = new Set(wishes.map(([, option]) => option));
  if (chosen.size > 1 && !element.multiple) {
    throw new Refusal('unsuitable', `${describe(element)} takes one option, not ${chosen.size}.`);
  }
  element.focus();
  const before = options.map((option) => option.selected);
  if (element.multiple) options.forEach((option) => { option.selected = chosen.has(option); });
  else [...chosen][0].selected = true;
  if (options.some((option, at) => option.selected !== before[at])) {
    element.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    element.dispatchEvent(new Event('change', { bubbles: true }));
  }
  const selected = [...element.selectedOptions];
  return {
    number: numberOf(element),
    values: selected.map((each) => each.value),
    labels: selected.map((each) => squeeze(each.label)),
  };
}

/** The file input a target is, labels, or holds. */
function fileInput(request) {
  return onTarget(request, async (found) => {
    const element = controlOf(found);
    const inside = element.querySelectorAll('input[type=file]');
    const input = element.matches('input[type=file]') ? element : inside.length === 1 ? inside[0] : null;
    if (!input) {
      throw new Refusal('unsuitable', `${describe(element)} is not a file input: name the <input type="file">; it may be hidden.`);
    }
    if (isDisabled(input)) return failing('enabled', input, 'is disabled');
    if (request.count > 1 && !input.multiple && !input.webkitdirectory) {
      throw new Refusal('unsuitable', `${describe(input)} takes one file, not ${request.count}.`);
    }
    return { number: numberOf(input) };
  });
}

/** Waits for a state: attached, detached, visible or hidden. */
function waitForState(request) {
  return until(async () => {
    const found = findAll(request.selector);
    if (found.frame) return { frame: numberOf(found.frame), rest: found.rest };
    const elements = found.elements;
    const visible = elements.find(isVisible);
    const nothing = { wait: `nothing matches ${JSON.stringify(request.selector)}`, condition: 'attached' };
    switch (request.state) {
      case 'attached':
        return elements.length ? { number: numberOf(elements[0]) } : nothing;
      case 'detached':
        return elements.length ? { wait: `${describe(elements[0])} is still there`, condition: 'detached' } : { absent: true };
      case 'hidden':
        return visible ? { wait: `${describe(visible)} is still visible`, condition: 'hidden' } : { absent: true };
      default:
        if (visible) return { number: numberOf(visible) };
        if (!elements.length) return nothing;
        return checkVisible(elements[0]) ?? { wait: 'it has just become visible', condition: 'visible' };
    }
  }, request);
}

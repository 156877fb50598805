// Whether a person could act on an element now, and where: attached, visible, stable, enabled, and not covered.

const CONTROLS = 'button,select,input,textarea,option,optgroup,[role=button],[role=checkbox],[role=switch]';

/** The element a target means at this moment, or what is missing. */
function locate({ selector, number }) {
  if (number !== undefined) return { element: elementNumbered(number) };
  const found = findAll(selector);
  if (found.frame) return { frame: numberOf(found.frame), rest: found.rest };
  const element = choose(found.elements);
  if (element) return { element, among: found.elements };
  return { wait: `nothing matches ${JSON.stringify(selector)}`, condition: 'attached' };
}

/** A label stands for its control when something is to be put into it. */
function controlOf(element) {
  const label = element.closest('label');
  if (element.matches('input,textarea,select,button') || element.isContentEditable) return element;
  return label?.control ?? element;
}

const failing = (condition, element, what) => ({ wait: `${describe(element)} ${what}`, condition });

function checkVisible(element) {
  if (!element.isConnected) return failing('attached', element, 'was removed from the page');
  if (isVisible(element)) return null;
  const style = getComputedStyle(element);
  const why = style.visibility !== 'visible' ? `visibility: ${style.visibility}`
    : element.checkVisibility() ? 'it has no size' : 'display: none, its own or that of something around it';
  return failing('visible', element, `is not visible (${why})`);
}

function checkEnabled(element) {
  const control = element.closest(CONTROLS) ?? element;
  return isDisabled(control) ? failing('enabled', control, 'is disabled') : null;
}

function checkEditable(element) {
  return isReadOnly(element) ? failing('editable', element, 'is read-only') : null;
}

/** Two frames with the same box, unless the whole page is known to be still. */
async function checkStable(element) {
  if (isQuiet()) return null;
  // Between frames an animation's clock runs ahead to the next one: only in a frame does it tell where things are.
  if (isAnimated()) await nextFrame();
  const before = element.getBoundingClientRect();
  const drawn = await nextFrame();
  if (!element.isConnected) return failing('attached', element, 'was removed from the page');
  const after = element.getBoundingClientRect();
  const same = ['x', 'y', 'width', 'height'].every((side) => before[side] === after[side]);
  // What stood still while nothing was drawn may have been moving all the time.
  const told = drawn || document.hidden || !isAnimated();
  return same && told ? null : failing('stable', element, 'is moving');
}

/** The middle of the part of an element that is within the viewport, or null. */
function pointIn(element) {
  let boxes = [...element.getClientRects()];
  if (!boxes.length) {
    const range = document.createRange();
    range.selectNodeContents(element);
    boxes = [...range.getClientRects()];
  }
  for (const box of boxes) {
    const left = Math.max(box.left, 0);
    const top = Math.max(box.top, 0);
    const right = Math.min(box.right, innerWidth);
    const bottom = Math.min(box.bottom, innerHeight);
    if (right - left >= 1 && bottom - top >= 1) return { x: (left + right) / 2, y: (top + bottom) / 2 };
  }
  return null;
}

/** Whether a press at the point reaches the element; else what is in the way. */
function obstacleAt(point, element) {
  const hit = elementAt(point.x, point.y);
  if (!hit) return 'nothing is drawn there';
  if (holds(element, hit)) return null;
  // A press on a label, or on anything in it, reaches its control.
  if (hit.closest('label')?.control === element) return null;
  if (getComputedStyle(element).pointerEvents === 'none') return 'it lets pointer events through (pointer-events: none)';
  if (holds(hit, element)) return `it is behind, or clipped by, ${describe(hit)} around it`;
  return `${describe(topOfObstacle(hit, element))} covers it`;
}

/** Of what is in the way the outermost part that does not also hold the element: the dialog rather than its paragraph. */
function topOfObstacle(hit, element) {
  let top = hit;
  for (let node = hit; node && !holds(node, element); node = drawnParentOf(node)) {
    if (node.localName !== 'body' && node.localName !== 'html') top = node;
  }
  return top;
}

/** What is tried in turn when an element is out of sight or covered, by a sticky header for instance. */
const ALIGNMENTS = [
  { block: 'nearest', inline: 'nearest' },
  { block: 'center', inline: 'center' },
  { block: 'end', inline: 'nearest' },
  { block: 'start', inline: 'nearest' },
];

/** Brings an element under the pointer: `{ point }`, or what prevents it. */
async function checkReachable(element) {
  let obstacle = 'it is outside of the viewport and cannot be scrolled into it';
  for (const alignment of [null, ...ALIGNMENTS]) {
    if (alignment) {
      element.scrollIntoView({ ...alignment, behavior: 'instant' });
      await nextFrame();
    }
    const point = pointIn(element);
    if (!point) continue;
    const found = obstacleAt(point, element);
    if (!found) return { point };
    obstacle = found;
  }
  return failing('receives events', element, `does not receive pointer events: ${obstacle}`);
}

/** Everything a pointer needs: `{ point }`, or the first condition that fails. */
async function pointable(element, { enabled = true } = {}) {
  const refused = checkVisible(element) ?? (enabled ? checkEnabled(element) : null) ?? await checkStable(element);
  return refused ?? checkReachable(element);
}

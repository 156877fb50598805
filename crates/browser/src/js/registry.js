// Elements remembered by number, so that they can be named from outside; and the wait for something to change.

/** Tells this document's numbers from those of a document that was here before. */
const epoch = `${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`;
const numbers = new WeakMap();
const remembered = new Map();
let lastNumber = 0;

/** The number of an element, the same for as long as both live. */
function numberOf(element) {
  let number = numbers.get(element);
  if (number === undefined) {
    number = ++lastNumber;
    numbers.set(element, number);
    if (remembered.size > 0 && remembered.size % 5000 === 0) forgetTheDead();
    remembered.set(number, new WeakRef(element));
  }
  return number;
}

function forgetTheDead() {
  for (const [number, reference] of remembered) if (!reference.deref()) remembered.delete(number);
}

/** The element with a number; refused when it is no longer in the page. */
function elementNumbered(number) {
  const element = remembered.get(number)?.deref();
  if (!element?.isConnected) throw new Refusal('stale', 'the element is no longer in the page.');
  return element;
}

/** When something last moved or changed its looks, as far as can be seen from here. */
let lastStir = performance.now();
const stir = () => {
  lastStir = performance.now();
};
const LOOKS = { subtree: true, childList: true, attributes: true, attributeFilter: ['style', 'class'] };
new MutationObserver(stir).observe(document, LOOKS);
addEventListener('scroll', stir, { capture: true, passive: true });
addEventListener('resize', stir, { passive: true });

/** Whether nothing has moved for a while and nothing is about to: then there is no need to watch a frame go by. */
function isQuiet() {
  return document.readyState === 'complete'
    && performance.now() - lastStir > 100
    && !isAnimated();
}

const isAnimated = () => document.getAnimations().some((animation) => animation.playState === 'running');

/** The next frame, and whether it was one: a page in the background draws none, and a busy one late, so that a timer
 * stands in for it. */
function nextFrame() {
  return new Promise((resolve) => {
    const timer = setTimeout(() => done(false), document.hidden ? 50 : 1000);
    const frame = requestAnimationFrame(() => done(true));
    function done(drawn) {
      clearTimeout(timer);
      cancelAnimationFrame(frame);
      resolve(drawn);
    }
  });
}

/** Ends when the page changes, or soon: styles, sizes and properties change without a mutation. */
function nextChange(limit) {
  return new Promise((resolve) => {
    const observer = new MutationObserver(done);
    const options = { subtree: true, childList: true, attributes: true, characterData: true };
    for (const root of rootsOf(document)) observer.observe(root, options);
    const timer = setTimeout(done, Math.min(limit, 100));
    function done() {
      clearTimeout(timer);
      observer.disconnect();
      resolve();
    }
  });
}

const cancelled = new Set();

/** Ends the wait with this ticket at its next look. */
function cancelWait(ticket) {
  cancelled.add(ticket);
  if (cancelled.size > 1000) cancelled.delete(cancelled.values().next().value);
}

/**
 * Looks until `look` yields something other than `{ wait }`. What it still waited for at the end is told: the caller
 * wants to know which condition failed. `timeout` 0 looks once.
 */
async function until(look, { timeout, ticket }) {
  const end = performance.now() + timeout;
  for (let attempt = 0; ; attempt++) {
    const seen = await look(attempt);
    if (!seen.wait) return seen;
    const left = end - performance.now();
    if (left <= 0) throw new Refusal('timeout', seen.wait, { condition: seen.condition });
    await nextChange(left);
    if (ticket !== undefined && cancelled.delete(ticket)) throw new Refusal('cancelled', 'another frame answered first.');
  }
}

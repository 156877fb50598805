// The one door: an operation by name, a request, an answer that is plain data.

const OPERATIONS = {
  aim, aimAtBox, fill, select, fileInput, waitForState, scrollBy, scrollTo, scrollToElement, pointInFrame,
  list, outline, visibleText, html, markdown, findText,
  /** Where an element is now, for pictures of it. */
  box: (request) => onTarget(request, async (element) => {
    const refused = checkVisible(element) ?? await checkStable(element);
    if (refused) return refused;
    element.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
    return { number: numberOf(element), box: boxOf(element) };
  }),
  /** Refuses selectors that cannot be read, before anything is done with any of them. */
  check: ({ selectors }) => {
    selectors.forEach(parseSelector);
    return {};
  },
  /** The elements that hold frames. */
  frames: () => allElementsOf(document).filter(isFrame).map(numberOf),
  pressed: () => ({ pressed: pressCame }),
  cancel: ({ ticket }) => cancelWait(ticket) ?? null,
};

/** Refusals become answers: they are expected, and carry more than a thrown error could. */
async function run(operation, request) {
  try {
    if (request.epoch !== undefined && request.epoch !== epoch) {
      throw new Refusal('stale', 'the page it was on has been replaced.');
    }
    return { ok: await OPERATIONS[operation](request), epoch };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { refused: { kind: error.kind, message: error.message, ...error.details } };
  }
}

globalThis.atoll = Object.freeze({ run, element: elementNumbered, number: numberOf });

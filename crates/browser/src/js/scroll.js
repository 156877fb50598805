// Scrolling: of the page, or of the part of it that scrolls in its place.

/** What a wheel over the middle of the window would scroll, along an axis. */
function scrollerFor(axis) {
  const page = document.scrollingElement ?? document.documentElement;
  const across = axis === 'x';
  const scrolls = (element) =>
    (across ? element.scrollWidth > element.clientWidth : element.scrollHeight > element.clientHeight);
  const overflow = (element) => getComputedStyle(element)[across ? 'overflowX' : 'overflowY'];
  if (scrolls(page) && overflow(page) !== 'hidden') return page;
  const may = (element) => scrolls(element) && /auto|scroll|overlay/.test(overflow(element));
  for (let node = elementAt(innerWidth / 2, innerHeight / 2); node; node = drawnParentOf(node)) if (may(node)) return node;
  const area = (element) => element.clientWidth * element.clientHeight;
  const inner = allElementsOf(document).filter(may).sort((a, b) => area(b) - area(a));
  return inner[0] ?? page;
}

/** Where a scroller stands and how far it goes. */
function positionOf(scroller) {
  return {
    x: Math.round(scroller.scrollLeft),
    y: Math.round(scroller.scrollTop),
    max_x: Math.max(0, scroller.scrollWidth - scroller.clientWidth),
    max_y: Math.max(0, scroller.scrollHeight - scroller.clientHeight),
  };
}

async function scrollBy({ x, y }) {
  const scroller = scrollerFor(y ? 'y' : 'x');
  scroller.scrollBy({ left: x, top: y, behavior: 'instant' });
  await nextFrame();
  return positionOf(scroller);
}

async function scrollTo({ x, y }) {
  const scroller = scrollerFor(y || !x ? 'y' : 'x');
  scroller.scrollTo({ left: x, top: y, behavior: 'instant' });
  await nextFrame();
  return positionOf(scroller);
}

/** Brings an element to the middle of the window. */
function scrollToElement(request) {
  return onTarget(request, async (element) => {
    const refused = await checkStable(element);
    if (refused) return refused;
    element.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
    await nextFrame();
    return { number: numberOf(element), box: boxOf(element) };
  });
}

/** Where a frame's document begins in this one's viewport, and how it is scaled. */
function originOf(frame) {
  const box = frame.getBoundingClientRect();
  const style = getComputedStyle(frame);
  const scale = { x: box.width / (frame.offsetWidth || 1), y: box.height / (frame.offsetHeight || 1) };
  return {
    x: box.x + (frame.clientLeft + parseFloat(style.paddingLeft)) * scale.x,
    y: box.y + (frame.clientTop + parseFloat(style.paddingTop)) * scale.y,
    scale_x: scale.x,
    scale_y: scale.y,
  };
}

/** A point of a frame's document as a point of this one, once the frame is what is drawn there. */
function pointInFrame(request) {
  const frame = elementNumbered(request.number);
  const place = () => {
    const origin = originOf(frame);
    return { x: origin.x + request.x * origin.scale_x, y: origin.y + request.y * origin.scale_y };
  };
  const isWithin = ({ x, y }) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
  return until(async () => {
    if (!frame.isConnected) throw new Refusal('stale', 'the frame is no longer in the page.');
    if (!isWithin(place())) frame.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
    else if (isQuiet()) return obstructed(place()) ?? place();
    const moving = await checkStable(frame);
    if (moving) return moving;
    // The browser sends a press to a frame of another site by where it has last drawn it: what moved must be drawn.
    await nextFrame();
    await nextFrame();
    return obstructed(place()) ?? place();
  }, request);

  function obstructed(point) {
    const obstacle = isWithin(point) ? obstacleAt(point, frame) : 'the place is outside of the viewport';
    return obstacle ? failing('receives events', frame, `does not receive pointer events: ${obstacle}`) : null;
  }
}

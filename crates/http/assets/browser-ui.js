// The page of the browser on a canvas, with mouse and keyboard: CDP from this page, through the server's DevTools.
const given = new URLSearchParams(location.search);
const element = (id) => document.getElementById(id);
const canvas = element("page");
const pen = canvas.getContext("2d");

let socket;
let target;
let count = 0;
let scale = 1;
const waiting = new Map();

/** A path beside this page, with the credential of this page's address. */
function beside(path) {
  const url = new URL(path, new URL("./", location.href));
  for (const name of ["ticket", "api_key"]) {
    if (given.has(name)) url.searchParams.set(name, given.get(name));
  }
  return url;
}

function say(text, state) {
  element("status").textContent = text;
  document.body.dataset.state = state;
}

async function list() {
  const answer = await fetch(beside("cdp/json/list"));
  if (!answer.ok) throw new Error((await answer.json()).message ?? answer.statusText);
  return (await answer.json()).filter((page) => page.type === "page");
}

async function showTabs() {
  const pages = await list();
  element("tabs").replaceChildren(
    ...pages.map((page) => new Option(page.title || page.url, page.id, false, page.id === target)),
  );
  return pages;
}

function call(method, params = {}) {
  if (socket?.readyState !== WebSocket.OPEN) return Promise.resolve({});
  const id = ++count;
  socket.send(JSON.stringify({ id, method, params }));
  return new Promise((resolve) => waiting.set(id, resolve));
}

async function watch(id) {
  target = id;
  socket?.close();
  const url = beside(`cdp/devtools/page/${id}`);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  const mine = new WebSocket(url);
  socket = mine;
  say("Connecting …", "connecting");
  mine.onmessage = (event) => {
    const message = JSON.parse(event.data);
    if (message.id) {
      waiting.get(message.id)?.(message.result ?? {});
      waiting.delete(message.id);
    } else if (message.method === "Page.screencastFrame") {
      draw(message.params);
    } else if (message.method === "Page.frameNavigated" && !message.params.frame.parentId) {
      element("url").value = message.params.frame.url;
      showTabs();
    } else if (message.method === "Page.loadEventFired") {
      // Only now the title is known.
      showTabs();
    }
  };
  mine.onclose = () => {
    waiting.clear();
    if (socket !== mine) return;
    say("The page is gone", "disconnected");
    setTimeout(start, 1000);
  };
  mine.onopen = async () => {
    await call("Page.enable");
    await call("Page.bringToFront");
    const tree = await call("Page.getFrameTree");
    element("url").value = tree.frameTree?.frame.url ?? "";
    // The page may have gone elsewhere since it was listed.
    showTabs();
    await call("Page.startScreencast", { format: "jpeg", quality: 70, maxWidth: 2560, maxHeight: 2560 });
    say("Connected", "connected");
  };
}

async function draw({ data, metadata, sessionId }) {
  call("Page.screencastFrameAck", { sessionId });
  const picture = new Image();
  picture.src = `data:image/jpeg;base64,${data}`;
  await picture.decode();
  if (canvas.width !== picture.width || canvas.height !== picture.height) {
    canvas.width = picture.width;
    canvas.height = picture.height;
  }
  scale = metadata.deviceWidth / picture.width;
  pen.drawImage(picture, 0, 0);
}

/** Where on the page an event of the canvas is. */
function place(event) {
  const box = canvas.getBoundingClientRect();
  return {
    x: ((event.clientX - box.left) * canvas.width * scale) / box.width,
    y: ((event.clientY - box.top) * canvas.height * scale) / box.height,
  };
}

const modifiers = (event) =>
  (event.altKey ? 1 : 0) | (event.ctrlKey ? 2 : 0) | (event.metaKey ? 4 : 0) | (event.shiftKey ? 8 : 0);
const BUTTONS = ["left", "middle", "right", "back", "forward"];

function mouse(type, event, more = {}) {
  call("Input.dispatchMouseEvent", {
    type,
    ...place(event),
    modifiers: modifiers(event),
    buttons: event.buttons,
    ...more,
  });
}

for (const [kind, type] of [
  ["mousedown", "mousePressed"],
  ["mouseup", "mouseReleased"],
]) {
  canvas.addEventListener(kind, (event) => {
    canvas.focus();
    mouse(type, event, { button: BUTTONS[event.button], clickCount: Math.max(event.detail, 1) });
    event.preventDefault();
  });
}
let moved;
canvas.addEventListener("mousemove", (event) => {
  // One movement per picture is enough.
  if (!moved) requestAnimationFrame(() => (mouse("mouseMoved", moved), (moved = undefined)));
  moved = event;
});
canvas.addEventListener("wheel", (event) => {
  mouse("mouseWheel", event, { deltaX: event.deltaX, deltaY: event.deltaY });
  event.preventDefault();
});
canvas.addEventListener("contextmenu", (event) => event.preventDefault());
for (const kind of ["keydown", "keyup"]) {
  canvas.addEventListener(kind, (event) => {
    // What this browser pastes comes as a text below.
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "v") return;
    const writes = event.key.length === 1 && !event.ctrlKey && !event.metaKey;
    const text = writes ? event.key : event.key === "Enter" ? "\r" : undefined;
    call("Input.dispatchKeyEvent", {
      type: kind === "keyup" ? "keyUp" : text ? "keyDown" : "rawKeyDown",
      key: event.key,
      code: event.code,
      windowsVirtualKeyCode: event.keyCode,
      modifiers: modifiers(event),
      autoRepeat: event.repeat,
      text: kind === "keyup" ? undefined : text,
    });
    event.preventDefault();
  });
}
document.addEventListener("paste", (event) => {
  if (document.activeElement === canvas) {
    call("Input.insertText", { text: event.clipboardData.getData("text") });
  }
});
canvas.addEventListener("compositionend", (event) => call("Input.insertText", { text: event.data }));

element("go").addEventListener("submit", (event) => {
  const text = element("url").value.trim();
  call("Page.navigate", { url: /^[a-z][a-z0-9+.-]*:/i.test(text) ? text : `http://${text}` });
  canvas.focus();
  event.preventDefault();
});
element("reload").addEventListener("click", () => call("Page.reload"));
for (const [id, step] of [
  ["back", -1],
  ["forward", 1],
]) {
  element(id).addEventListener("click", async () => {
    const { currentIndex, entries } = await call("Page.getNavigationHistory");
    const entry = entries?.[currentIndex + step];
    if (entry) call("Page.navigateToHistoryEntry", { entryId: entry.id });
  });
}
element("new").addEventListener("click", async () => {
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  if (targetId) await watch(targetId);
  showTabs();
});
element("tabs").addEventListener("change", (event) => watch(event.target.value));

async function start() {
  try {
    const pages = await showTabs();
    const page = pages.find((page) => page.id === given.get("target")) ?? pages[0];
    if (!page) throw new Error("The browser has no page");
    await watch(page.id);
    showTabs();
  } catch (error) {
    say(String(error.message ?? error), "disconnected");
    setTimeout(start, 3000);
  }
}
start();

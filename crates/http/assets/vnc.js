// A viewer of the desktop on noVNC. Parameters of its address, as noVNC's own page has them: autoconnect, reconnect,
// reconnect_delay, view_only, resize (off, scale, remote), path, quality, compression, and `bare` for no bar. A ticket or key in the address goes
// along to the socket.
import RFB from "./core/rfb.js";

const given = new URLSearchParams(location.search);
for (const [name, value] of new URLSearchParams(location.hash.slice(1))) given.set(name, value);
const yes = (name, otherwise = false) =>
  given.has(name) ? ["", "1", "true", "yes"].includes(given.get(name)) : otherwise;
const element = (id) => document.getElementById(id);

let viewer;
let wanted = false;
let again;

/** The socket lies beside this page's directory, whatever a proxy put before it. */
function address() {
  const path = given.get("path") || "websockify";
  const url = new URL(path.replace(/^\//, ""), new URL("../", location.href));
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  for (const name of ["ticket", "api_key"]) {
    if (given.has(name) && !url.searchParams.has(name)) url.searchParams.set(name, given.get(name));
  }
  if (yes("view_only")) url.searchParams.set("view_only", "true");
  return url.href;
}

function say(text, state) {
  element("status").textContent = text;
  document.body.dataset.state = state;
  element("connect").textContent = state === "disconnected" ? "Connect" : "Disconnect";
}

function apply() {
  if (!viewer) return;
  viewer.scaleViewport = element("fit").checked;
  viewer.resizeSession = element("resize").checked;
  viewer.clipViewport = !element("fit").checked;
  viewer.dragViewport = false;
  viewer.viewOnly = element("watch").checked;
}

function connect() {
  clearTimeout(again);
  wanted = true;
  say("Connecting …", "connecting");
  viewer = new RFB(element("screen"), address(), { wsProtocols: ["binary"] });
  viewer.background = "#1e1f22";
  viewer.showDotCursor = true;
  if (given.has("quality")) viewer.qualityLevel = Number(given.get("quality"));
  if (given.has("compression")) viewer.compressionLevel = Number(given.get("compression"));
  apply();
  viewer.addEventListener("connect", () => {
    say(yes("view_only") ? "Watching" : "Connected", "connected");
    viewer.focus();
  });
  viewer.addEventListener("desktopname", (event) => {
    document.title = event.detail.name;
  });
  viewer.addEventListener("clipboard", (event) => {
    element("text").value = event.detail.text;
    navigator.clipboard?.writeText?.(event.detail.text).catch(() => {});
  });
  viewer.addEventListener("disconnect", (event) => {
    viewer = undefined;
    say(event.detail.clean ? "Not connected" : "The connection was lost", "disconnected");
    if (wanted && yes("reconnect", yes("autoconnect"))) {
      again = setTimeout(connect, Number(given.get("reconnect_delay")) || 2000);
    }
  });
}

const resize = given.get("resize") || "scale";
element("fit").checked = resize === "scale";
element("resize").checked = resize === "remote";
element("watch").checked = yes("view_only");
element("watch").disabled = yes("view_only");
document.body.classList.toggle("bare", yes("bare"));
for (const id of ["fit", "resize", "watch"]) element(id).addEventListener("change", apply);
element("connect").addEventListener("click", () => {
  if (viewer || again) {
    wanted = false;
    clearTimeout(again);
    again = undefined;
    viewer?.disconnect();
  } else {
    connect();
  }
});
element("clipboard-toggle").addEventListener("click", () => {
  element("clipboard").hidden = !element("clipboard").hidden;
});
element("text").addEventListener("change", () => viewer?.clipboardPasteFrom(element("text").value));
element("cad").addEventListener("click", () => viewer?.sendCtrlAltDel());
element("full").addEventListener("click", () => document.documentElement.requestFullscreen());
// What was copied on this side is there to be pasted on the other.
window.addEventListener("focus", async () => {
  try {
    const text = await navigator.clipboard.readText();
    if (text && viewer && !viewer.viewOnly) viewer.clipboardPasteFrom(text);
  } catch {
    // A browser that does not let pages read the clipboard leaves the text field.
  }
});

say("Not connected", "disconnected");
if (yes("autoconnect")) connect();

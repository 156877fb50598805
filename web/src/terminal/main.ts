// The terminal page: a screen for one shell session.
//
// Parameters of its address: `session_id` attaches to a session, and holds the one it has from then on; `run` starts one of
// a few known programs in a new session. Links cannot name any other command: following a link must not run anything.
import { effect } from "@preact/signals";
import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal } from "@xterm/xterm";
import { isDark } from "../theme";
import { Connection } from "./connection";
import { colours } from "./colours";
import { Finder } from "./finder";

const PROGRAMS = ["codex", "opencode"];
const given = new URLSearchParams(location.search);
const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

const terminal = new Terminal({
  fontFamily: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  // Larger on a larger screen, as everything is.
  fontSize: Math.min(19, Math.max(13, Math.round(screen.width / 400 + 9.5))),
  lineHeight: 1.15,
  cursorBlink: true,
  scrollback: 10_000,
  theme: colours(isDark()),
  screenReaderMode: matchMedia("(forced-colors: active)").matches,
});
const fit = new FitAddon();
const search = new SearchAddon();
terminal.loadAddon(fit);
terminal.loadAddon(search);
terminal.loadAddon(new WebLinksAddon((_, address) => window.open(address, "_blank", "noopener,noreferrer")));
terminal.open(element("terminal"));
const finder = new Finder(terminal, search);

effect(() => {
  terminal.options.theme = colours(isDark());
});

const embedded = parent !== window;
const run = given.get("run");
const notice = element("notice");
let hiding: number | undefined;

function say(text: string, lasting = false): void {
  clearTimeout(hiding);
  notice.textContent = text;
  notice.hidden = text === "";
  if (!lasting) hiding = setTimeout(() => say("", true), 4000);
}

const connection = new Connection(new URL("./", location.href), given.get("session_id") || undefined, {
  output: (text, drawn) => terminal.write(text, drawn),
  skipped: (bytes) => {
    const size = bytes < 10_000 ? `${bytes} bytes` : `${(bytes / 1e6).toFixed(1)} MB`;
    terminal.write(`\r\n\x1b[2m[${size} of output are not shown]\x1b[0m\r\n`);
  },
  attached: (session, replaced) => {
    if (replaced) {
      terminal.reset();
      say("The earlier session has ended; this is a new one.");
    }
    const url = new URL(location.href);
    url.searchParams.set("session_id", session);
    url.searchParams.delete("run");
    history.replaceState(null, "", url);
    document.title = `Terminal ${session.slice(0, 8)}`;
    if (embedded) parent.postMessage({ atoll: "session", session }, location.origin);
  },
  state: (state) => {
    document.body.dataset.state = state;
    if (state === "connected") {
      if (notice.textContent?.endsWith("…")) say("", true);
    } else if (state === "lost") say("The connection was lost. Connecting again …", true);
    else if (state === "ended") say("This session has ended. Press a key for a new one.", true);
  },
  fresh: () => {
    if (run && PROGRAMS.includes(run)) connection.send(`${run}\r`);
  },
  refused: (reason) => say(reason),
  size: () => ({ cols: terminal.cols, rows: terminal.rows }),
});

terminal.onData((data) => connection.send(data));
terminal.onBinary((data) => connection.send(data));
terminal.onResize(() => connection.resize());
new ResizeObserver(() => {
  const { clientWidth, clientHeight } = element("terminal");
  if (clientWidth > 0 && clientHeight > 0) fit.fit();
}).observe(element("terminal"));

// Copying and pasting as terminals do. Ctrl-V and the menu paste by themselves; reading the clipboard needs a secure
// page, so nothing here depends on it.
terminal.attachCustomKeyEventHandler((event) => {
  if (event.type !== "keydown") return true;
  const command = event.ctrlKey || event.metaKey;
  if (command && event.shiftKey && event.code === "KeyC") {
    event.preventDefault();
    copy();
    return false;
  }
  if (command && event.shiftKey && event.code === "KeyV") return false;
  if (command && event.shiftKey && event.code === "KeyF") {
    event.preventDefault();
    finder.open();
    return false;
  }
  // The way out for those who have no mouse: Tab belongs to the shell.
  if (event.ctrlKey && event.key === "F6" && embedded) {
    event.preventDefault();
    parent.postMessage({ atoll: "leave" }, location.origin);
    return false;
  }
  return true;
});

function copy(): void {
  const text = terminal.getSelection();
  if (!text) return;
  if (navigator.clipboard) navigator.clipboard.writeText(text).catch(() => document.execCommand("copy"));
  else document.execCommand("copy");
}

// A page that is shown in another one must not take the focus from it.
if (!embedded) terminal.focus();
addEventListener("focus", () => terminal.focus());

// A terminal, which keeps its session when the dashboard is opened again.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Frame } from "./frame";

const KEY = `atoll.terminal:${new URL(".", document.baseURI).pathname}`;

function first(): string {
  const session = localStorage.getItem(KEY);
  return session ? `terminal?session_id=${encodeURIComponent(session)}` : "terminal";
}

/** Goes on to what comes after the terminal, where Tab would have led. */
function leave(): void {
  const panel = document.querySelector('[data-pane="terminal"]');
  const next = panel?.nextElementSibling ?? document.querySelector(".rail");
  next?.querySelector<HTMLElement>("select, button, a[href]")?.focus();
}

export function TerminalPane(): JSX.Element {
  const [src] = useState(first);
  useEffect(() => {
    const learn = (event: MessageEvent) => {
      if (event.origin !== location.origin) return;
      if (event.data?.atoll === "session") localStorage.setItem(KEY, String(event.data.session));
      if (event.data?.atoll === "leave") leave();
    };
    addEventListener("message", learn);
    return () => removeEventListener("message", learn);
  }, []);
  return <Frame title="Terminal" src={src} />;
}

// How to reach this sandbox from elsewhere: what to tell MCP clients and SDKs, ready to copy.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { snippets } from "./snippets";
import { visitor } from "./state";
import { CopyButton, IconButton } from "./ui";

export const connecting = signal(false);

export function Connect(): JSX.Element | null {
  return connecting.value ? <Opened /> : null;
}

function Opened(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [chosen, setChosen] = useState(0);
  const base = new URL(".", document.baseURI);
  base.search = base.hash = "";
  const locked = visitor.value !== undefined && visitor.value.how !== "anonymous";
  const list = snippets(base.href, locked);
  const snippet = list[chosen];
  useEffect(() => dialog.current?.showModal(), []);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = (chosen + step + list.length) % list.length;
    setChosen(next);
    document.getElementById(`client-${next}`)?.focus();
  };
  return (
    <dialog
      ref={dialog}
      class="connect"
      aria-labelledby="connect-title"
      onClose={() => {
        connecting.value = false;
      }}
    >
      <header>
        <h2 id="connect-title">Connect an agent</h2>
        <IconButton icon="close" label="Close" onClick={() => dialog.current?.close()} />
      </header>
      <p class="quiet">Everything this sandbox can do is offered as MCP tools and as a REST API.</p>
      <div role="tablist" aria-label="Client" class="tabs" onKeyDown={move}>
        {list.map((one, position) => (
          <button
            key={one.name}
            id={`client-${position}`}
            type="button"
            role="tab"
            class="chip"
            aria-selected={position === chosen}
            aria-controls="snippet"
            tabindex={position === chosen ? 0 : -1}
            onClick={() => setChosen(position)}
          >
            {one.name}
          </button>
        ))}
      </div>
      {snippet && (
        <div id="snippet" role="tabpanel" aria-labelledby={`client-${chosen}`} class="snippet">
          <div class="where">
            <span>{snippet.where}</span>
            <CopyButton text={snippet.text} label={`Copy for ${snippet.name}`} />
          </div>
          <pre tabindex={0}>{snippet.text}</pre>
        </div>
      )}
      {locked && <p class="quiet">Put your own key or token in the place of YOUR_KEY; this page does not know it.</p>}
    </dialog>
  );
}

// The panes on the window. Every pane is one element for as long as it is shown, whatever its place: moving an element
// about would load the page in its frame again.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { Icon } from "../icons";
import { DESCRIPTIONS } from "../panes";
import { STATES } from "../panes/services";
import { parts } from "../state";
import { IconButton } from "../ui";
import * as layout from "./store";
import { type Divider, leaves, PANES, type Pane, type Place, resize } from "./tree";

const STEP = 0.02;
const percent = (part: number) => `${(part * 100).toFixed(3)}%`;

export function Stage(): JSX.Element {
  const { panes, dividers } = layout.arranged.value;
  const shown = layout.shown.value;
  // In the order of their names, so that none moves in the document when places change.
  const mounted = PANES.filter((pane) => panes.has(pane) || shown.includes(pane));
  return (
    <main class="stage" id="stage">
      {mounted.map((pane) => (
        <Panel key={pane} pane={pane} place={panes.get(pane)} visible={shown.includes(pane)} />
      ))}
      {!layout.alone.value && dividers.map((divider) => <Bar key={divider.path} divider={divider} />)}
    </main>
  );
}

function Panel({ pane, place, visible }: { pane: Pane; place: Place | undefined; visible: boolean }): JSX.Element {
  const { title, icon, Body, page, service } = DESCRIPTIONS[pane];
  const alone = layout.alone.value;
  const state = service ? parts.value.get(service)?.state : undefined;
  const style =
    alone || !place
      ? { left: "0", top: "0", width: "100%", height: "100%" }
      : { left: percent(place.x), top: percent(place.y), width: percent(place.width), height: percent(place.height) };
  const focus = () => {
    layout.active.value = pane;
  };
  return (
    <section
      class={`panel ${layout.active.value === pane ? "active" : ""}`}
      style={style}
      data-pane={pane}
      hidden={!visible}
      aria-label={title}
      onPointerDown={focus}
      onFocusIn={focus}
    >
      <div class="card">
        <header>
          <Icon name={icon} />
          <label class="chooser">
            <span class="visually-hidden">Pane</span>
            <select
              value={pane}
              onChange={(event) => {
                const chosen = event.currentTarget.value as Pane;
                event.currentTarget.value = pane;
                layout.put(pane, chosen);
              }}
            >
              {PANES.map((other) => (
                <option key={other} value={other}>
                  {DESCRIPTIONS[other].title}
                </option>
              ))}
            </select>
          </label>
          {state && <span class={`dot ${state}`} role="img" aria-label={STATES[state]} title={STATES[state]} />}
          <span class="grow" />
          {page && (
            <a class="icon-button" href={page} target="_blank" rel="noopener" aria-label={`${title} in a page of its own`} title="Open by itself">
              <Icon name="open" />
            </a>
          )}
          {!layout.narrow.value && <Arrange pane={pane} />}
        </header>
        <div class="body">
          <Body />
        </div>
      </div>
    </section>
  );
}

function Arrange({ pane }: { pane: Pane }): JSX.Element {
  const count = leaves(layout.tree.value).length;
  const full = count === PANES.length;
  const big = layout.maximised.value;
  return (
    <>
      {!big && (
        <>
          <IconButton icon="right" label="Split to the right" disabled={full} onClick={() => layout.divide(pane, "row")} />
          <IconButton icon="down" label="Split below" disabled={full} onClick={() => layout.divide(pane, "column")} />
        </>
      )}
      {count > 1 && (
        <>
          <IconButton
            icon={big ? "restore" : "maximise"}
            label={big ? "Restore" : "Maximise"}
            pressed={big}
            onClick={() => {
              layout.active.value = pane;
              layout.maximised.value = !big;
            }}
          />
          <IconButton icon="close" label="Close" onClick={() => layout.remove(pane)} />
        </>
      )}
    </>
  );
}

/** What parts two panes: dragged, or moved by arrow keys. */
function Bar({ divider }: { divider: Divider }): JSX.Element {
  const dragging = useRef(false);
  const row = divider.direction === "row";
  const set = (ratio: number) => {
    layout.tree.value = resize(layout.tree.value, divider.path, ratio);
  };
  const drag = (event: PointerEvent) => {
    const stage = document.getElementById("stage")?.getBoundingClientRect();
    if (!dragging.current || !stage) return;
    const at = row ? (event.clientX - stage.left) / stage.width : (event.clientY - stage.top) / stage.height;
    set((at - divider.start) / divider.extent);
  };
  const end = () => {
    dragging.current = false;
    document.body.classList.remove("dragging");
  };
  const keys = (event: KeyboardEvent) => {
    const step = { [row ? "ArrowLeft" : "ArrowUp"]: -STEP, [row ? "ArrowRight" : "ArrowDown"]: STEP }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    set(divider.ratio + step);
  };
  return (
    <div
      class={`divider ${divider.direction}`}
      style={{
        left: percent(divider.x),
        top: percent(divider.y),
        ...(row ? { height: percent(divider.height) } : { width: percent(divider.width) }),
      }}
      role="separator"
      tabindex={0}
      aria-label={row ? "Width" : "Height"}
      aria-orientation={row ? "vertical" : "horizontal"}
      aria-valuenow={Math.round(divider.ratio * 100)}
      aria-valuemin={0}
      aria-valuemax={100}
      onKeyDown={keys}
      onDblClick={() => set(0.5)}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        dragging.current = true;
        document.body.classList.add("dragging");
      }}
      onPointerMove={drag}
      onPointerUp={end}
      onPointerCancel={end}
    />
  );
}

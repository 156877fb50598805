// The dashboard: a rail to choose panes, and the panes.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import icon from "./icon.svg";
import { Connect, connecting } from "./connect";
import { Dialogs } from "./dialogs";
import { Icon, type IconName } from "./icons";
import * as layout from "./layout/store";
import { Stage } from "./layout/stage";
import { PANES, type Pane, type Preset } from "./layout/tree";
import { DESCRIPTIONS } from "./panes";
import { STATES } from "./panes/services";
import { learn, parts, refused, sandbox, serviceFeed } from "./state";
import { choose, isDark } from "./theme";
import { Problem } from "./ui";

const PRESETS: { name: Preset; icon: IconName; title: string }[] = [
  { name: "single", icon: "single", title: "One pane" },
  { name: "split", icon: "right", title: "Two panes" },
  { name: "main", icon: "main", title: "One large, two small" },
  { name: "grid", icon: "grid", title: "Four panes" },
];

export function App(): JSX.Element {
  useEffect(() => {
    void learn();
    return serviceFeed.follow();
  }, []);
  return (
    <div class="app">
      <a class="skip" href="#stage">
        Skip to the panes
      </a>
      <Rail />
      <div class="column">
        {refused.value && <Problem text={refused.value} onRetry={() => void learn()} />}
        <Stage />
      </div>
      <Connect />
      <Dialogs />
    </div>
  );
}

function Rail(): JSX.Element {
  const dark = isDark();
  const version = sandbox.value ? `Atoll ${sandbox.value.version}` : "Atoll";
  return (
    <nav class="rail" aria-label="Panes">
      <img class="mark" src={icon} alt={version} title={version} width="32" height="32" />
      <ul>
        {PANES.map((pane) => (
          <li key={pane}>
            <PaneButton pane={pane} />
          </li>
        ))}
      </ul>
      <span class="grow" />
      {!layout.narrow.value && (
        <div class="presets" role="group" aria-label="Layout">
          {PRESETS.map((preset) => (
            <button
              key={preset.name}
              type="button"
              class="icon-button"
              aria-label={preset.title}
              title={preset.title}
              onClick={() => layout.choose(preset.name)}
            >
              <Icon name={preset.icon} />
            </button>
          ))}
        </div>
      )}
      <div class="tools">
        <button
          type="button"
          class="rail-button"
          title="Connect an agent"
          onClick={() => {
            connecting.value = true;
          }}
        >
          <Icon name="connect" />
          <span>Connect</span>
        </button>
        <a class="rail-button" href="v1/docs" target="_blank" rel="noopener" title="API documentation">
          <Icon name="docs" />
          <span>API</span>
        </a>
        <button
          type="button"
          class="rail-button"
          title={dark ? "Light colours" : "Dark colours"}
          onClick={() => choose(dark ? "light" : "dark")}
        >
          <Icon name={dark ? "sun" : "moon"} />
          <span>{dark ? "Light" : "Dark"}</span>
        </button>
      </div>
    </nav>
  );
}

function PaneButton({ pane }: { pane: Pane }): JSX.Element {
  const { title, icon, service } = DESCRIPTIONS[pane];
  const state = service ? parts.value.get(service)?.state : undefined;
  const told = state && !["off", "missing", "disabled"].includes(state) ? state : undefined;
  return (
    <button
      type="button"
      class="rail-button"
      aria-pressed={layout.shown.value.includes(pane)}
      aria-current={layout.active.value === pane ? "true" : undefined}
      title={told ? `${title}: ${STATES[told]}` : title}
      onClick={() => layout.show(pane)}
    >
      <Icon name={icon} />
      <span>{title}</span>
      {told && <i class={`dot ${told}`} aria-hidden="true" />}
    </button>
  );
}

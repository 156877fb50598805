// Panes that show a program of the sandbox in its own page. None of them is started before somebody asks: a sandbox that
// nobody looks at pays for nothing.
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon, type IconName } from "../icons";
import { parts, type Service } from "../state";
import { Blank } from "../ui";
import { Frame } from "./frame";

const opened = {
  browser: signal(false),
  code: signal(false),
  jupyter: signal(false),
};

interface Program {
  name: keyof typeof opened;
  title: string;
  icon: IconName;
  service: Service | undefined;
  src: string;
  about: string;
  tools?: ComponentChildren;
}

function Program(props: Program): JSX.Element {
  const { service, title } = props;
  const open = opened[props.name];
  const runs = service?.state === "running" || service?.state === "starting";
  const ran = useRef(false);
  // Stopped by somebody: its page is of no more use.
  useEffect(() => {
    if (ran.current && (service?.state === "off" || service?.state === "stopping")) open.value = false;
    ran.current = runs;
  }, [service?.state, runs, open]);

  if (service?.state === "missing" || service?.state === "disabled") {
    return (
      <Blank icon={props.icon} title={`${title} is ${service.state === "missing" ? "not installed" : "switched off"}`}>
        <p>{service.detail ?? "This sandbox was started without it."}</p>
      </Blank>
    );
  }
  if (!open.value && !runs) {
    const failed = service?.state === "failed" || service?.state === "backoff";
    return (
      <Blank icon={props.icon} title={failed ? `${title} has failed` : title} tone={failed ? "problem" : undefined}>
        <p>{failed ? (service?.detail ?? "It ended by itself.") : props.about}</p>
        <button
          type="button"
          class="button primary"
          onClick={() => {
            open.value = true;
          }}
        >
          <Icon name="play" />
          {failed ? "Try again" : `Open ${title}`}
        </button>
      </Blank>
    );
  }
  return (
    <>
      {props.tools}
      <Frame key={props.src} title={title} src={props.src} />
    </>
  );
}

const VIEW = "atoll.browser.view";
/** The whole desktop with mouse and keyboard, or the page alone, which needs no desktop. */
const view = signal<"desktop" | "page">(localStorage.getItem(VIEW) === "page" ? "page" : "desktop");

function choose(next: "desktop" | "page"): void {
  view.value = next;
  localStorage.setItem(VIEW, next);
}

export function BrowserPane(): JSX.Element {
  const desktop = view.value === "desktop";
  return (
    <Program
      name="browser"
      title="Browser"
      icon="browser"
      service={parts.value.get(desktop ? "desktop" : "browser")}
      src={desktop ? "vnc/index.html?autoconnect=true&resize=scale&bare=true" : "browser-ui"}
      about="The browser that agents drive. Opening it starts it, if it does not run yet."
      tools={
        <div class="pane-tools" role="group" aria-label="How the browser is shown">
          <button type="button" class="chip" aria-pressed={desktop} onClick={() => choose("desktop")}>
            Desktop
          </button>
          <button type="button" class="chip" aria-pressed={!desktop} onClick={() => choose("page")}>
            Page only
          </button>
        </div>
      }
    />
  );
}

export function CodePane(): JSX.Element {
  return (
    <Program
      name="code"
      title="VS Code"
      icon="code"
      service={parts.value.get("code-server")}
      src="code-server/"
      about="An editor on the files of this sandbox, with terminals in it."
    />
  );
}

export function JupyterPane(): JSX.Element {
  return (
    <Program
      name="jupyter"
      title="JupyterLab"
      icon="jupyter"
      service={parts.value.get("jupyter")}
      src="jupyter/lab"
      about="Notebooks in the workspace of this sandbox."
    />
  );
}

// The panes: what each is called and what draws it.
import type { JSX } from "preact";
import type { IconName } from "../icons";
import type { Pane } from "../layout/tree";
import { ActivityPane } from "./activity";
import { FilesPane } from "./files/pane";
import { PortsPane } from "./ports";
import { BrowserPane, CodePane, JupyterPane } from "./programs";
import { ServicesPane } from "./services";
import { TerminalPane } from "./terminal";

interface Description {
  title: string;
  icon: IconName;
  Body: () => JSX.Element;
  /** The page that shows the same by itself. */
  page?: string;
  /** The service whose state is shown beside the title. */
  service?: string;
}

export const DESCRIPTIONS: Record<Pane, Description> = {
  terminal: { title: "Terminal", icon: "terminal", Body: TerminalPane, page: "terminal" },
  browser: { title: "Browser", icon: "browser", Body: BrowserPane, page: "vnc/index.html", service: "browser" },
  code: { title: "Code", icon: "code", Body: CodePane, page: "code-server/", service: "code-server" },
  jupyter: { title: "Jupyter", icon: "jupyter", Body: JupyterPane, page: "jupyter/lab", service: "jupyter" },
  files: { title: "Files", icon: "files", Body: FilesPane },
  activity: { title: "Activity", icon: "activity", Body: ActivityPane },
  ports: { title: "Ports", icon: "ports", Body: PortsPane },
  services: { title: "Services", icon: "services", Body: ServicesPane },
};

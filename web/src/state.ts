// What the whole dashboard knows of the sandbox.
import { computed, signal } from "@preact/signals";
import { call, whole } from "./api";
import { Feed } from "./live";

export type ServiceState = "off" | "starting" | "running" | "stopping" | "failed" | "backoff" | "missing" | "disabled";

export interface Service {
  name: string;
  title: string;
  kind: "builtin" | "user";
  state: ServiceState;
  detail?: string | null;
  pid?: number | null;
  since?: string | null;
  restarts: number;
  url?: string | null;
  can_start: boolean;
  can_stop: boolean;
}

export interface Port {
  port: number;
  address: string;
  pid?: number | null;
  process?: string | null;
  internal: boolean;
  url?: string | null;
}

export interface Entry {
  id: number;
  revision: number;
  operation: string;
  group: string;
  summary: string;
  started_at: string;
  duration_ms: number | null;
  outcome: "running" | "ok" | "failed";
  error_code: string | null;
  via: string;
  subject: string | null;
}

export interface Sandbox {
  home_dir: string;
  workspace?: string | null;
  version: string;
}

/** Entries of activity that are shown at most. */
const SHOWN = 300;

/** The services, and what is wrong with the files that describe them. */
export interface ServiceList {
  services: Service[];
  problems?: { file: string; line?: number | null; message: string }[];
}

const services = (data: unknown) => data as ServiceList;
const ports = (data: unknown) => (data as { ports: Port[] }).ports;

export const serviceFeed = new Feed<ServiceList>("v1/services", "services", (_, data) => services(data), services);
export const portFeed = new Feed<Port[]>("v1/ports", "ports", (_, data) => ports(data), ports);
export const activityFeed = new Feed<Entry[]>(
  "v1/activity",
  "activity",
  (now, data) => place(now ?? [], data as Entry),
  (data) => (data as { entries: Entry[] }).entries.toSorted((one, other) => other.id - one.id),
);

/** The list, newest first, with an entry added or brought up to date. */
function place(list: Entry[], entry: Entry): Entry[] {
  const known = list.findIndex((other) => other.id === entry.id);
  if (known >= 0) {
    if ((list[known]?.revision ?? 0) >= entry.revision) return list;
    return list.with(known, entry);
  }
  const before = list.findIndex((other) => other.id < entry.id);
  return list.toSpliced(before < 0 ? list.length : before, 0, entry).slice(0, SHOWN);
}

/** The built-in parts by name. */
export const parts = computed(() => {
  const list = serviceFeed.state.value.value?.services ?? [];
  return new Map(list.map((service) => [service.name, service]));
});

export const sandbox = signal<Sandbox | undefined>(undefined);
export const workspace = computed(() => sandbox.value?.workspace || sandbox.value?.home_dir);
/** How this page was let in; `anonymous` where nothing is asked for. */
export const visitor = signal<{ how: string; id: string } | undefined>(undefined);
/** Why the server cannot be asked at all. */
export const refused = signal<string | undefined>(undefined);

export async function learn(): Promise<void> {
  try {
    sandbox.value = await whole<Sandbox>("v1/sandbox");
    refused.value = undefined;
  } catch (error) {
    refused.value = error instanceof Error ? error.message : String(error);
  }
  try {
    const told = await whole<Record<string, unknown>>("auth");
    const data = (told.data ?? told) as { how?: string; id?: string };
    visitor.value = { how: data.how ?? "anonymous", id: data.id ?? "" };
  } catch {
    visitor.value = undefined;
  }
}

export async function command(service: string, verb: "start" | "stop" | "restart"): Promise<void> {
  await call(`v1/services/${encodeURIComponent(service)}/${verb}`, {});
  await serviceFeed.refresh();
}

// What the Files pane knows: the directory it is in, what is there, what is open, what is on its way.
import { signal } from "@preact/signals";
import { call, reason, upload } from "../../api";
import { workspace } from "../../state";

export interface Item {
  name: string;
  path: string;
  is_directory: boolean;
  size: number | null;
  modified_time: string | null;
  is_symlink: boolean;
}

export interface Transfer {
  id: number;
  name: string;
  part: number;
  problem?: string;
}

export const directory = signal<string | undefined>(undefined);
export const items = signal<Item[] | undefined>(undefined);
export const truncated = signal(false);
export const problem = signal<string | undefined>(undefined);
export const selected = signal<Item | undefined>(undefined);
export const transfers = signal<Transfer[]>([]);
/** Whether what is open has changes that are not saved. */
export const dirty = signal(false);

/** Milliseconds after which a list may be old. */
const STALE = 2000;
let asked = 0;
let looked = 0;
let transferred = 0;

export function parent(path: string): string {
  const above = path.replace(/\/+$/, "").replace(/\/[^/]*$/, "");
  return above || "/";
}

export function join(path: string, name: string): string {
  return `${path.replace(/\/+$/, "")}/${name}`;
}

/** Goes to a directory, or looks again where it is. */
export async function list(path = directory.value ?? workspace.value): Promise<void> {
  if (!path) return;
  asked += 1;
  const mine = asked;
  if (path !== directory.value) items.value = undefined;
  directory.value = path;
  try {
    const found = await call<{ path: string; files: Item[]; truncated: boolean }>("v1/file/list", {
      path,
      sort_by: "name",
    });
    if (mine !== asked) return;
    const order = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
    items.value = found.files.toSorted(
      (one, other) => Number(other.is_directory) - Number(one.is_directory) || order.compare(one.name, other.name),
    );
    truncated.value = found.truncated;
    problem.value = undefined;
    directory.value = found.path;
  } catch (error) {
    if (mine !== asked) return;
    problem.value = reason(error);
    items.value ??= [];
  }
}

/** Looks again when somebody turns to the pane, but not at every move of the mouse. */
export function glance(): void {
  if (directory.value === undefined || Date.now() - looked < STALE) return;
  looked = Date.now();
  void list();
}

async function change(path: string, body: unknown): Promise<void> {
  try {
    await call(path, body);
    problem.value = undefined;
  } catch (error) {
    problem.value = reason(error);
  }
  const said = problem.value;
  await list();
  problem.value ??= said;
}

export const makeFolder = (path: string) => change("v1/file/mkdir", { path });
export const move = (source: string, destination: string) => change("v1/file/move", { source, destination });
export const remove = (item: Item) => change("v1/file/delete", { path: item.path, recursive: item.is_directory });

/** Sends files into the directory, two at a time. */
export async function send(files: Iterable<File>, into: string): Promise<void> {
  const waiting = [...files];
  const next = async (): Promise<void> => {
    for (let file = waiting.shift(); file; file = waiting.shift()) await sendOne(file, into);
  };
  await Promise.all([next(), next()]);
  await list();
}

async function sendOne(file: File, into: string): Promise<void> {
  transferred += 1;
  const id = transferred;
  const set = (change: Partial<Transfer>) => {
    transfers.value = transfers.value.map((one) => (one.id === id ? { ...one, ...change } : one));
  };
  transfers.value = [...transfers.value, { id, name: file.name, part: 0 }];
  try {
    await upload(file, join(into, file.name), (part) => set({ part }));
    transfers.value = transfers.value.filter((one) => one.id !== id);
  } catch (error) {
    set({ problem: reason(error) });
  }
}

export function dismiss(id: number): void {
  transfers.value = transfers.value.filter((one) => one.id !== id);
}

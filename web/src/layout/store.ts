// The layout somebody chose, kept in this browser for this sandbox.
import { computed, effect, signal } from "@preact/signals";
import { arrange, close, exchange, leaves, PANES, type Pane, type Preset, preset, revive, split, type Tree } from "./tree";

/** Sandboxes below several paths of one host have a layout each. */
const KEY = `atoll.layout:${new URL(".", document.baseURI).pathname}`;

interface Stored {
  tree: Tree;
  active: Pane;
  maximised: boolean;
}

function stored(): Stored {
  try {
    const value = JSON.parse(localStorage.getItem(KEY) ?? "null") as Partial<Stored> | null;
    const tree = revive(value?.tree);
    const active = PANES.find((pane) => pane === value?.active);
    if (tree) return { tree, active: active ?? leaves(tree)[0] ?? "terminal", maximised: value?.maximised === true };
  } catch {
    // What is stored is not ours, or of another time.
  }
  return { tree: preset("main", []), active: "terminal", maximised: false };
}

const first = stored();
export const tree = signal<Tree>(first.tree);
/** The pane that acts when one is chosen in the rail. */
export const active = signal<Pane>(first.active);
export const maximised = signal(first.maximised);

const small = matchMedia("(max-width: 719px)");
/** There is room for one pane only. */
export const narrow = signal(small.matches);
small.addEventListener("change", () => {
  narrow.value = small.matches;
});

export const alone = computed(() => narrow.value || maximised.value);
export const shown = computed<Pane[]>(() => (alone.value ? [active.value] : leaves(tree.value)));
export const arranged = computed(() => arrange(tree.value));

effect(() => {
  const value: Stored = { tree: tree.value, active: active.value, maximised: maximised.value };
  try {
    localStorage.setItem(KEY, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing shows the usual layout next time.
  }
});

/** Shows a pane: where it is, or in the place of the active one. */
export function show(pane: Pane): void {
  if (!leaves(tree.value).includes(pane)) tree.value = exchange(tree.value, active.value, pane);
  active.value = pane;
}

export function put(place: Pane, pane: Pane): void {
  tree.value = exchange(tree.value, place, pane);
  active.value = pane;
}

export function divide(pane: Pane, direction: "row" | "column"): void {
  const free = PANES.find((other) => !leaves(tree.value).includes(other));
  if (free) tree.value = split(tree.value, pane, direction, free);
}

export function remove(pane: Pane): void {
  const left = close(tree.value, pane);
  if (!left) return;
  tree.value = left;
  maximised.value = false;
  if (active.value === pane) active.value = leaves(left)[0] ?? "terminal";
}

export function choose(name: Preset): void {
  const others = leaves(tree.value).filter((pane) => pane !== active.value);
  tree.value = preset(name, [active.value, ...others]);
  maximised.value = false;
}

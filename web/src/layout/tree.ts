// How panes share the window: a tree of splits. Plain data and functions on it; nothing here draws.

export const PANES = ["terminal", "browser", "code", "jupyter", "files", "activity", "ports", "services"] as const;
export type Pane = (typeof PANES)[number];
export type Direction = "row" | "column";
export type Tree = Pane | Split;

export interface Split {
  direction: Direction;
  /** The part of the first, between 0 and 1. */
  ratio: number;
  first: Tree;
  second: Tree;
}

export interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Divider extends Place {
  /** The way to its split: `1` and `2` for first and second. */
  path: string;
  direction: Direction;
  ratio: number;
  /** Extent of the whole split along its direction. */
  extent: number;
  /** Where the split begins along its direction. */
  start: number;
}

export const LEAST = 0.12;
const WHOLE: Place = { x: 0, y: 0, width: 1, height: 1 };

export function leaves(tree: Tree): Pane[] {
  return typeof tree === "string" ? [tree] : [...leaves(tree.first), ...leaves(tree.second)];
}

/** Where everything goes, in parts of the window. */
export function arrange(tree: Tree, place: Place = WHOLE, path = ""): { panes: Map<Pane, Place>; dividers: Divider[] } {
  if (typeof tree === "string") return { panes: new Map([[tree, place]]), dividers: [] };
  const { direction, ratio } = tree;
  const { x, y, width, height } = place;
  const row = direction === "row";
  const first = row ? { x, y, width: width * ratio, height } : { x, y, width, height: height * ratio };
  const second = row
    ? { x: x + width * ratio, y, width: width * (1 - ratio), height }
    : { x, y: y + height * ratio, width, height: height * (1 - ratio) };
  const one = arrange(tree.first, first, `${path}1`);
  const other = arrange(tree.second, second, `${path}2`);
  const divider: Divider = {
    path,
    direction,
    ratio,
    extent: row ? width : height,
    start: row ? x : y,
    x: second.x,
    y: second.y,
    width: row ? 0 : width,
    height: row ? height : 0,
  };
  return { panes: new Map([...one.panes, ...other.panes]), dividers: [divider, ...one.dividers, ...other.dividers] };
}

export function resize(tree: Tree, path: string, ratio: number): Tree {
  if (typeof tree === "string") return tree;
  const [step, rest] = [path[0], path.slice(1)];
  if (step === undefined) return { ...tree, ratio: Math.min(1 - LEAST, Math.max(LEAST, ratio)) };
  return step === "1"
    ? { ...tree, first: resize(tree.first, rest, ratio) }
    : { ...tree, second: resize(tree.second, rest, ratio) };
}

/** Puts a pane where another is; if it is shown already, the two change places. */
export function exchange(tree: Tree, old: Pane, pane: Pane): Tree {
  if (typeof tree === "string") return tree === old ? pane : tree === pane ? old : tree;
  return { ...tree, first: exchange(tree.first, old, pane), second: exchange(tree.second, old, pane) };
}

export function split(tree: Tree, at: Pane, direction: Direction, pane: Pane): Tree {
  if (typeof tree !== "string") {
    return { ...tree, first: split(tree.first, at, direction, pane), second: split(tree.second, at, direction, pane) };
  }
  return tree === at ? { direction, ratio: 0.5, first: at, second: pane } : tree;
}

/** Without a pane; nothing is left of a tree that held only it. */
export function close(tree: Tree, pane: Pane): Tree | undefined {
  if (typeof tree === "string") return tree === pane ? undefined : tree;
  const [first, second] = [close(tree.first, pane), close(tree.second, pane)];
  return first && second ? { ...tree, first, second } : (first ?? second);
}

export type Preset = "single" | "split" | "main" | "grid";

/** A common layout with these panes first, filled up with others. */
export function preset(name: Preset, shown: Pane[]): Tree {
  const order = [...new Set<Pane>([...shown, "terminal", "files", "activity", "browser"])];
  const [a, b, c, d] = order as [Pane, Pane, Pane, Pane];
  const pair = (direction: Direction, first: Tree, second: Tree, ratio = 0.5): Tree => ({ direction, ratio, first, second });
  switch (name) {
    case "single":
      return a;
    case "split":
      return pair("row", a, b);
    case "main":
      return pair("row", a, pair("column", b, c), 0.58);
    case "grid":
      return pair("row", pair("column", a, c), pair("column", b, d));
  }
}

/** A tree that was stored, if it is one and shows each pane once. */
export function revive(value: unknown): Tree | undefined {
  const seen = new Set<Pane>();
  const walk = (node: unknown): Tree | undefined => {
    if (typeof node === "string") {
      const pane = PANES.find((known) => known === node);
      if (!pane || seen.has(pane)) return undefined;
      seen.add(pane);
      return pane;
    }
    if (typeof node !== "object" || node === null) return undefined;
    const { direction, ratio, first, second } = node as Partial<Split>;
    if ((direction !== "row" && direction !== "column") || typeof ratio !== "number" || !(ratio > 0 && ratio < 1)) {
      return undefined;
    }
    const [one, other] = [walk(first), walk(second)];
    return one && other ? { direction, ratio, first: one, second: other } : undefined;
  };
  return walk(value);
}

// Light or dark: as the system says, unless somebody chose. The choice holds for every page of this server that is open.
import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const KEY = "atoll.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function stored(): Theme {
  const value = localStorage.getItem(KEY);
  return value === "light" || value === "dark" ? value : "system";
}

export const theme = signal<Theme>(stored());
const system = signal(dark.matches);

export function isDark(): boolean {
  return theme.value === "system" ? system.value : theme.value === "dark";
}

export function choose(next: Theme): void {
  theme.value = next;
  if (next === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, next);
}

dark.addEventListener("change", () => {
  system.value = dark.matches;
});
addEventListener("storage", (event) => {
  if (event.key === KEY || event.key === null) theme.value = stored();
});
effect(() => {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
});

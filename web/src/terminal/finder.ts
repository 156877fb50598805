// The search bar of the terminal: Ctrl-Shift-F opens it, Enter goes on, Escape closes it.
import type { SearchAddon } from "@xterm/addon-search";
import type { Terminal } from "@xterm/xterm";

const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

export class Finder {
  readonly #terminal: Terminal;
  readonly #search: SearchAddon;
  readonly #bar = element<HTMLFormElement>("search");
  readonly #text = element<HTMLInputElement>("search-text");

  constructor(terminal: Terminal, search: SearchAddon) {
    this.#terminal = terminal;
    this.#search = search;
    this.#text.addEventListener("input", () => this.#find(true));
    this.#bar.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#find(true);
    });
    this.#bar.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
      if (event.key === "Enter" && event.shiftKey) {
        event.preventDefault();
        this.#find(false);
      }
    });
    element("search-previous").addEventListener("click", () => this.#find(false));
    element("search-close").addEventListener("click", () => this.close());
  }

  open(): void {
    this.#bar.hidden = false;
    const selected = this.#terminal.getSelection();
    if (selected && !selected.includes("\n")) this.#text.value = selected;
    this.#text.select();
    this.#text.focus();
  }

  close(): void {
    this.#bar.hidden = true;
    this.#search.clearDecorations();
    this.#terminal.focus();
  }

  #find(forward: boolean): void {
    const text = this.#text.value;
    if (!text) {
      this.#search.clearDecorations();
      element("search-count").textContent = "";
      return;
    }
    const found = forward ? this.#search.findNext(text) : this.#search.findPrevious(text);
    element("search-count").textContent = found ? "" : "not found";
  }
}

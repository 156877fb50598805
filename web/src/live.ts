// Lists that the server keeps up to date by events. Browsers allow few connections to one server, and every stream holds
// one: a list is followed only while somebody looks at it.
import { type Signal, signal } from "@preact/signals";
import { address, call, Refusal, reason } from "./api";

export interface Live<T> {
  /** The latest; nothing before the first answer. */
  value: T | undefined;
  /** Why there is none, or why it may be old. */
  problem?: string;
  /** The server does not offer it. */
  missing: boolean;
}

const RETRY = 2000;

/** Keeps a list while it has followers. */
export class Feed<T> {
  readonly state: Signal<Live<T>> = signal({ value: undefined, missing: false });
  #followers = 0;
  #source: EventSource | undefined;
  #timer: number | undefined;

  /** `merge` makes the new value of what an event brings; `initial` asks once before events are followed. */
  constructor(
    readonly path: string,
    readonly event: string,
    readonly merge: (now: T | undefined, data: unknown) => T,
    readonly initial: (data: unknown) => T,
  ) {
    document.addEventListener("visibilitychange", () => this.#look());
  }

  /** Follows until the returned function is called. */
  follow(): () => void {
    this.#followers += 1;
    this.#look();
    return () => {
      this.#followers -= 1;
      this.#look();
    };
  }

  /** Asks again now. */
  async refresh(): Promise<void> {
    try {
      const data = await call<unknown>(this.path);
      this.state.value = { value: this.initial(data), missing: false };
    } catch (error) {
      const missing = error instanceof Refusal && error.isMissing;
      this.state.value = { value: this.state.value.value, problem: reason(error), missing };
    }
  }

  #look(): void {
    const wanted = this.#followers > 0 && !document.hidden;
    if (wanted && !this.#source && this.#timer === undefined) void this.#open();
    if (!wanted) this.#close();
  }

  async #open(): Promise<void> {
    this.#timer = -1;
    await this.refresh();
    this.#timer = undefined;
    if (this.#followers === 0 || document.hidden || this.#source) return;
    if (this.state.value.problem) {
      if (!this.state.value.missing) this.#again();
      return;
    }
    const source = new EventSource(address(this.path));
    this.#source = source;
    source.addEventListener(this.event, (event) => {
      const data = JSON.parse((event as MessageEvent<string>).data);
      this.state.value = { value: this.merge(this.state.value.value, data), missing: false };
    });
    source.onerror = () => {
      // It would try again by itself, but would not say what is wrong.
      this.#close();
      this.state.value = { ...this.state.value, problem: "The connection to the server was lost." };
      this.#again();
    };
  }

  #again(): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#look();
    }, RETRY);
  }

  #close(): void {
    this.#source?.close();
    this.#source = undefined;
    if (this.#timer !== undefined && this.#timer !== -1) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
  }
}

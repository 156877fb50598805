// The way to a session's stream: connects, takes up where it left off after a break, and never shows a byte twice.
//
// Every piece of output says the offset in the session's stream at which it ends. What arrives twice after a
// reconnection is cut off by it, what is missing is told. A page cannot make the server wait, so a flood that arrives
// faster than it is drawn is cut off too: the connection is closed until all has been drawn, and the stream taken up
// at its latest part.

export interface Listener {
  /** Draws text, and calls back when it has been drawn. */
  output(text: string, drawn: () => void): void;
  /** Bytes of output were not shown. */
  skipped(bytes: number): void;
  /** The session attached to; `fresh` when it is not the one that was asked for. */
  attached(session: string, fresh: boolean): void;
  state(state: "connecting" | "connected" | "lost" | "ended"): void;
  /** The session takes input now, and is not one that was there before. */
  fresh(): void;
  refused(reason: string): void;
  size(): { cols: number; rows: number };
}

/** Characters that may wait to be drawn. */
const MOST_WAITING = 6_000_000;
/** Keys typed while there is no connection. */
const MOST_TYPED = 4096;
const SLOWEST_RETRY = 5000;

export class Connection {
  #socket: WebSocket | undefined;
  #session: string | undefined;
  /** Where the stream was left; nothing before it is shown again. */
  #offset: number | undefined;
  #waiting = 0;
  #paused = false;
  #typed = "";
  #retry = 0;
  #timer: number | undefined;
  #over = false;
  /** The latest message said what is wrong. */
  #told = false;
  /** Take the stream up at its latest part, whatever was missed. */
  #skip = false;
  readonly #listener: Listener;
  readonly #base: URL;

  constructor(base: URL, session: string | undefined, listener: Listener) {
    this.#base = base;
    this.#session = session;
    this.#listener = listener;
    addEventListener("online", () => this.#soon(0));
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.#soon(0);
    });
    void this.connect();
  }

  /** Connects now, if there is no connection. */
  async connect(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#socket || this.#paused || this.#over) return;
    this.#listener.state("connecting");
    const gone = this.#session !== undefined && (await this.#isGone(this.#session));
    if (this.#socket || this.#paused) return;
    const fresh = gone || this.#session === undefined;
    if (gone) {
      this.#session = undefined;
      this.#offset = undefined;
    }
    const url = new URL("v1/shell/ws", this.#base);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    if (this.#session !== undefined) url.searchParams.set("session_id", this.#session);
    if (this.#offset !== undefined && !this.#skip) url.searchParams.set("offset", String(this.#offset));
    this.#skip = false;
    const socket = new WebSocket(url);
    this.#socket = socket;
    this.#told = false;
    socket.onmessage = (message) => {
      if (socket === this.#socket) this.#take(JSON.parse(String(message.data)), gone, fresh);
    };
    socket.onclose = (event) => {
      if (socket !== this.#socket) return;
      // A server that stops says goodbye, too; but of a session that is over it says why first.
      if (event.code === 1000 && this.#told) this.#over = true;
      this.#lost();
    };
  }

  send(text: string): void {
    if (this.#over) {
      this.renew();
    } else if (this.#socket?.readyState === WebSocket.OPEN && !this.#paused) {
      this.#socket.send(JSON.stringify({ type: "input", data: text }));
    } else {
      this.#typed = (this.#typed + text).slice(-MOST_TYPED);
      this.#soon(0);
    }
  }

  resize(): void {
    if (this.#socket?.readyState === WebSocket.OPEN) {
      this.#socket.send(JSON.stringify({ type: "resize", data: this.#listener.size() }));
    }
  }

  /** Starts over with a new session. */
  renew(): void {
    this.#over = false;
    this.#session = undefined;
    this.#offset = undefined;
    this.#drop();
    void this.connect();
  }

  #take(message: { type: string; data?: unknown; offset?: number; timestamp?: unknown }, gone: boolean, fresh: boolean) {
    this.#told = message.type === "error";
    switch (message.type) {
      case "session_id":
        this.#session = String(message.data);
        this.#listener.attached(this.#session, gone);
        break;
      case "ready":
        this.#retry = 0;
        this.#listener.state("connected");
        this.resize();
        if (fresh) this.#listener.fresh();
        if (this.#typed) {
          const typed = this.#typed;
          this.#typed = "";
          this.send(typed);
        }
        break;
      case "output":
        this.#show(String(message.data), message.offset);
        break;
      case "ping":
        this.#socket?.send(JSON.stringify({ type: "pong", timestamp: message.timestamp }));
        break;
      case "error":
        this.#listener.refused(String(message.data));
        break;
    }
  }

  #show(text: string, end: number | undefined): void {
    if (end !== undefined) {
      const bytes = new TextEncoder().encode(text);
      const start = end - bytes.length;
      const expected = this.#offset;
      this.#offset = end;
      if (expected !== undefined && start > expected) this.#listener.skipped(start - expected);
      if (expected !== undefined && start < expected) {
        text = new TextDecoder().decode(bytes.subarray(Math.min(expected - start, bytes.length)));
        this.#offset = Math.max(expected, end);
      }
    }
    if (!text) return;
    this.#waiting += text.length;
    this.#listener.output(text, () => {
      this.#waiting -= text.length;
      if (this.#paused && this.#waiting === 0) {
        this.#paused = false;
        this.#skip = true;
        void this.connect();
      }
    });
    if (this.#waiting > MOST_WAITING && !this.#paused) {
      this.#paused = true;
      this.#drop();
    }
  }

  /** Whether the session is known to be no more. */
  async #isGone(session: string): Promise<boolean> {
    try {
      const answer = await fetch(new URL("v1/shell/sessions", this.#base));
      if (!answer.ok) return false;
      const known = (await answer.json()).data?.sessions;
      return known !== undefined && !(session in known);
    } catch {
      return false;
    }
  }

  #lost(): void {
    this.#socket = undefined;
    if (this.#over) this.#listener.state("ended");
    if (this.#paused || this.#over) return;
    this.#listener.state("lost");
    this.#retry = Math.min(SLOWEST_RETRY, this.#retry === 0 ? 250 : this.#retry * 2);
    this.#soon(this.#retry);
  }

  #soon(milliseconds: number): void {
    if (this.#socket || this.#paused || this.#over) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.connect(), milliseconds);
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
  }
}

// Calls to the server this page came from. Addresses are relative to the page, so that they hold below any path.

/** What the server refused, in its own words. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }

  /** The server does not offer this. */
  get isMissing(): boolean {
    return this.status === 404 && (this.code === "request.unknown_path" || this.code === "");
  }
}

interface Envelope<T> {
  success: boolean;
  message?: string | null;
  data: T;
  hint?: string | null;
  error_code?: string | null;
}

export function address(path: string, query: Record<string, string> = {}): string {
  const url = new URL(path, document.baseURI);
  // The page's own credentials and parameters do not belong to what it asks for: its cookie goes along by itself.
  url.search = new URLSearchParams(query).toString();
  url.hash = "";
  return url.href;
}

/** Asks with GET, or with POST when there is something to send. */
export async function call<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const options: RequestInit =
    body === undefined
      ? { signal }
      : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
  const answer = await send(path, options);
  return (await read<T>(answer)).data;
}

/** The whole answer, for operations whose fields lie beside `data`. */
export async function whole<T>(path: string): Promise<T> {
  return (await read(await send(path, {}))) as T;
}

async function send(path: string, options: RequestInit): Promise<Response> {
  const [place, query] = path.split("?");
  try {
    return await fetch(address(place ?? "", Object.fromEntries(new URLSearchParams(query ?? ""))), options);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refusal(0, "unreachable", "The server cannot be reached.");
  }
}

async function read<T>(answer: Response): Promise<Envelope<T>> {
  let envelope: Envelope<T> | undefined;
  try {
    envelope = await answer.json();
  } catch {
    // Something in between answered.
  }
  if (answer.ok && envelope?.success !== false && envelope) return envelope;
  const told = [envelope?.message, envelope?.hint].filter(Boolean).join(" ");
  throw new Refusal(answer.status, envelope?.error_code ?? "", told || `The server answered ${answer.status}.`);
}

export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A file's bytes, for previews. */
export async function bytes(path: string, signal?: AbortSignal): Promise<Blob> {
  const answer = await fetch(address("v1/file/download", { path }), { signal });
  if (!answer.ok) await read(answer);
  return answer.blob();
}

/** Sends a file into a directory, saying how far it is. */
export function upload(file: File, path: string, progress: (part: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const form = new FormData();
    form.append("path", path);
    form.append("file", file, file.name);
    request.open("POST", address("v1/file/upload"));
    request.responseType = "json";
    request.upload.onprogress = (event) => progress(event.total ? event.loaded / event.total : 0);
    request.onerror = () => reject(new Refusal(0, "unreachable", "The connection broke."));
    request.onload = () => {
      const envelope = request.response as Envelope<unknown> | null;
      if (request.status < 300 && envelope?.success !== false) resolve();
      else reject(new Refusal(request.status, "", envelope?.message ?? `The server answered ${request.status}.`));
    };
    request.send(form);
  });
}

// What a file holds: text to read or edit, Markdown, a picture, a PDF; of the rest what is known about it.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { address, bytes, call, reason } from "../../api";
import { Icon } from "../../icons";
import { Blank, IconButton, Loading, Problem, size } from "../../ui";
import { Editor } from "./editor";
import { type Item, selected } from "./model";
import { leave } from "./pane";

/** Bytes of text that can be edited; of larger files the beginning is shown. */
const EDITABLE = 1_000_000;
/** Bytes of a picture or document that is shown. */
const SHOWABLE = 50_000_000;
const BEGINNING = 2000;

const PICTURES = ["png", "jpg", "jpeg", "gif", "webp", "svg", "avif", "bmp", "ico"];
const KINDS: Record<string, string> = { pdf: "application/pdf", svg: "image/svg+xml" };

type Shown =
  | { kind: "text"; text: string; whole: boolean; markdown: boolean }
  | { kind: "picture"; url: string }
  | { kind: "pdf"; url: string }
  | { kind: "other"; why: string };

function extension(name: string): string {
  return /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
}

async function look(item: Item, signal: AbortSignal): Promise<Shown> {
  const ending = extension(item.name);
  const large = (item.size ?? 0) > SHOWABLE;
  if (ending === "pdf" || PICTURES.includes(ending)) {
    if (large) return { kind: "other", why: "It is too large to be shown here." };
    const blob = await bytes(item.path, signal);
    const type = KINDS[ending] ?? `image/${ending === "jpg" ? "jpeg" : ending}`;
    const url = URL.createObjectURL(new Blob([blob], { type }));
    return { kind: ending === "pdf" ? "pdf" : "picture", url };
  }
  const whole = (item.size ?? 0) <= EDITABLE;
  const range = whole ? {} : { start_line: 0, end_line: BEGINNING };
  try {
    const read = await call<{ content: string }>("v1/file/read", { file: item.path, ...range }, signal);
    if (read.content.includes("\u0000")) return { kind: "other", why: "It is not text." };
    return { kind: "text", text: read.content, whole, markdown: ["md", "markdown"].includes(ending) };
  } catch (error) {
    if (signal.aborted) throw error;
    return { kind: "other", why: reason(error) };
  }
}

export function Preview({ item }: { item: Item }): JSX.Element {
  const [shown, setShown] = useState<Shown>();
  const [problem, setProblem] = useState<string>();
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    let made: string | undefined;
    look(item, stop.signal).then(
      (found) => {
        if ("url" in found) made = found.url;
        if (stop.signal.aborted && made) URL.revokeObjectURL(made);
        else setShown(found);
      },
      (error) => {
        if (!stop.signal.aborted) setProblem(reason(error));
      },
    );
    return () => {
      stop.abort();
      if (made) URL.revokeObjectURL(made);
    };
  }, [item, version]);

  const close = async () => {
    if (await leave()) selected.value = undefined;
  };
  return (
    <section class="preview" aria-label={item.name}>
      <div class="pane-tools">
        <IconButton icon="close" label="Close the file" onClick={() => void close()} />
        <span class="grow name" title={item.path}>
          {item.name}
        </span>
        <span class="quiet">{size(item.size)}</span>
        <a
          class="icon-button"
          href={address("v1/file/download", { path: item.path })}
          download={item.name}
          aria-label={`Download ${item.name}`}
          title="Download"
        >
          <Icon name="download" />
        </a>
      </div>
      {problem ? (
        <Problem text={problem} />
      ) : shown === undefined ? (
        <Loading />
      ) : shown.kind === "text" ? (
        <Editor
          key={version}
          path={item.path}
          text={shown.text}
          whole={shown.whole}
          markdown={shown.markdown}
          reload={() => {
            setShown(undefined);
            setVersion((now) => now + 1);
          }}
        />
      ) : shown.kind === "picture" ? (
        <div class="picture">
          <img src={shown.url} alt={item.name} />
        </div>
      ) : shown.kind === "pdf" ? (
        <div class="frame">
          <iframe title={item.name} src={shown.url} />
        </div>
      ) : (
        <Blank icon="file" title="No preview">
          <p>{shown.why}</p>
        </Blank>
      )}
    </section>
  );
}

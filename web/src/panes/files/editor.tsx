// A text file, to read and to change. Nothing is overwritten unseen: before it is saved the file is read again, and
// somebody else's change since is asked about.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { call, reason } from "../../api";
import { choose } from "../../dialogs";
import { Loading, Problem } from "../../ui";
import * as model from "./model";

interface Props {
  path: string;
  text: string;
  /** Whether it is all of the file; a part can only be read. */
  whole: boolean;
  markdown: boolean;
  reload: () => void;
}

export function Editor({ path, text, whole, markdown, reload }: Props): JSX.Element {
  const [read, setRead] = useState(markdown);
  const [saved, setSaved] = useState(text);
  const [now, setNow] = useState(text);
  const [state, setState] = useState<"" | "saving" | "saved">("");
  const [problem, setProblem] = useState<string>();
  const changed = now !== saved;

  useEffect(() => {
    model.dirty.value = changed;
  }, [changed]);
  useEffect(
    () => () => {
      model.dirty.value = false;
    },
    [],
  );

  const save = async () => {
    if (!changed || state === "saving") return;
    setState("saving");
    setProblem(undefined);
    try {
      const there = await call<{ content: string }>("v1/file/read", { file: path });
      if (there.content !== saved) {
        const chosen = await choose("Changed by somebody else", "This file has changed since it was opened here.", [
          { label: "Show theirs", value: "reload" },
          { label: "Overwrite", value: "overwrite", tone: "danger" },
        ]);
        if (chosen === "reload") {
          model.dirty.value = false;
          return reload();
        }
        if (chosen !== "overwrite") return setState("");
      }
      await call("v1/file/write", { file: path, content: now });
      setSaved(now);
      setState("saved");
      void model.list();
    } catch (error) {
      setProblem(reason(error));
      setState("");
    }
  };
  const keys = (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") {
      event.preventDefault();
      void save();
    }
  };
  return (
    <div class="editor" onKeyDown={keys}>
      <div class="pane-tools">
        {markdown && (
          <>
            <button type="button" class="chip" aria-pressed={read} onClick={() => setRead(true)}>
              Read
            </button>
            <button type="button" class="chip" aria-pressed={!read} onClick={() => setRead(false)}>
              Edit
            </button>
          </>
        )}
        <span class="grow quiet" role="status">
          {whole
            ? { "": changed ? "Not saved" : "", saving: "Saving …", saved: changed ? "Not saved" : "Saved" }[state]
            : "The beginning of a large file"}
        </span>
        {whole && (
          <button type="button" class="button small primary" disabled={!changed || state === "saving"} onClick={() => void save()}>
            Save
          </button>
        )}
      </div>
      {problem && <Problem text={problem} onRetry={() => void save()} />}
      {read ? (
        <Markdown text={now} />
      ) : (
        <textarea
          class="source"
          aria-label={`Content of ${path}`}
          value={now}
          readOnly={!whole}
          spellcheck={false}
          wrap="off"
          onInput={(event) => setNow(event.currentTarget.value)}
        />
      )}
    </div>
  );
}

/** Markdown as a page. Raw HTML in it stays text, and links open elsewhere. */
function Markdown({ text }: { text: string }): JSX.Element {
  const place = useRef<HTMLElement>(null);
  const [loaded, setLoaded] = useState(false);
  useEffect(() => {
    let wanted = true;
    void import("./markdown").then(({ render }) => {
      if (!wanted || !place.current) return;
      place.current.innerHTML = render(text);
      setLoaded(true);
    });
    return () => {
      wanted = false;
    };
  }, [text]);
  return (
    <>
      {!loaded && <Loading />}
      <article class="markdown" ref={place} tabindex={0} />
    </>
  );
}

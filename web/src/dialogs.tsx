// Questions to the person in front: a name to type, something to confirm, a choice. One at a time.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface Question {
  title: string;
  text?: string;
  /** A field to type into, with this to begin with. */
  value?: string;
  actions: { label: string; value: string; tone?: "danger" | "primary" }[];
  answer: (answer: { action: string; value: string } | undefined) => void;
}

const question = signal<Question | undefined>(undefined);

function ask(asked: Omit<Question, "answer">): Promise<{ action: string; value: string } | undefined> {
  question.value?.answer(undefined);
  return new Promise((resolve) => {
    question.value = {
      ...asked,
      answer: (answer) => {
        question.value = undefined;
        resolve(answer);
      },
    };
  });
}

/** Asks for a name; nothing when it was given up. */
export async function askName(title: string, value: string, label: string): Promise<string | undefined> {
  const answer = await ask({ title, value, actions: [{ label, value: "yes", tone: "primary" }] });
  return answer?.value.trim() || undefined;
}

export async function confirm(title: string, text: string, label: string): Promise<boolean> {
  const answer = await ask({ title, text, actions: [{ label, value: "yes", tone: "danger" }] });
  return answer?.action === "yes";
}

export async function choose(title: string, text: string, actions: Question["actions"]): Promise<string | undefined> {
  return (await ask({ title, text, actions }))?.action;
}

export function Dialogs(): JSX.Element | null {
  const asked = question.value;
  return asked ? <Asked key={asked.title} asked={asked} /> : null;
}

function Asked({ asked }: { asked: Question }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [value, setValue] = useState(asked.value ?? "");
  useEffect(() => {
    dialog.current?.showModal();
    dialog.current?.querySelector("input")?.select();
  }, []);
  return (
    <dialog ref={dialog} class="question" aria-labelledby="question-title" onClose={() => asked.answer(undefined)}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          const chosen = (event.submitter as HTMLButtonElement | null)?.value || asked.actions[0]?.value;
          if (chosen) asked.answer({ action: chosen, value });
        }}
      >
        <h2 id="question-title">{asked.title}</h2>
        {asked.text && <p>{asked.text}</p>}
        {asked.value !== undefined && (
          <input
            type="text"
            aria-labelledby="question-title"
            value={value}
            onInput={(event) => setValue(event.currentTarget.value)}
          />
        )}
        <footer>
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          {asked.actions.map((action) => (
            <button key={action.value} type="submit" class={`button ${action.tone ?? ""}`} value={action.value}>
              {action.label}
            </button>
          ))}
        </footer>
      </form>
    </dialog>
  );
}

// The few building blocks that everything else is made of.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons";

export function IconButton(props: {
  icon: IconName;
  label: string;
  onClick: (event: MouseEvent) => void;
  pressed?: boolean;
  disabled?: boolean;
}): JSX.Element {
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={props.label}
      title={props.label}
      aria-pressed={props.pressed}
      disabled={props.disabled}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}

/** What a pane shows when it has nothing else to show. */
export function Blank(props: {
  icon: IconName;
  title: string;
  children?: ComponentChildren;
  tone?: "problem";
}): JSX.Element {
  return (
    <div class={`blank ${props.tone ?? ""}`}>
      <Icon name={props.icon} class="large" />
      <h2>{props.title}</h2>
      {props.children}
    </div>
  );
}

export function Loading(): JSX.Element {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Loading</span>
    </div>
  );
}

/** A line above a list that is there but may be old. */
export function Problem({ text, onRetry }: { text: string; onRetry?: () => void }): JSX.Element {
  return (
    <p class="problem" role="alert">
      <Icon name="warning" />
      <span>{text}</span>
      {onRetry && (
        <button type="button" class="link" onClick={onRetry}>
          Try again
        </button>
      )}
    </p>
  );
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }): JSX.Element {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <button type="button" class="button small" aria-label={label} onClick={() => void copy(text).then(setCopied)}>
      <Icon name={copied ? "check" : "copy"} />
      <span aria-live="polite">{copied ? "Copied" : "Copy"}</span>
    </button>
  );
}

/** Puts text on the clipboard, also on pages that are not secure, where browsers have only the old way. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "visually-hidden";
    (document.querySelector("dialog[open]") ?? document.body).append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    return copied;
  }
}

export function size(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return "";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let [value, unit] = [bytes, 0];
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** The time of day, with the day when it is not today. */
export function moment(text: string | null | undefined): string {
  if (!text) return "";
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return "";
  const today = time.toDateString() === new Date().toDateString();
  return today
    ? time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" })
    : time.toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" });
}

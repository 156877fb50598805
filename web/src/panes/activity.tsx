// What is being done right now and was done lately: a live list, newest first.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { activityFeed, type Entry } from "../state";
import { Blank, duration, Loading, moment, Problem } from "../ui";

const everything = signal(false);
/** Operations that only look: shown when everything is. */
const LOOKING =
  /_(list|stat|exists|read|view|info|stats|download|archive|search|find|grep|glob|poll|events|wait|list_\w+|get_\w+|home_dir|temp_dir|eval_symlinks|tab_list|attach)$/;

const GROUPS: Record<string, string> = {
  bash: "Command",
  shell: "Shell",
  file: "File",
  browser: "Browser",
  desktop: "Desktop",
  jupyter: "Python",
  nodejs: "Node.js",
  code: "Code",
  mcp: "MCP",
  service: "Service",
  terminal: "Terminal",
  util: "Document",
  web: "Web",
  skills: "Skill",
  proxy: "Network",
  sandbox: "Sandbox",
  observe: "Observe",
  auth: "Access",
};

export function ActivityPane(): JSX.Element {
  useEffect(() => activityFeed.follow(), []);
  const { value, problem, missing } = activityFeed.state.value;
  const entries = value?.filter((entry) => everything.value || !LOOKING.test(entry.operation));
  const running = entries?.filter((entry) => entry.outcome === "running").length ?? 0;
  return (
    <div class="list-pane">
      <div class="pane-tools" role="group" aria-label="What is listed">
        <button
          type="button"
          class="chip"
          aria-pressed={!everything.value}
          onClick={() => {
            everything.value = false;
          }}
        >
          Actions
        </button>
        <button
          type="button"
          class="chip"
          aria-pressed={everything.value}
          onClick={() => {
            everything.value = true;
          }}
        >
          Everything
        </button>
        <span class="count" role="status">
          {running > 0 ? `${running} running` : ""}
        </span>
      </div>
      {problem && !missing && <Problem text={problem} />}
      {missing ? (
        <Blank icon="activity" title="Not available">
          <p>This server keeps no list of what is done.</p>
        </Blank>
      ) : entries === undefined ? (
        problem ? null : <Loading />
      ) : entries.length === 0 ? (
        <Blank icon="activity" title="Nothing yet">
          <p>Commands, file changes, page actions and code appear here as they happen.</p>
        </Blank>
      ) : (
        <ol class="activity" tabindex={0} aria-label="Activity, newest first">
          {entries.map((entry) => (
            <Line key={entry.id} entry={entry} />
          ))}
        </ol>
      )}
    </div>
  );
}

function Line({ entry }: { entry: Entry }): JSX.Element {
  const outcome = { running: "running", ok: "done", failed: "failed" }[entry.outcome];
  return (
    <li data-outcome={entry.outcome} data-operation={entry.operation}>
      <span class={`dot ${entry.outcome}`} role="img" aria-label={outcome} title={entry.error_code ?? outcome} />
      <span class="what">
        <span class="group" title={entry.operation}>
          {GROUPS[entry.group] ?? entry.group}
        </span>
        <code class="summary" title={entry.summary}>
          {entry.summary || entry.operation.replace(/^[a-z]+_/, "").replaceAll("_", " ")}
        </code>
      </span>
      <span class="meta">
        {entry.error_code && <span class="error">{entry.error_code}</span>}
        {entry.via === "mcp" && <span class="tag">MCP</span>}
        {entry.subject && <span class="tag">{entry.subject}</span>}
        <time dateTime={entry.started_at}>{moment(entry.started_at)}</time>
        <span class="took">
          {entry.duration_ms === null ? <Since start={entry.started_at} /> : duration(entry.duration_ms)}
        </span>
      </span>
    </li>
  );
}

/** Counts up while something runs. */
function Since({ start }: { start: string }): JSX.Element {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  return <>{duration(now - Date.parse(start))}</>;
}

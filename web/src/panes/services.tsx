// The programs of the sandbox and of its user: how they are, and starting and stopping them.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call, reason } from "../api";
import { command, type Service, type ServiceState, serviceFeed } from "../state";
import { Blank, IconButton, Loading, moment, Problem } from "../ui";

export const STATES: Record<ServiceState, string> = {
  off: "Off",
  starting: "Starting",
  running: "Running",
  stopping: "Stopping",
  failed: "Failed",
  backoff: "Waiting to start again",
  missing: "Not installed",
  disabled: "Switched off",
};

export function ServicesPane(): JSX.Element {
  const { value, problem, missing } = serviceFeed.state.value;
  if (missing) {
    return (
      <Blank icon="services" title="Not available">
        <p>This server does not list services.</p>
      </Blank>
    );
  }
  return (
    <div class="list-pane">
      {problem && <Problem text={problem} onRetry={() => void serviceFeed.refresh()} />}
      {value?.problems?.map(({ file, line, message }) => (
        <Problem key={`${file}:${line}`} text={`${file}${line ? `:${line}` : ""}: ${message}`} />
      ))}
      {value === undefined ? (
        problem ? null : <Loading />
      ) : value.services.length === 0 ? (
        <Blank icon="services" title="No services" />
      ) : (
        <ul class="rows">
          {value.services.map((service) => (
            <Line key={service.name} service={service} />
          ))}
        </ul>
      )}
    </div>
  );
}

function Line({ service }: { service: Service }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [log, setLog] = useState<string>();
  const act = async (verb: "start" | "stop" | "restart") => {
    setBusy(true);
    setProblem(undefined);
    try {
      await command(service.name, verb);
    } catch (error) {
      setProblem(reason(error));
    }
    setBusy(false);
  };
  const read = async () => {
    if (log !== undefined) return setLog(undefined);
    try {
      const path = `v1/services/${encodeURIComponent(service.name)}/logs?lines=200`;
      setLog((await call<{ output: string }>(path)).output);
    } catch (error) {
      setProblem(reason(error));
    }
  };
  const facts = [
    STATES[service.state],
    service.state === "running" && service.since ? `since ${moment(service.since)}` : "",
    service.restarts > 0 ? `${service.restarts} restarts` : "",
  ];
  return (
    <li class="wrap" data-service={service.name} data-state={service.state}>
      <span class={`dot ${service.state}`} aria-hidden="true" />
      <span class="grow">
        <strong>{service.title || service.name}</strong>
        <span class="quiet">{facts.filter(Boolean).join(" · ")}</span>
        {service.detail && <span class="quiet detail">{service.detail}</span>}
      </span>
      <span class="actions">
        {service.kind === "user" && <IconButton icon="log" label={`Log of ${service.title}`} onClick={() => void read()} />}
        {service.can_start && (
          <IconButton icon="play" label={`Start ${service.title}`} disabled={busy} onClick={() => void act("start")} />
        )}
        {service.can_stop && (
          <>
            <IconButton icon="refresh" label={`Restart ${service.title}`} disabled={busy} onClick={() => void act("restart")} />
            <IconButton icon="stop" label={`Stop ${service.title}`} disabled={busy} onClick={() => void act("stop")} />
          </>
        )}
      </span>
      {problem && <Problem text={problem} />}
      {log !== undefined && (
        <pre class="log" tabindex={0}>
          {log || "Nothing was logged."}
        </pre>
      )}
    </li>
  );
}

// The ports something listens on, and the way to what answers there.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { address } from "../api";
import { Icon } from "../icons";
import { portFeed } from "../state";
import { Blank, Loading, Problem } from "../ui";

export function PortsPane(): JSX.Element {
  useEffect(() => portFeed.follow(), []);
  const { value, problem, missing } = portFeed.state.value;
  const open = value?.filter((port) => !port.internal);
  return (
    <div class="list-pane">
      {problem && !missing && <Problem text={problem} />}
      {missing ? (
        <Blank icon="ports" title="Not available">
          <p>This server does not list ports.</p>
        </Blank>
      ) : open === undefined ? (
        problem ? null : <Loading />
      ) : open.length === 0 ? (
        <Blank icon="ports" title="Nothing listens">
          <p>Start a server in the sandbox, for example</p>
          <code class="sample">python3 -m http.server 5173</code>
          <p>and its port appears here with a link to it.</p>
        </Blank>
      ) : (
        <ul class="rows">
          {open.map((port) => (
            <li key={`${port.address}:${port.port}`}>
              <span class="dot running" aria-hidden="true" />
              <span class="grow">
                <strong class="number">{port.port}</strong>
                <span class="quiet">
                  {port.process ?? "unknown program"}
                  {port.pid ? ` · ${port.pid}` : ""} · {port.address}
                </span>
              </span>
              <a class="button small" href={address(`proxy/${port.port}/`)} target="_blank" rel="noreferrer">
                <Icon name="open" /> Open
              </a>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

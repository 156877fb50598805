// Files: browse, preview, edit, send and fetch.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { address } from "../../api";
import { askName, choose, confirm } from "../../dialogs";
import { Icon } from "../../icons";
import { workspace } from "../../state";
import { Blank, IconButton, Loading, moment, Problem, size } from "../../ui";
import * as model from "./model";
import { Preview } from "./preview";

export function FilesPane(): JSX.Element {
  const [over, setOver] = useState(false);
  const { directory, items, selected } = model;
  useEffect(() => {
    if (workspace.value && items.value === undefined) void model.list();
  }, [workspace.value]);
  useEffect(() => {
    const look = () => {
      if (!document.hidden) void model.list();
    };
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);

  const here = directory.value;
  return (
    // Dropping is an extra for those with a mouse: the button sends files too.
    <div
      class={`files ${over ? "over" : ""} ${selected.value ? "open" : ""}`}
      onPointerEnter={model.glance}
      onDragOver={(event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const files = event.dataTransfer?.files;
        if (files && here) void model.send(files, here);
      }}
    >
      <section class="browse" aria-label="Directory">
        <Tools />
        {model.problem.value && <Problem text={model.problem.value} onRetry={() => void model.list()} />}
        <Transfers />
        {items.value === undefined ? <Loading /> : items.value.length === 0 ? <Empty /> : <Table list={items.value} />}
        {over && <div class="drop">Drop to send to {here}</div>}
      </section>
      {selected.value && <Preview key={selected.value.path} item={selected.value} />}
    </div>
  );
}

function Empty(): JSX.Element {
  return (
    <Blank icon="folder" title="Nothing here">
      <p>Drop files here to send them.</p>
    </Blank>
  );
}

function Tools(): JSX.Element {
  const here = model.directory.value;
  const picker = useRef<HTMLInputElement>(null);
  const newFolder = async () => {
    const name = here && (await askName("New folder", "", "Create"));
    if (name) await model.makeFolder(model.join(here, name));
  };
  return (
    <div class="pane-tools">
      <IconButton
        icon="up"
        label="Up"
        disabled={!here || here === "/"}
        onClick={() => here && void model.list(model.parent(here))}
      />
      <Crumbs path={here} />
      <IconButton icon="refresh" label="Look again" onClick={() => void model.list()} />
      <IconButton icon="plus" label="New folder" disabled={!here} onClick={() => void newFolder()} />
      <IconButton icon="upload" label="Send files" disabled={!here} onClick={() => picker.current?.click()} />
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label="Files to send"
        onChange={(event) => {
          const { files } = event.currentTarget;
          if (files && here) void model.send(files, here);
          event.currentTarget.value = "";
        }}
      />
    </div>
  );
}

function Crumbs({ path }: { path: string | undefined }): JSX.Element {
  const names = (path ?? "").split("/").filter(Boolean);
  const last = useRef<HTMLElement>(null);
  useEffect(() => {
    last.current?.scrollTo({ left: last.current.scrollWidth });
  }, [path]);
  return (
    <nav class="crumbs" aria-label="Path" ref={last} tabindex={-1}>
      <button type="button" onClick={() => void model.list("/")}>
        /
      </button>
      {names.map((name, position) => {
        const to = `/${names.slice(0, position + 1).join("/")}`;
        return (
          <button key={to} type="button" aria-current={to === path ? "location" : undefined} onClick={() => void model.list(to)}>
            {name}
          </button>
        );
      })}
    </nav>
  );
}

function Transfers(): JSX.Element | null {
  if (model.transfers.value.length === 0) return null;
  return (
    <ul class="transfers">
      {model.transfers.value.map((one) => (
        <li key={one.id}>
          <span class="name">{one.name}</span>
          {one.problem ? (
            <>
              <span class="error">{one.problem}</span>
              <IconButton icon="close" label="Dismiss" onClick={() => model.dismiss(one.id)} />
            </>
          ) : (
            <progress value={one.part} max={1} aria-label={`Sending ${one.name}`} />
          )}
        </li>
      ))}
    </ul>
  );
}

async function open(item: model.Item): Promise<void> {
  if (!(await leave())) return;
  if (item.is_directory) await model.list(item.path);
  else model.selected.value = item;
}

/** Whether what is open may be left: changes that are not saved are asked about. */
export async function leave(): Promise<boolean> {
  if (!model.dirty.value) return true;
  const chosen = await choose("Leave without saving?", "Your changes to this file are not saved.", [
    { label: "Leave", value: "leave", tone: "danger" },
  ]);
  if (chosen === "leave") model.dirty.value = false;
  return chosen === "leave";
}

async function rename(item: model.Item): Promise<void> {
  const name = await askName(`Rename ${item.name}`, item.name, "Rename");
  if (name && name !== item.name) await model.move(item.path, model.join(model.parent(item.path), name));
}

async function remove(item: model.Item): Promise<void> {
  const what = item.is_directory ? "The folder with everything in it is deleted." : "The file is deleted.";
  if (!(await confirm(`Delete ${item.name}?`, `${what} This cannot be undone.`, "Delete"))) return;
  if (model.selected.value?.path === item.path) {
    model.dirty.value = false;
    model.selected.value = undefined;
  }
  await model.remove(item);
}

function Table({ list }: { list: model.Item[] }): JSX.Element {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" class="size">
              Size
            </th>
            <th scope="col" class="time">
              Changed
            </th>
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {list.map((item) => (
            <tr key={item.path} aria-selected={model.selected.value?.path === item.path}>
              <td>
                <button type="button" class="entry" onClick={() => void open(item)} title={item.name}>
                  <Icon name={item.is_directory ? "folder" : "file"} class={item.is_directory ? "accent" : ""} />
                  <span>{item.name}</span>
                </button>
              </td>
              <td class="size">{item.is_directory ? "" : size(item.size)}</td>
              <td class="time">{moment(item.modified_time)}</td>
              <td class="actions">
                <a
                  class="icon-button"
                  href={address(item.is_directory ? "v1/file/archive" : "v1/file/download", { path: item.path })}
                  download={item.is_directory ? `${item.name}.tar.gz` : item.name}
                  aria-label={`Download ${item.name}`}
                  title="Download"
                >
                  <Icon name="download" />
                </a>
                <IconButton icon="pen" label={`Rename ${item.name}`} onClick={() => void rename(item)} />
                <IconButton icon="trash" label={`Delete ${item.name}`} onClick={() => void remove(item)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {model.truncated.value && <p class="quiet note">There is more than can be listed.</p>}
    </div>
  );
}

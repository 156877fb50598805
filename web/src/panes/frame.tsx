// Another page of this server inside a pane. A calm cover lies over it until it has loaded.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Loading } from "../ui";

export function Frame({ title, src }: { title: string; src: string }): JSX.Element {
  const [loaded, setLoaded] = useState(false);
  return (
    <div class="frame">
      <iframe
        title={title}
        src={src}
        allow="clipboard-read; clipboard-write; fullscreen"
        onLoad={() => setLoaded(true)}
      />
      {!loaded && <Loading />}
    </div>
  );
}

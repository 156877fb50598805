// Icons, drawn on a grid of 24 with one stroke.
import type { JSX } from "preact";

const SHAPES = {
  terminal: "M5 7l5 5-5 5M12 17h7",
  browser: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18",
  code: "M9 8l-4 4 4 4M15 8l4 4-4 4",
  jupyter: "M5 4h10l4 4v12H5zM9 12h6M9 16h6M9 8h2",
  files: "M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2z",
  activity: "M3 12h4l3-8 4 16 3-8h4",
  ports: "M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4",
  services: "M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01",
  connect: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  docs: "M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M2 12h2M20 12h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4",
  moon: "M20 14.5A8 8 0 0 1 9.5 4a8 8 0 1 0 10.500 10.500z",
  maximise: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  restore: "M9 4v5H4M15 4v5h5M9 20v-5H4M15 20v-5h5",
  close: "M6 6l12 12M18 6L6 18",
  right: "M4 4h16v16H4zM12 4v16",
  down: "M4 4h16v16H4zM4 12h16",
  single: "M4 4h16v16H4z",
  main: "M4 4h16v16H4zM13 4v16M13 12h7",
  grid: "M4 4h16v16H4zM12 4v16M4 12h16",
  refresh: "M20 11a8 8 0 1 0-2.300 6.500M20 5v6h-6",
  open: "M14 4h6v6M20 4l-9 9M18 14v5H5V6h5",
  up: "M12 19V5M6 11l6-6 6 6",
  folder: "M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2z",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  plus: "M12 5v14M5 12h14",
  upload: "M12 16V4M7 9l5-5 5 5M4 20h16",
  download: "M12 4v12M7 11l5 5 5-5M4 20h16",
  pen: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M5 12l5 5 9-10",
  warning: "M12 4l9 16H3zM12 10v4M12 17h.01",
  play: "M7 5l12 7-12 7z",
  stop: "M7 7h10v10H7z",
  swap: "M4 8h14M14 4l4 4-4 4M20 16H6M10 12l-4 4 4 4",
  log: "M5 5h14M5 10h14M5 15h9M5 20h6",
} as const;

export type IconName = keyof typeof SHAPES;

export function Icon({ name, class: extra }: { name: IconName; class?: string }): JSX.Element {
  return (
    <svg class={`icon ${extra ?? ""}`} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={SHAPES[name]} />
    </svg>
  );
}

// Two pages, the dashboard and the terminal. Every address is relative, so that they work below any path; what is not a
// page lies in ui/ under a name that holds its hash.
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  publicDir: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "dist/app",
    assetsDir: "ui",
    // Pictures would else become data addresses, which are larger and cannot be cached.
    assetsInlineLimit: 0,
    target: "es2022",
    modulePreload: { polyfill: false },
    rollupOptions: { input: ["index.html", "terminal.html"] },
  },
});

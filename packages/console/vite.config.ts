import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The console is a static site: nothing inline and nothing from another host, so that its policy can be strict. */
export default defineConfig({
  root: fileURLToPath(new URL("app", import.meta.url)),
  plugins: [react()],
  resolve: {
    alias: [{ find: /^zod$/, replacement: fileURLToPath(new URL("app/zod.ts", import.meta.url)) }],
  },
  build: {
    outDir: fileURLToPath(new URL("site", import.meta.url)),
    emptyOutDir: true,
    target: "es2024",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});

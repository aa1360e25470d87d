import { writeFileSync } from "node:fs";
import { entryPoint } from "./entry-point.ts";
import { startEnvironment } from "./environment.ts";

/** A host that only starts two environments, one idle and one with a blocked loop, to be killed by a test. */
const [handlers = "", idleMark = "", busyMark = ""] = process.argv.slice(2);
const log = { line: () => undefined, follow: () => undefined, close: () => Promise.resolve() };
const [idle, busy] = ["idle", "busy"].map((worker) =>
  startEnvironment({
    worker,
    entry: entryPoint("function"),
    args: [handlers, "createWorker", "/c"],
    env: process.env,
    log,
    timeoutMs: 60_000,
    initTimeoutMs: 20_000,
  }),
);
await Promise.all([idle?.ready, busy?.ready]);
writeFileSync(idleMark, String(idle?.pid));
void busy?.invoke(`block ${busyMark}`);
process.send?.({ type: "ready" });

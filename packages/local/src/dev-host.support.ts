import { runDev } from "./dev.ts";
import { fakeParts } from "./fake-parts.support.ts";

/** `ghouls dev` with fake parts, to be killed by a test. */
const print = (line: string): void => void process.stdout.write(`${line}\n`);
process.exitCode = await runDev(
  { config: "/some/ghouls.config.ts", dataDir: process.argv[2] ?? "", port: 0, once: false },
  {
    env: process.env,
    nodeVersion: process.versions.node,
    out: print,
    err: print,
    parts: () => Promise.resolve(fakeParts().parts),
    signals: process,
    exit: (code) => process.exit(code),
    monotonicMs: () => performance.now(),
    parentPid: () => process.ppid,
  },
);

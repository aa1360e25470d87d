import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { buildFunctions, type BuiltFunction } from "@ghouls/functions";
import { grid } from "./table.ts";

/**
 * `npm run size`: bytes and init time of each function, with the smallest configuration that there is, held against a
 * budget. Exit code 1 where one is over it.
 */

/**
 * What a function may weigh, and what loading it may take in a fresh process: kB, kB gzipped, ms (median of its runs). The
 * time is that of a machine on which the yardstick takes {@link YARDSTICK_MS}: on a slower or busier one it takes as much longer.
 */
const BUDGET: Readonly<Record<string, { readonly kB: number; readonly gz: number; readonly ms: number }>> = {
  admission: { kB: 2_560, gz: 615, ms: 300 },
  api: { kB: 2_560, gz: 615, ms: 300 },
  events: { kB: 2_560, gz: 615, ms: 300 },
  // With S3, for releases.
  worker: { kB: 2_360, gz: 605, ms: 200 },
  reconciler: { kB: 2_080, gz: 540, ms: 200 },
  migrate: { kB: 2_080, gz: 540, ms: 200 },
  preflight: { kB: 2_360, gz: 605, ms: 200 },
  egress: { kB: 200, gz: 50, ms: 150 },
};
const RUNS = 7;

/** Weight and init time of a function as it is deployed. */
export interface Measured {
  readonly entry: string;
  readonly kB: number;
  readonly gz: number;
  /** Milliseconds from the start of the import to its end. */
  readonly ms: number;
}

export async function measureAll(runs = RUNS): Promise<Measured[]> {
  const out = mkdtempSync(join(tmpdir(), "ghouls-size-"));
  try {
    const config = fileURLToPath(new URL("ghouls.config.ts", import.meta.url));
    const { functions } = await buildFunctions({ config, out });
    return functions.map((one) => measure(one, runs));
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

function measure({ entry, folder, bytes }: BuiltFunction, runs: number): Measured {
  const gz = readdirSync(folder).map((file) => gzipSync(readFileSync(join(folder, file))).byteLength);
  const times = Array.from({ length: runs }, () => initMs(join(folder, "index.mjs")));
  return {
    entry,
    kB: Math.ceil(bytes / 1_000),
    gz: Math.ceil(gz.reduce((total, size) => total + size, 0) / 1_000),
    ms: Math.round(times.toSorted((a, b) => a - b)[Math.floor(runs / 2)] ?? Infinity),
  };
}

/** What the yardstick takes on the machine that the budgets were measured on, in milliseconds. */
const YARDSTICK_MS = 16;

/** A fixed amount of work, before and after: what else the machine does counts in both. */
const YARDSTICK = `
const yardstick = () => {
  const began = performance.now();
  let sum = 0;
  for (let n = 0; n < 4e6; n += 1) sum = (sum + n * 7) % 1_000_003;
  if (sum < 0) throw new Error("never");
  return performance.now() - began;
};`;

/** In a process of its own, as an execution environment begins; as long as it would take on the budgets' machine. */
function initMs(file: string): number {
  const code = `${YARDSTICK}
const before = yardstick();
const began = performance.now();
await import(${JSON.stringify(pathToFileURL(file).href)});
const took = performance.now() - began;
console.log(took * Math.min(1, ${YARDSTICK_MS} / ((before + yardstick()) / 2)));`;
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${file} cannot be loaded:\n${stderr}`);
  return Number(stdout);
}

/** What is over the budget, in words. */
export function overBudget(measured: readonly Measured[]): string[] {
  return measured.flatMap(({ entry, ...figures }) => {
    const budget = BUDGET[entry];
    if (budget === undefined) return [`${entry} has no budget`];
    return (["kB", "gz", "ms"] as const)
      .filter((unit) => figures[unit] > budget[unit])
      .map((unit) => `${entry}: ${figures[unit]} ${unit}, and its budget is ${budget[unit]}`);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const measured = await measureAll();
  const rows = measured.map(({ entry, kB, gz, ms }) => {
    const budget = BUDGET[entry];
    return [entry, `${kB} / ${budget?.kB}`, `${gz} / ${budget?.gz}`, `${ms} / ${budget?.ms}`];
  });
  process.stdout.write(
    `${grid([["function", "kB / budget", "gzipped kB", "init ms"], ...rows]).join("\n")}\n`,
  );
  const over = overBudget(measured);
  process.stderr.write(over.map((line) => `over budget: ${line}\n`).join(""));
  process.exitCode = over.length === 0 ? 0 : 1;
}

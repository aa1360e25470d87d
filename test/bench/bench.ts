import { cpus, loadavg } from "node:os";
import { describeFailure } from "@ghouls/core";
import { createOwner } from "../../packages/local/src/owner.ts";
import { watchParent } from "../../packages/local/src/parent.ts";
import { countEndings, type Endings } from "./endings.ts";
import { measureEnded } from "./ended.ts";
import { grow } from "./growth.ts";
import { HELP, readOptions, type Options } from "./options.ts";
import { measureHops } from "./hop-cost.ts";
import { measureLateness } from "./lateness.ts";
import { measureParked } from "./parked.ts";
import { startParts, type Parts } from "./parts.ts";
import { alone, latency, round, warmUp, type Bench, type Round, type Sizes } from "./phases.ts";
import { growthOf, summarise, type Machine, type Report } from "./report.ts";
import { table } from "./table.ts";

/** `npm run bench`: see --help. */

async function stage(bench: Bench, sizes: Sizes, rounds: number, say: (text: string) => void) {
  const done: Round[] = [];
  for (let at = 1; at <= rounds; at += 1) {
    const one = await round(bench, sizes);
    const ratio = one.zeroStep.perSecond / one.floor.perSecond;
    say(
      `round ${at}: floor ${one.floor.perSecond.toFixed(0)}, zero-step ${one.zeroStep.perSecond.toFixed(0)} (${ratio.toFixed(2)} of it), ten-step ${one.tenStep.perSecond.toFixed(0)}, admissions ${one.admissions.perSecond.toFixed(0)} a second`,
    );
    done.push(one);
  }
  const measured = await latency(bench);
  say(`latency: p50 ${measured.p50Ms} ms, p99 ${measured.p99Ms} ms`);
  return { rounds: done, summary: summarise(done), latency: measured };
}

async function machineOf({ watcher }: Parts): Promise<Machine> {
  const setting = async (name: string): Promise<string> => {
    const { rows } = await watcher.query<{ value: string }>("select current_setting($1) as value", [name]);
    return rows[0]?.value ?? "";
  };
  return {
    cpu: cpus()[0]?.model.trim() ?? "",
    cpus: cpus().length,
    node: process.versions.node,
    postgres: await setting("server_version"),
    fsync: await setting("fsync"),
    synchronousCommit: await setting("synchronous_commit"),
    loadBefore: loadavg()[0] ?? Number.NaN,
  };
}

async function measure(
  options: Options,
  parts: Parts,
  endings: Endings,
  say: (text: string) => void,
): Promise<Report> {
  const started = performance.now();
  const machine = await machineOf(parts);
  const bench = { options, parts, endings };
  say("warming up");
  const sizes = await warmUp(bench);
  say("counting the statements of single runs");
  const counted = { zeroStep: await alone(bench, "zero-step"), tenStep: await alone(bench, "ten-step") };
  const before = await stage(bench, sizes, options.rounds, say);
  say(`setting ${options.timers} timers`);
  const lateness = await measureLateness(bench);
  say(`writing journals of ${options.entries} entries`);
  const hops = await measureHops(bench);
  say(`adding ${options.finished} finished and ${options.waiting} waiting runs`);
  await grow(parts, options.finished, options.waiting);
  const after = await stage(bench, sizes, options.grownRounds, say);
  say(`parking ${options.parked} runs`);
  const parked = await measureParked(parts, options.parked);
  say(`adding ${options.ended} ended runs`);
  const ended = await measureEnded(parts, options.ended);
  return {
    machine,
    options,
    connections: parts.connections,
    alone: counted,
    before,
    after,
    growth: growthOf(before, after),
    lateness,
    hops,
    parked,
    ended,
    seconds: (performance.now() - started) / 1_000,
  };
}

/** Resolves, with the reason, when this process is told to end, or has lost the npm that started it. */
function untilTold(): Promise<string> {
  return new Promise((resolve) => {
    watchParent(
      () => process.ppid,
      () => resolve("ended with its parent"),
    );
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
      process.on(signal, () => resolve(`ended by ${signal}`));
  });
}

/** Answers why it was ended early, where it was. */
async function run(options: Options): Promise<string | undefined> {
  const say = (text: string): void => {
    if (!options.json) process.stderr.write(`${text}\n`);
  };
  const endings = countEndings();
  const owner = createOwner();
  const told = untilTold();
  say("starting the parts");
  const starting = startParts(options, owner, (line) => endings.onLine(line));
  try {
    const working = starting.then((parts) => measure(options, parts, endings, say));
    working.catch(() => undefined);
    const report = await Promise.race([working, told]);
    if (typeof report === "string") return report;
    process.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : `\n${table(report)}\n`);
    return undefined;
  } catch (error) {
    for (const line of endings.tail()) process.stderr.write(`${line.slice(0, 500)}\n`);
    throw error;
  } finally {
    // A part that is just starting has an owner only when it has started.
    await Promise.allSettled([starting]);
    await owner.end();
  }
}

async function main(): Promise<number> {
  let options: Options | "help";
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${describeFailure(error).message}\n`);
    return 2;
  }
  if (options === "help") {
    process.stdout.write(HELP);
    return 0;
  }
  try {
    const early = await run(options);
    if (early === undefined) return 0;
    process.stderr.write(`${early}\n`);
    return 130;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    return 1;
  }
}

process.exit(await main());

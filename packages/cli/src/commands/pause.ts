import { randomUUID } from "node:crypto";
import type { PauseTarget, wire } from "@ghouls/core";
import type { Command } from "commander";
import { act, type Context } from "../command.ts";
import { connect } from "../dev-file.ts";
import { EXIT } from "../failure.ts";
import type { Io } from "../io.ts";
import { held, heldBy, inDatabase, meant, whose, withTarget, type PauseOptions } from "../pause-target.ts";
import { jsonText } from "../printable.ts";

/** `ghouls pause`: no worker takes up what is paused. */
export function addPause(program: Command, context: Context): void {
  const command = withTarget(program.command("pause")).description(
    "pause a run, a workflow, a tenant or everything: no worker takes it up, and whoever carries it lets go of it between " +
      "two steps; timers, expiries and deadlines go on",
  );
  const options = () => command.opts<PauseOptions>();
  command.action(
    act(context, options, (id: string | undefined) => {
      const what = meant(id, options());
      return typeof what === "string"
        ? pauseRun(context.io, what, options())
        : pause(context.io, what, options());
    }),
  );
}

/** `ghouls unpause`: what was paused goes on. */
export function addUnpause(program: Command, context: Context): void {
  const command = withTarget(program.command("unpause")).description(
    "end a pause: what it held goes on; exit code 1 where there is none",
  );
  const options = () => command.opts<PauseOptions>();
  command.action(
    act(context, options, (id: string | undefined) => {
      const what = meant(id, options());
      return typeof what === "string"
        ? unpauseRun(context.io, what, options())
        : lift(context.io, what, options());
    }),
  );
}

async function pauseRun(io: Io, id: string, options: PauseOptions): Promise<number> {
  const client = await connect(io, options, "operator");
  const answer = await client.pause(id, options.reason);
  const own = answer.pauses.find(({ scope }) => scope === "run");
  if (options.json === true) io.out(`${jsonText(answer)}\n`);
  else if (answer.paused) io.out(`paused: the run is ${answer.status}\n`);
  else
    io.out(
      own === undefined
        ? `not paused: the run is ${answer.status}, and no pause holds an ending\n`
        : `paused before, ${whose(own)}\n`,
    );
  return answer.paused || own !== undefined ? EXIT.ok : EXIT.failed;
}

async function unpauseRun(io: Io, id: string, options: PauseOptions): Promise<number> {
  const client = await connect(io, options, "operator");
  const answer = await client.unpause(id, options.reason);
  if (options.json === true) io.out(`${jsonText(answer)}\n`);
  else {
    io.out(answer.unpaused ? `unpaused: the run is ${answer.status}\n` : "the run itself is not paused\n");
    for (const pause of answer.pauses) io.err(`It is held still: ${heldBy(pause)}\n`);
  }
  return answer.unpaused ? EXIT.ok : EXIT.failed;
}

async function pause(io: Io, target: PauseTarget, options: PauseOptions): Promise<number> {
  const { reason } = options;
  const answer =
    options.databaseUrl === undefined
      ? await (await connect(io, options, "operator")).setPause(requestOf(target, reason))
      : await inDatabase(io, options, ({ pauses }) =>
          pauses.set({ ...target, pauseId: randomUUID(), actor: options.by ?? null, reason }),
        );
  if (options.json === true) io.out(`${jsonText(answer)}\n`);
  else if (answer.created) io.out(`paused: ${held(answer.pause)}\n`);
  else io.out(`paused before, ${whose(answer.pause)}\n`);
  return EXIT.ok;
}

function requestOf({ scope, workflow }: PauseTarget, reason: string): wire.PauseRequest {
  return scope === "workflow" ? { scope, workflow: workflow ?? "", reason } : { scope, reason };
}

async function lift(io: Io, target: PauseTarget, options: PauseOptions): Promise<number> {
  const answer =
    options.databaseUrl === undefined
      ? await liftByApi(io, target, options)
      : await inDatabase(io, options, async ({ pauses }) => {
          const found = await pauses.find(target);
          const by = { actor: options.by ?? null, reason: options.reason };
          return found === null ? undefined : ((await pauses.lift(found.pauseId, by)) ?? undefined);
        });
  if (options.json === true) io.out(`${jsonText(answer ?? { lifted: false })}\n`);
  else if (answer?.lifted !== true) io.out("nothing is paused by that name: `ghouls pauses` lists what is\n");
  else {
    io.out(`unpaused: ${held(answer.pause)}\n`);
    if (options.databaseUrl !== undefined)
      io.err(
        "The reconciler of a deployment that sleeps sees it within the hour; by the API it is told at once.\n",
      );
  }
  return answer?.lifted === true ? EXIT.ok : EXIT.failed;
}

async function liftByApi(
  io: Io,
  { scope, workflow }: PauseTarget,
  options: PauseOptions,
): Promise<wire.PauseLifted | undefined> {
  const client = await connect(io, options, "operator");
  // Its own tenant's before that of every tenant, which has the same name.
  const found = (await client.listPauses()).pauses
    .filter((one) => one.scope === scope && one.workflow === workflow)
    .toSorted((a, b) => Number(a.tenantId === null) - Number(b.tenantId === null))[0];
  return found === undefined ? undefined : client.liftPause(found.pauseId, options.reason);
}

import type { Command } from "commander";
import { act, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, type ConnectionOptions } from "../dev-file.ts";
import { EXIT } from "../failure.ts";
import { jsonText, printable } from "../printable.ts";

type RedriveOptions = CommonOptions & ConnectionOptions & { readonly reason: string };

/** `ghouls redrive`: a new run that goes on from the last good step of an ended one. */
export function addRedrive(program: Command, context: Context): void {
  const command = withApi(program.command("redrive"))
    .description(
      "make a new run of one that is FAILED or CANCELLED, which goes on from its last good step; prints its id",
    )
    .argument("<id>", "run id")
    .option("--reason <text>", "why; it is kept in the audit", "by ghouls redrive");
  const options = () => command.opts<RedriveOptions>();
  command.action(
    act(context, options, async (id: string) => {
      const client = await connect(context.io, options(), "operator");
      const answer = await client.redrive(id, options().reason);
      const { runId, created, status, kept, from } = answer;
      if (options().json === true) context.io.out(`${jsonText(answer)}\n`);
      else {
        context.io.out(`${runId}\n`);
        const before = `redriven before: it is ${status}`;
        const end = kept === 0 ? "begins anew" : "goes on at its end";
        const where = from === null ? end : `goes on with ${from.kind} "${printable(from.name)}"`;
        const calls = kept === 1 ? "1 finished call" : `${kept} finished calls`;
        context.io.err(`${created ? `keeps ${calls}, and ${where}` : before}\n`);
      }
      return EXIT.ok;
    }),
  );
}

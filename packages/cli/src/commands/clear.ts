import type { Command } from "commander";
import { act, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, type ConnectionOptions } from "../dev-file.ts";
import { EXIT } from "../failure.ts";
import { jsonText } from "../printable.ts";

type ClearOptions = CommonOptions & ConnectionOptions & { readonly reason: string };

/** `ghouls clear`: ends a quarantine, or has an ending try again. */
export function addClear(program: Command, context: Context): void {
  const command = withApi(program.command("clear"))
    .description(
      "end a run's quarantine, so that what arrived meanwhile brings it back, or have the probes and undos of its ending tried again; exit code 1 where there is neither",
    )
    .argument("<id>", "run id")
    .requiredOption("--reason <text>", "why it may go on; it is kept in the audit");
  const options = () => command.opts<ClearOptions>();
  command.action(
    act(context, options, async (id: string) => {
      const client = await connect(context.io, options(), "operator");
      const answer = await client.clear(id, options().reason);
      if (options().json === true) context.io.out(`${jsonText(answer)}\n`);
      else
        context.io.out(
          answer.cleared
            ? `cleared: the run is ${answer.status}\n`
            : "the run is not quarantined, and nothing of its ending was tried in vain\n",
        );
      return answer.cleared ? EXIT.ok : EXIT.failed;
    }),
  );
}

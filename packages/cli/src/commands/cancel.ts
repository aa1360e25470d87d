import type { Command } from "commander";
import { act, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, type ConnectionOptions } from "../dev-file.ts";
import { EXIT } from "../failure.ts";
import { jsonText } from "../printable.ts";

type CancelOptions = CommonOptions & ConnectionOptions & { readonly reason: string };

/** `ghouls cancel`: asks a run to end. */
export function addCancel(program: Command, context: Context): void {
  const command = withApi(program.command("cancel"))
    .description(
      "cancel a run: CANCELLED once nothing of it can still act; exit code 1 where it was decided before",
    )
    .argument("<id>", "run id")
    .requiredOption("--reason <text>", "why; it is kept with the run");
  const options = () => command.opts<CancelOptions>();
  command.action(
    act(context, options, async (id: string) => {
      const client = await connect(context.io, options(), "operator");
      const answer = await client.cancel(id, options().reason);
      if (options().json === true) context.io.out(`${jsonText(answer)}\n`);
      else context.io.out(answer.cancelled ? `${answer.status}\n` : `decided before: ${answer.status}\n`);
      return answer.cancelled ? EXIT.ok : EXIT.failed;
    }),
  );
}

import type { Command } from "commander";
import { act, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, type ConnectionOptions } from "../dev-file.ts";
import { EXIT } from "../failure.ts";
import { jsonText, printable } from "../printable.ts";

type ResolveOptions = CommonOptions & ConnectionOptions & { readonly reason: string };

/** `ghouls resolve`: an operator's audited word about something that nobody else can prove. */
export function addResolve(program: Command, context: Context): void {
  const command = withApi(program.command("resolve"))
    .description("settle a containment item by your word; `ghouls show` lists the items of a run")
    .argument("<id>", "run id")
    .argument("<item>", "item id, such as worker-1")
    .requiredOption("--reason <text>", "how you know; it is kept in the audit");
  const options = () => command.opts<ResolveOptions>();
  command.action(
    act(context, options, async (id: string, item: string) => {
      const client = await connect(context.io, options(), "operator");
      const answer = await client.resolveItem(id, item, options().reason);
      if (options().json === true) context.io.out(`${jsonText(answer)}\n`);
      else
        context.io.out(
          `${printable(item)} is settled; ${answer.openItems} left; the run is ${answer.status}\n`,
        );
      return EXIT.ok;
    }),
  );
}

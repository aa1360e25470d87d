import type { Command } from "commander";
import { act, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, type ConnectionOptions } from "../dev-file.ts";
import { EXIT } from "../failure.ts";
import { jsonText } from "../printable.ts";

/** `ghouls release`: lets a run go that was submitted with --held. */
export function addRelease(program: Command, context: Context): void {
  const command = withApi(program.command("release"))
    .description("let a run go that was submitted with --held")
    .argument("<id>", "run id");
  const options = () => command.opts<CommonOptions & ConnectionOptions>();
  command.action(
    act(context, options, async (id: string) => {
      const client = await connect(context.io, options(), "submitter");
      const answer = await client.release(id);
      if (options().json === true) context.io.out(`${jsonText(answer)}\n`);
      else context.io.out(answer.released ? "released\n" : "it had been released before\n");
      return EXIT.ok;
    }),
  );
}

import type { Command } from "commander";
import { act, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, type ConnectionOptions } from "../dev-file.ts";
import { follow } from "../follow.ts";

/** `ghouls watch`: follows a run to its end. */
export function addWatch(program: Command, context: Context): void {
  const command = withApi(program.command("watch"))
    .description("follow a run to its end; exit code 0 only if DONE")
    .argument("<id>", "run id");
  const options = () => command.opts<CommonOptions & ConnectionOptions>();
  command.action(
    act(context, options, async (id: string) =>
      follow(context.io, await connect(context.io, options(), "operator"), id, options().json === true),
    ),
  );
}

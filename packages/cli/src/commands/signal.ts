import type { Command } from "commander";
import { act, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, type ConnectionOptions } from "../dev-file.ts";
import { EXIT } from "../failure.ts";
import { jsonText } from "../printable.ts";
import { jsonOf } from "./submit.ts";

type SignalOptions = CommonOptions & ConnectionOptions & { readonly payload?: string; readonly key?: string };

/** `ghouls signal`: tells a run something that it waits for, or will. */
export function addSignal(program: Command, context: Context): void {
  const command = withApi(program.command("signal"))
    .description("send a signal to a run; one that comes early is kept until the run waits for it")
    .argument("<id>", "run id")
    .argument("<name>", "name of the signal")
    .option("--payload <json>", "what it brings")
    .option("--key <key>", "idempotency key: the same key is the same signal");
  const options = () => command.opts<SignalOptions>();
  command.action(
    act(context, options, async (id: string, name: string) => {
      const { payload, key, json } = options();
      const client = await connect(context.io, options(), "submitter");
      const answer = await client.signal(
        id,
        name,
        payload === undefined ? undefined : jsonOf(payload, "--payload"),
        key === undefined ? {} : { idempotencyKey: key },
      );
      if (json === true) context.io.out(`${jsonText(answer)}\n`);
      else
        context.io.out(
          answer.repeated
            ? "it had been sent before\n"
            : answer.resumed
              ? "sent: the run goes on\n"
              : "sent: kept until the run waits for it\n",
        );
      return EXIT.ok;
    }),
  );
}

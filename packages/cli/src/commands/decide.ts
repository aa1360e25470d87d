import { VERDICTS, type Verdict } from "@ghouls/core";
import { Argument, type Command } from "commander";
import { act, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, type ConnectionOptions } from "../dev-file.ts";
import { EXIT } from "../failure.ts";
import { jsonText, printable } from "../printable.ts";
import { describeConsent } from "./consents.ts";

interface DecideOptions extends CommonOptions, ConnectionOptions {
  readonly digest?: string;
  readonly comment?: string;
}

/** `ghouls decide`: a person's word about a consent. */
export function addDecide(program: Command, context: Context): void {
  const command = withApi(program.command("decide"))
    .description(
      "grant or deny a consent; without --digest it shows the request, and says how to decide about it",
    )
    .argument("<id>", "consent id")
    .addArgument(new Argument("<verdict>", "your word").choices(VERDICTS))
    .option("--digest <digest>", "of the request that you have been shown: the word is about that one only")
    .option("--comment <text>", "kept with your word");
  const options = () => command.opts<DecideOptions>();
  command.action(
    act(context, options, async (id: string, verdict: Verdict) => {
      const { digest, comment, json } = options();
      const client = await connect(context.io, options(), "decider");
      if (digest === undefined) {
        const consent = await client.getConsent(id);
        if (json === true) context.io.out(`${jsonText(consent)}\n`);
        else context.io.out(describeConsent(consent));
        context.io.err(
          `Nothing is decided yet. To ${verdict} this: npx ghouls decide ${id} ${verdict} --digest ${printable(consent.digest)}\n`,
        );
        return EXIT.failed;
      }
      const answer = await client.decide(id, {
        verdict,
        digest,
        ...(comment === undefined ? {} : { comment }),
      });
      if (json === true) context.io.out(`${jsonText(answer)}\n`);
      else
        context.io.out(
          `${answer.repeated ? "you had said so before: " : ""}${answer.status}${answer.resumed ? ", the run goes on" : ""}\n`,
        );
      return EXIT.ok;
    }),
  );
}

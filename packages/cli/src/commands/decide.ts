import { VERDICTS, type Verdict, type wire } from "@ghouls/core";
import { Argument, type Command } from "commander";
import { act, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, type ConnectionOptions } from "../dev-file.ts";
import { EXIT, usageError } from "../failure.ts";
import type { Io } from "../io.ts";
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
      "grant or deny a consent; without --digest it shows the request as it is bound, and asks for your word about it",
    )
    .argument("<id>", "consent id")
    .addArgument(new Argument("[verdict]", "your word; asked for where it is left out").choices(VERDICTS))
    .option("--digest <digest>", "of the request that you have been shown: the word is about that one only")
    .option("--comment <text>", "kept with your word");
  const options = () => command.opts<DecideOptions>();
  command.action(
    act(context, options, async (id: string, verdict: Verdict | undefined) => {
      const { digest, json = false } = options();
      const client = await connect(context.io, options(), "decider");
      if (digest !== undefined && verdict === undefined)
        throw usageError("with --digest your word is needed as well", `Add ${VERDICTS.join(" or ")}.`);
      const word =
        digest === undefined || verdict === undefined
          ? await askedFor(context.io, await client.getConsent(id), verdict, json)
          : { verdict, digest };
      if (word === undefined) return EXIT.failed;
      const { comment } = options();
      const answer = await client.decide(id, { ...word, ...(comment === undefined ? {} : { comment }) });
      if (json) context.io.out(`${jsonText(answer)}\n`);
      else
        context.io.out(
          `${answer.repeated ? "you had said so before: " : ""}${answer.status}${answer.resumed ? ", the run goes on" : ""}\n`,
        );
      return EXIT.ok;
    }),
  );
}

/**
 * Shows the request and asks for a word about exactly that one. Undefined where there is none: nobody sits at a terminal, or
 * whoever does wants to think about it.
 */
async function askedFor(
  io: Io,
  consent: wire.ConsentView,
  verdict: Verdict | undefined,
  json: boolean,
): Promise<{ verdict: Verdict; digest: string } | undefined> {
  if (json) io.out(`${jsonText(consent)}\n`);
  else io.out(describeConsent(consent));
  const { consentId, digest, status } = consent;
  if (io.ask === undefined || json || status !== "PENDING") {
    io.err(
      `Nothing is decided yet. To ${verdict ?? "decide"} this: npx ghouls decide ${printable(consentId)} ${verdict ?? "grant|deny"} --digest ${printable(digest)}\n`,
    );
    return undefined;
  }
  const question =
    verdict === undefined ? "grant, deny, or nothing yet? " : `Really ${verdict} this? (yes/no) `;
  const said = (await io.ask(question)).trim().toLowerCase();
  const word = verdict !== undefined && ["y", "yes"].includes(said) ? verdict : said;
  const known = VERDICTS.find((one) => one === word);
  if (known !== undefined) return { verdict: known, digest };
  io.err("Nothing is decided.\n");
  return undefined;
}

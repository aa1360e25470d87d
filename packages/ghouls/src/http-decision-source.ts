import { GhoulsError, readSourceAnswer, type DecisionSource } from "@ghouls/core";

export interface HttpDecisionSourceOptions {
  /** Where the question is posted: https, or http on this machine. */
  readonly url: string;
  /** Such as an authorization; asked for at each question, so that a token may change. */
  readonly headers?: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
}

const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);

/** The largest answer that is read, in bytes. */
const MAX_BYTES = 65_536;

/**
 * A decision source over HTTP: the question as JSON in a POST, answered by `{"outcome":"pending"}`, or by "grant" or "deny"
 * with who decided (`by`) and why (`comment`). Whatever else comes back decides nothing, and is asked for again later.
 * @throws GhoulsError configuration_invalid for a URL that would send it in the clear
 */
export function httpDecisionSource({ url, headers }: HttpDecisionSourceOptions): DecisionSource {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  const safe =
    address?.protocol === "https:" || (address?.protocol === "http:" && LOOPBACK.has(address.hostname));
  if (address === undefined || !safe) {
    throw new GhoulsError("configuration_invalid", `a decision source cannot be at "${url.slice(0, 200)}"`, {
      fix: "Give an https URL, or http on 127.0.0.1.",
    });
  }
  return {
    lookUp: async (question, signal) => {
      const response = await fetch(address, {
        method: "POST",
        // Elsewhere is nobody who was asked.
        redirect: "error",
        signal,
        headers: { ...(await headers?.()), "content-type": "application/json", accept: "application/json" },
        body: JSON.stringify(question),
      });
      if (!response.ok) {
        await response.body?.cancel();
        throw new Error(`the decision source answered ${response.status}`);
      }
      return readSourceAnswer(JSON.parse(await boundedText(response)));
    },
  };
}

async function boundedText(response: Response): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let [text, bytes] = ["", 0];
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`the decision source answered more than ${MAX_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

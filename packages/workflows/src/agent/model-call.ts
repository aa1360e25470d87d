import type { ModelMessage } from "ai";
import { NonRetryableError } from "ghouls";
import { answerOf, type Answer } from "./conversation.ts";
import type { Profile } from "./profiles.ts";
import { TOOLS } from "./tools.ts";

/** The longest answer that is kept, in bytes of JSON: fifty of them are far from what a journal takes. */
const MAX_ANSWER_BYTES = 65_536;
const MAX_OUTPUT_TOKENS = 4_000;

/**
 * One call of the model. It is told of the tools, and runs none: what it asks for comes back with its answer.
 * @param onText told of the answer's text, as it comes
 * @throws what the provider throws, for the step to try again; the signal's reason where it fires
 */
export async function callModel(
  profile: Profile,
  messages: readonly ModelMessage[],
  signal: AbortSignal,
  onText: (text: string) => void,
): Promise<Answer> {
  // A worker that carries no agent does not wait for it.
  const { streamText } = await import("ai");
  const result = streamText({
    model: await profile.model(),
    instructions: profile.instructions,
    messages: [...messages],
    tools: Object.fromEntries(
      profile.tools.map((name) => [
        name,
        { description: TOOLS[name].description, inputSchema: TOOLS[name].input },
      ]),
    ),
    maxOutputTokens: MAX_OUTPUT_TOKENS,
    // The step has tries of its own.
    maxRetries: 0,
    abortSignal: signal,
    // It comes by the stream, too; the SDK would print it.
    onError: () => undefined,
  });
  for await (const part of result.stream) {
    if (part.type === "text-delta") onText(part.text);
    if (part.type === "error") throw part.error;
  }
  // The SDK ends the stream of a call that was aborted as if it had come to its end.
  signal.throwIfAborted();
  const answered = (await result.responseMessages).find(({ role }) => role === "assistant");
  const answer = answerOf(answered?.content);
  const bytes = Buffer.byteLength(JSON.stringify(answer));
  if (bytes <= MAX_ANSWER_BYTES) return answer;
  throw new NonRetryableError(`The model's answer has ${bytes} bytes, and ${MAX_ANSWER_BYTES} are kept.`);
}

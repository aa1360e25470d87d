import type { ModelMessage } from "ai";
import * as z from "zod";

/** Providers want some of it back, such as the signature of a thought. */
const providerOptions = z.record(z.string(), z.unknown()).optional();

/** Of an answer of a model, what its next call needs: nothing else goes into the journal. */
const Part = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string(), providerOptions }),
  z.object({ type: z.literal("reasoning"), text: z.string(), providerOptions }),
  z.object({
    type: z.literal("tool-call"),
    toolCallId: z.string(),
    toolName: z.string(),
    input: z.unknown(),
    providerOptions,
  }),
]);
type Part = z.infer<typeof Part>;
export type ToolCall = Extract<Part, { type: "tool-call" }>;

export interface Answer {
  readonly role: "assistant";
  readonly content: readonly Part[];
}

/** What a tool has said, or why it was not called. */
export type ToolOutput =
  | { readonly type: "json"; readonly value: unknown }
  | { readonly type: "error-text"; readonly value: string }
  | { readonly type: "execution-denied"; readonly reason: string };

/** A call of a tool, and what came of it; how an earlier part of a conversation is remembered. */
export const Deed = z.strictObject({
  tool: z.string().max(100),
  input: z.unknown(),
  output: z.unknown(),
});
export type Deed = z.infer<typeof Deed>;

/** The parts that are known, whatever a provider has put beside them. */
export function answerOf(content: unknown): Answer {
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const known = (Array.isArray(parts) ? parts : []).flatMap((part: unknown) => {
    const one = Part.safeParse(part);
    return one.success ? [one.data] : [];
  });
  return { role: "assistant", content: known };
}

export function textOf({ content }: Answer): string {
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

export function toolCallsOf({ content }: Answer): readonly ToolCall[] {
  return content.filter((part) => part.type === "tool-call");
}

/** Deeds that a later epoch is told of, and the longest one, in characters of JSON. */
export const REMEMBERED = 200;
const LONGEST = 1_000;

/** What a model is shown: the goal, what was done before, and all that was said since. */
export class Conversation {
  readonly messages: ModelMessage[];
  readonly #deeds: Deed[];

  constructor(goal: string, before: readonly Deed[]) {
    this.#deeds = [...before];
    this.messages = [{ role: "user", content: goal }];
    if (before.length > 0)
      this.messages.push({ role: "user", content: `${BEFORE}${JSON.stringify(before)}` });
  }

  add(answer: Answer, outputs: readonly { readonly call: ToolCall; readonly output: ToolOutput }[]): void {
    const results = outputs.map(({ call: { toolCallId, toolName }, output }) => {
      return { type: "tool-result", toolCallId, toolName, output };
    });
    // A provider refuses a call that nobody has answered, so both come together.
    this.messages.push(answer as ModelMessage, { role: "tool", content: results } as ModelMessage);
    for (const { call, output } of outputs)
      this.#deeds.push({ tool: call.toolName.slice(0, 100), input: call.input ?? null, output });
  }

  /** What to go on with in an empty journal: the latest deeds, without what was said around them. */
  compacted(): Deed[] {
    return this.#deeds.slice(-REMEMBERED).map((deed) => {
      if (JSON.stringify(deed).length <= LONGEST) return deed;
      return { tool: deed.tool, input: "(too long to be remembered)", output: "(too long to be remembered)" };
    });
  }
}

export const BEFORE = "What you have done so far, as JSON: ";

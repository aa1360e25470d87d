import type { LanguageModel } from "ai";
import { BEFORE, Deed } from "./conversation.ts";

/** No name of one: the SDK would send that to a gateway, with credentials of the environment. */
export type Model = Exclude<LanguageModel, string>;
type LanguageModelV4 = Extract<Model, { specificationVersion: "v4" }>;
type CallOptions = Parameters<LanguageModelV4["doStream"]>[0];
type Streamed = Awaited<ReturnType<LanguageModelV4["doStream"]>>["stream"];
type StreamPart = Streamed extends ReadableStream<infer Part> ? Part : never;

/** What a script can go by: all of it stands in the messages, because each call may be made by another worker. */
export interface Seen {
  readonly goal: string;
  /** Every tool call so far, and what came of it. */
  readonly deeds: readonly Deed[];
}

/** What it says, and the tools that it calls; a move without one is the end. */
export interface Move {
  readonly say: string;
  readonly calls?: readonly { readonly tool: string; readonly input: unknown }[];
}

/** A model for the AI SDK that plays a script: the same for the same messages, without a network. */
export function scriptedModel(script: (seen: Seen) => Move): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "scripted",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("the scripted model only streams")),
    doStream: ({ prompt, abortSignal }) => {
      abortSignal?.throwIfAborted();
      const seen = seenIn(prompt);
      const parts = partsOf(script(seen), seen.deeds.length);
      return Promise.resolve({ stream: ReadableStream.from(parts) as Streamed });
    },
  };
}

function partsOf({ say, calls = [] }: Move, made: number): StreamPart[] {
  const words = say.match(/\S+\s*/g) ?? [];
  const total = { total: words.length, text: words.length, reasoning: undefined };
  const input = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
  return [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    ...words.map((delta): StreamPart => ({ type: "text-delta", id: "1", delta })),
    { type: "text-end", id: "1" },
    ...calls.map(({ tool, input: args }, index): StreamPart => ({
      type: "tool-call",
      toolCallId: `call-${made + index + 1}`,
      toolName: tool,
      input: JSON.stringify(args),
    })),
    {
      type: "finish",
      finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop", raw: undefined },
      usage: { inputTokens: input, outputTokens: total },
    },
  ];
}

function seenIn(prompt: CallOptions["prompt"]): Seen {
  const texts = prompt.flatMap((message) =>
    message.role === "user"
      ? message.content.flatMap((part) => (part.type === "text" ? [part.text] : []))
      : [],
  );
  const before = texts.find((text, index) => index > 0 && text.startsWith(BEFORE));
  const deeds = before === undefined ? [] : Deed.array().parse(JSON.parse(before.slice(BEFORE.length)));
  const inputs = new Map<string, unknown>();
  for (const message of prompt) {
    if (message.role !== "assistant" && message.role !== "tool") continue;
    for (const part of message.content) {
      if (part.type === "tool-call") inputs.set(part.toolCallId, part.input);
      if (part.type === "tool-result")
        deeds.push({ tool: part.toolName, input: inputs.get(part.toolCallId), output: part.output });
    }
  }
  return { goal: texts[0] ?? "", deeds };
}

import { expect, test } from "vitest";
import { profileWith } from "./agent.support.ts";
import { callModel } from "./model-call.ts";
import { scriptedModel, type Model } from "./scripted-model.ts";

type LanguageModelV4 = Extract<Model, { specificationVersion: "v4" }>;
const done = scriptedModel(() => ({ say: "done" }));
const asked = [{ role: "user", content: "go" }] as const;
const call = (
  model: Model,
  signal = new AbortController().signal,
  onText: (text: string) => void = () => undefined,
) =>
  callModel(
    profileWith(() => ({ say: "" }), { model: () => model }),
    asked,
    signal,
    onText,
  );
/** Says these parts, and then nothing more. */
function saying(...parts: unknown[]): LanguageModelV4 {
  const stream = () =>
    ReadableStream.from(parts) as Awaited<ReturnType<LanguageModelV4["doStream"]>>["stream"];
  return { ...done, doStream: () => Promise.resolve({ stream: stream() }) };
}
const finish = { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage: {} };
const usage = { inputTokens: {}, outputTokens: {} };

test("keeps text, thoughts and calls, with what their provider wants back, and nothing else", async () => {
  const signed = { maker: { signature: "s" } };
  const model = saying(
    { type: "stream-start", warnings: [] },
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "hm" },
    { type: "reasoning-end", id: "r", providerMetadata: signed },
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "look" },
    { type: "text-end", id: "t" },
    { type: "file", mediaType: "image/png", data: { type: "data", data: "aGk=" } },
    { type: "tool-call", toolCallId: "1", toolName: "nothing", input: '{"a":1}' },
    { ...finish, usage },
  );
  expect(JSON.parse(JSON.stringify(await call(model)))).toEqual({
    role: "assistant",
    content: [
      { type: "reasoning", text: "hm", providerOptions: signed },
      { type: "text", text: "look" },
      { type: "tool-call", toolCallId: "1", toolName: "nothing", input: { a: 1 } },
    ],
  });
});

test("an answer that is larger than what is kept fails for good", async () => {
  const model = scriptedModel(() => ({ say: "x".repeat(70_000) }));
  await expect(call(model)).rejects.toMatchObject({ name: "NonRetryableError" });
});

test("an error in the middle of a stream is thrown, though text has come", async () => {
  const model = saying(
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "half of" },
    { type: "error", error: new Error("overloaded") },
    { ...finish, usage },
  );
  const texts: string[] = [];
  await expect(call(model, undefined, (text) => texts.push(text))).rejects.toThrow("overloaded");
  expect(texts).toEqual(["half of"]);
});

test("a call ends when its signal fires, though the model never does", async () => {
  const controller = new AbortController();
  let given: AbortSignal | undefined;
  const silent: LanguageModelV4 = {
    ...done,
    doStream: ({ abortSignal }) => {
      given = abortSignal;
      const stream = new ReadableStream({
        start: (stream) => {
          stream.enqueue({ type: "stream-start", warnings: [] });
          stream.enqueue({ type: "text-start", id: "t" });
          stream.enqueue({ type: "text-delta", id: "t", delta: "well " });
        },
      });
      return Promise.resolve({ stream });
    },
  };
  const calling = call(silent, controller.signal, () => controller.abort(new Error("the run was cancelled")));
  await expect(calling).rejects.toThrow("the run was cancelled");
  expect(given?.aborted).toBe(true);
  await expect(call(done, controller.signal)).rejects.toThrow("the run was cancelled");
});

test("the scripted model only streams", async () => {
  await expect(done.doGenerate({ prompt: [] })).rejects.toThrow("only streams");
});

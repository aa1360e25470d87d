import { workflow, type WorkflowDefinition } from "ghouls";
import * as z from "zod";
import { Conversation, Deed, REMEMBERED, textOf, toolCallsOf, type ToolOutput } from "./conversation.ts";
import { callModel } from "./model-call.ts";
import { PROFILES, profileOf, type Profiles } from "./profiles.ts";
import { useTool } from "./use-tool.ts";

/** Tools that one answer of a model may call. */
const MAX_TOOL_CALLS = 8;

const Input = z.strictObject({
  /** What is to be done, in words. */
  goal: z.string().min(1).max(4_000),
  /** What an earlier epoch of the run has left to this one. Who submits it tells the model a story, and nothing more. */
  carried: z
    .strictObject({ modelCalls: z.number().int().min(0), deeds: z.array(Deed).max(REMEMBERED) })
    .default({ modelCalls: 0, deeds: [] }),
});

const Output = z.object({
  outcome: z.enum(["ANSWERED", "TOO_MANY_MODEL_CALLS"]),
  answer: z.string(),
  modelCalls: z.number().int(),
});

type Agent = WorkflowDefinition<z.output<typeof Input>, z.output<typeof Output>, z.input<typeof Input>>;

/**
 * An agent that uses tools: a step for each call of the model, and one for each tool, so that another worker goes on where one was
 * lost, and nothing that costs is done again. What the model says is data: this code decides what is done.
 */
export function agentOf(profiles: Profiles): Agent {
  return workflow({
    name: "agent",
    version: 1,
    onWorkerLoss: "resume", // model calls and harmless tools may be repeated; dangerous ones are effects that happen once
    deadline: "30d",
    input: Input,
    output: Output,
    module: import.meta.url,
    async run(ctx, { goal, carried }): Promise<z.input<typeof Output>> {
      // Who that is was said at the admission, and stays so in every hop and epoch.
      const profile = profileOf(profiles, ctx.agent);
      const conversation = new Conversation(goal, carried.deeds);
      let { modelCalls } = carried;
      for (let inEpoch = 0; inEpoch < profile.modelCallsPerEpoch; inEpoch += 1) {
        if (modelCalls >= profile.maxModelCalls)
          return { outcome: "TOO_MANY_MODEL_CALLS", answer: "", modelCalls };
        const answer = await ctx.step(
          "model call",
          ({ signal }) =>
            callModel(profile, conversation.messages, signal, (text) => ctx.stream("tokens", text)),
          { tries: 3 },
        );
        modelCalls += 1;
        const calls = toolCallsOf(answer);
        if (calls.length === 0) return { outcome: "ANSWERED", answer: textOf(answer), modelCalls };
        const outputs = [];
        for (const [index, call] of calls.entries()) {
          const output = index < MAX_TOOL_CALLS ? await useTool(ctx, profile, call) : TOO_MANY;
          outputs.push({ call, output });
        }
        conversation.add(answer, outputs);
      }
      // The journal holds every answer, and takes 32 MiB: a conversation that may grow goes on in an empty one.
      return ctx.restart({ goal, carried: { modelCalls, deeds: conversation.compacted() } });
    },
  });
}

const TOO_MANY: ToolOutput = {
  type: "error-text",
  value: `it was not called: an answer may call ${MAX_TOOL_CALLS} tools`,
};

export const agent = agentOf(PROFILES);

import { agentOf } from "../../packages/workflows/src/agent/agent.ts";
import { scriptedModel } from "../../packages/workflows/src/agent/scripted-model.ts";

/** Tools that the agent of the crash tests calls, one after the other: every tenth costs money. */
const TOOL_CALLS = 100;
export const REFUNDS = TOOL_CALLS / 10;
/** A step for each tool, and one for each answer of the model, of which the last calls none. */
export const STEPS = 2 * TOOL_CALLS + 1;

/** The example of an agent, with a model whose script takes two hundred steps and two restarts. */
export const crashAgent = agentOf({
  clerk: {
    instructions: "Play your part.",
    tools: ["find_order", "refund"],
    deciders: ["role:decider"],
    maxModelCalls: STEPS,
    modelCallsPerEpoch: 40,
    model: () =>
      scriptedModel(({ deeds: { length } }) => {
        if (length === TOOL_CALLS) return { say: `${length} tools were called` };
        const order = String(1001 + length);
        const input = { order, cents: 1 + length, reason: "the script says so" };
        const call = length % 10 === 9 ? { tool: "refund", input } : { tool: "find_order", input: { order } };
        return { say: "Next. ", calls: [call] };
      }),
  },
});

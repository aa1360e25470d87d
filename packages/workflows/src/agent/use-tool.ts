import { StepFailedError, type WorkflowContext } from "ghouls";
import * as z from "zod";
import type { ToolCall, ToolOutput } from "./conversation.ts";
import type { Profile } from "./profiles.ts";
import { TOOLS, type Tool, type ToolName } from "./tools.ts";

/** The longest result that a model is shown, in bytes of JSON. */
const MAX_RESULT_BYTES = 4_096;

/**
 * Does what a model asks for, where its profile allows that. Whatever comes of it is told to the model: a name that is no tool's,
 * arguments that do not fit, people who refuse. Only a tool's own name becomes the name of a step.
 */
export async function useTool(ctx: WorkflowContext, profile: Profile, call: ToolCall): Promise<ToolOutput> {
  const name = profile.tools.find((allowed) => allowed === call.toolName);
  if (name === undefined)
    return failed(
      `there is no tool "${call.toolName.slice(0, 100)}"; there are: ${profile.tools.join(", ")}`,
    );
  const tool: Tool = TOOLS[name];
  const input = tool.input.safeParse(call.input);
  if (!input.success)
    return failed(`these are no arguments of it: ${z.prettifyError(input.error).slice(0, 500)}`);
  try {
    const result = await act(ctx, profile, name, tool, input.data);
    return "denied" in result ? { type: "execution-denied", reason: result.denied } : shown(result.value);
  } catch (error) {
    // Of a dangerous one this says that it has certainly not happened; what nobody knows ends the run, for an operator to see.
    if (error instanceof StepFailedError)
      return failed(`it has failed: ${error.failure.message.slice(0, 500)}`);
    throw error;
  }
}

async function act(
  ctx: WorkflowContext,
  profile: Profile,
  name: ToolName,
  tool: Tool,
  input: unknown,
): Promise<{ readonly value: unknown } | { readonly denied: string }> {
  if (tool.kind === "harmless")
    return { value: await ctx.step(name, (step) => tool.run(input, step), { tries: 3, timeout: "20s" }) };
  const { outcome } = await ctx.consent(tool.question, {
    deciders: profile.deciders,
    expires: "3d",
    // Frozen: what is shown here, digested and consented to is what the step below gets.
    detail: { tool: name, arguments: input },
  });
  if (outcome !== "GRANTED") return { denied: outcome === "DENIED" ? "people said no" : "nobody answered" };
  const value = await ctx.step(name, (step) => tool.run(input, step), {
    effect: "once",
    tries: 3,
    timeout: "20s",
    probe: (step) => tool.probe(input, step),
  });
  return { value };
}

function shown(value: unknown): ToolOutput {
  const bytes = Buffer.byteLength(JSON.stringify(value ?? null));
  if (bytes > MAX_RESULT_BYTES) return failed(`its result has ${bytes} bytes, which is too long to be shown`);
  return { type: "json", value: value ?? null };
}

function failed(value: string): ToolOutput {
  return { type: "error-text", value };
}

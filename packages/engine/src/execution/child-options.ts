import {
  PARENT_CLOSE,
  UnserializableError,
  canonicalText,
  describeFailure,
  serialize,
  type AnyWorkflow,
  type ChildOptions,
  type ChildResult,
} from "@ghouls/core";
import type { Registry } from "../registry.ts";
import { understood, type ChildRequest, type Understood } from "./wait-options.ts";

const CHILD_OPTIONS = new Set(["name", "parentClose", "queue", "priority"]);

/** What a `ctx.child` can be, or why it cannot. Whether its input fits its workflow is asked when it is started. */
export function understandChild(
  workflow: unknown,
  input: unknown,
  options: ChildOptions | undefined,
  registry: Registry,
  queues: readonly string[],
): Understood {
  const name = options?.name ?? nameOf(workflow);
  if (name === undefined)
    return "ctx.child: its first argument is a workflow: pass what workflow({ … }) has made";
  return understood("child", name, options, CHILD_OPTIONS, (named) => {
    const registered = registry.all().find(({ definition }) => definition === workflow);
    if (registered === undefined)
      return "its workflow is not in the configuration: name it in workflows, and pass that very object";
    const { parentClose = "cancel", queue, priority } = options ?? {};
    if (!PARENT_CLOSE.includes(parentClose)) return `parentClose is one of ${PARENT_CLOSE.join(", ")}`;
    if (queue !== undefined && !queues.includes(queue))
      return `there is no queue "${String(queue).slice(0, 100)}"; configured are ${queues.join(", ")}`;
    if (priority !== undefined && !(Number.isInteger(priority) && priority >= 0 && priority <= 9))
      return "priority is a whole number from 0 to 9";
    const text = inputOf(input);
    if ("problem" in text) return `its input ${text.problem}`;
    const child: ChildRequest = {
      workflow: registered,
      inputText: text.text,
      parentClose,
      queue: queue ?? null,
      priority: priority ?? null,
    };
    return { name: named, wait: { owner: "child", dueAt: null, tries: null, child, receive } };
  });
}

function nameOf(workflow: unknown): string | undefined {
  const name = (workflow as Partial<AnyWorkflow> | null | undefined)?.name;
  return typeof name === "string" ? name : undefined;
}

function inputOf(input: unknown): { readonly text: string } | { readonly problem: string } {
  try {
    return { text: canonicalText(JSON.parse(serialize(input) ?? "null") as never) };
  } catch (error) {
    if (error instanceof UnserializableError) return { problem: error.message };
    return { problem: `cannot be read: ${describeFailure(error).message.slice(0, 300)}` };
  }
}

interface Ended {
  readonly outcome: "DONE" | "FAILED" | "CANCELLED";
  readonly runId: string;
  readonly body?: unknown;
}

/** What the code gets; `undefined` has no place in JSON, and is the result of a child that returned nothing. */
function receive(ended: unknown): ChildResult {
  const { outcome, runId, body } = ended as Ended;
  if (outcome === "DONE") return { outcome, runId, result: body };
  if (outcome === "FAILED") return { outcome, runId, error: body as never };
  return { outcome, runId };
}

import type { ServiceTimes, ServiceTraits } from "@ghouls/core";
import * as z from "zod";
import { QUESTIONS, checkedBy, duration, memoryOf, someTime, timesOf } from "./service-options.ts";

/** A state machine, as its ARN names it. */
interface Machine {
  readonly arn: string;
  readonly region: string;
  /** The ARN of an execution but for the name. */
  readonly executions: string;
}

/** Without what a name may not hold. Source: AWS Step Functions API, "CreateStateMachine". */
const ARN =
  /^arn:aws(?:-[a-z]+)*:states:([a-z0-9-]+):\d{12}:stateMachine:[^\s<>{}[\]?*"#%\\^|~`$&,;:/\p{Cc}]{1,80}$/u;

const KNOWN_EARLY =
  "It must be known wherever the configuration is loaded: by the deploy, the build and every function.";

/** Why a text is not the ARN of a state machine itself, and what to do. */
function refusalOf(text: string): string {
  if (/:stateMachine:[^:/]+:[^:]+$/.test(text))
    return "names a version or an alias: give the ARN of the state machine itself, which is what names are unique in";
  if (/:stateMachine:[^/]+\//.test(text) || /:(mapRun|execution|express):/.test(text))
    return "names a map run, a map state or an execution: give the ARN of the state machine";
  return `must be the ARN of a state machine, "arn:aws:states:<region>:<account>:stateMachine:<name>". ${KNOWN_EARLY}`;
}

const Shape = z.strictObject({
  stateMachine: z
    .string({ error: `must be the ARN of a state machine. ${KNOWN_EARLY}` })
    .transform((arn, context): Machine => {
      const [, region] = ARN.exec(arn) ?? [];
      if (region !== undefined)
        return { arn, region, executions: arn.replace(":stateMachine:", ":execution:") };
      context.addIssue({ code: "custom", message: refusalOf(arn) });
      return z.NEVER;
    }),
  ...QUESTIONS,
  delay: duration.default("1m"),
  remembers: someTime.default("30d"),
  poll: someTime.default("30s"),
});

export interface CheckedOptions {
  readonly machine: Machine;
  readonly traits: ServiceTraits;
  readonly times: ServiceTimes;
}

/** @throws GhoulsError configuration_invalid */
export function checkedOptions(options: unknown): CheckedOptions {
  const data = checkedBy(Shape, options, "a service of Step Functions");
  return {
    machine: data.stateMachine,
    traits: { lookup: "authoritative", submit: "idempotent", cancel: "advisory", ...memoryOf(data) },
    times: timesOf(data),
  };
}

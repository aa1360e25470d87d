import {
  EgressEvent,
  GhoulsError,
  describeFailure,
  type Clock,
  type JobAnswer,
  type Logger,
} from "@ghouls/core";
import { StillAskingError, createDirectEgress } from "@ghouls/engine";
import type { Config } from "../config.ts";
import { jsonLogger, writeToStdout } from "../logger.ts";
import type { LambdaContext } from "./lambda.ts";

/** What tests put in another's place. */
export interface EgressOverrides {
  readonly variables?: Readonly<Record<string, string | undefined>>;
  readonly write?: (line: string) => void;
  readonly clock?: Clock;
  /** Ends the process. */
  readonly exit?: () => void;
}

/** What is kept of an invocation for an adapter to let go of its question, and for the answer, in milliseconds. */
const RESERVE_MS = 2_000;
/** How long an adapter that was told to stop may take to. */
const STOP_MS = 1_000;

/**
 * The egress function: questions to services leave from here, and it has no right in the database, the queues or the
 * table (design.md §3, Delegate). It opens no runtime, and its bundle holds no driver.
 *
 * It answers "unknown" where a service did not, and throws where nothing was asked. A question that begins so late that its
 * caller has given it up is not put.
 */
export function createEgress(
  { services, egress: { origins } }: Pick<Config, "services" | "egress">,
  overrides: EgressOverrides = {},
): (event: unknown, context: LambdaContext) => Promise<JobAnswer> {
  const variables = overrides.variables ?? process.env;
  const clock = overrides.clock ?? { monotonicMs: () => performance.now(), wallMs: () => Date.now() };
  const log = jsonLogger(overrides.write ?? writeToStdout, () => new Date().toISOString());
  const exit = overrides.exit ?? (() => process.exit(1));
  // No service is at a private address on Lambda: the Runtime API listens there.
  const admitted = variables["AWS_LAMBDA_FUNCTION_NAME"] === undefined ? origins : [];
  return async (given, context) => {
    const { service: name, question, timeoutMs, untilMs } = readEvent(given);
    const service = Object.hasOwn(services, name) ? services[name] : undefined;
    if (service === undefined) throw unknownService(name);
    const within = Math.min(
      timeoutMs,
      untilMs - clock.wallMs(),
      context.getRemainingTimeInMillis() - RESERVE_MS,
    );
    const began = clock.monotonicMs();
    const say = (state: string, level: keyof Logger = "info") =>
      log[level]("a service was asked", {
        service: name,
        kind: question.kind,
        outcome: state,
        milliseconds: Math.round(clock.monotonicMs() - began),
      });
    if (within <= 0) {
      say("not asked", "warn");
      throw new GhoulsError("outcome_unknown", "the question came too late, and was not put", {
        fix: "It is put again later. Where this happens often, see why the service is slow, or raise its timeout, to 10 s at most.",
      });
    }
    const egress = createDirectEgress({ services: { [name]: service }, origins: admitted, stopMs: STOP_MS });
    try {
      const answer = await egress.ask(name, question, within);
      say(answer.state);
      return answer;
    } catch (error) {
      // Lambda stops this process between invocations, and lets it go on in the next one: long after, it would still send.
      if (error instanceof StillAskingError) {
        say("never ended", "error");
        exit();
      } else say("failed", "warn");
      return { state: "unknown", why: describeFailure(error).message };
    }
  };
}

/** @throws GhoulsError invalid_request, with paths, and with nothing of what was given */
function readEvent(given: unknown): EgressEvent {
  const parsed = EgressEvent.safeParse(given);
  if (parsed.success) return parsed.data;
  const paths = parsed.error.issues.map(({ path }) => `/${path.map(String).join("/")}`.slice(0, 100));
  throw new GhoulsError("invalid_request", `the event is no question to a service: ${paths.join(", ")}`, {
    fix: "Only the workers and the reconciler of this deployment invoke this function, with questions of theirs.",
  });
}

function unknownService(name: string): GhoulsError {
  return new GhoulsError(
    "configuration_invalid",
    `the configuration of this build has no service "${name}"`,
    {
      fix: "Name it in services, and deploy all functions from one build.",
    },
  );
}

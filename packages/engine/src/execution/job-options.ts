import {
  UnserializableError,
  callKey,
  canonicalText,
  describeFailure,
  durationMs,
  serialize,
  type AnyService,
  type CallId,
  type DelegateOptions,
} from "@ghouls/core";
import { digestOfService } from "../delegation/asked.ts";
import type { Delegation } from "../delegation/delegation.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import { understood, type Understood } from "./wait-options.ts";

/** Those of the configuration, by name. */
type Services = Delegation["services"];

const DELEGATE_OPTIONS = new Set(["deadline", "heartbeat"]);

/** What a `ctx.delegate` can be, or why it cannot. */
export function understandJob(
  name: string,
  service: unknown,
  request: unknown,
  options: DelegateOptions | undefined,
  { services, byExecutor }: Pick<Delegation, "services" | "byExecutor">,
): Understood {
  return understood("delegate", name, options, DELEGATE_OPTIONS, (named) => {
    const found = nameOfService(service, services, byExecutor === true);
    if (found === undefined) return byExecutor === true ? NO_EXECUTOR : NO_SERVICE;
    const { name: serviceName, among, isUnclear, definition } = found;
    const text = requestOf(definition, request);
    if ("problem" in text) return `its request ${text.problem}`;
    const heartbeat = options?.heartbeat;
    const job = {
      service: serviceName,
      among,
      isUnclear,
      definition,
      requestText: text.canonical,
      deadlineMs: options?.deadline === undefined ? null : durationMs(options.deadline),
      heartbeatMs: heartbeat === undefined ? definition.times.heartbeatMs : durationMs(heartbeat),
    };
    if (job.deadlineMs === 0 || job.heartbeatMs === 0) return "its deadline and its heartbeat are not 0";
    return {
      name: named,
      wait: {
        owner: "delegate",
        dueAt: null,
        tries: null,
        job,
        receive: (result) => received(result, definition),
      },
    };
  });
}

const NO_SERVICE = "its service is not in the configuration: name it in services, and pass that very object";
const NO_EXECUTOR =
  "no service of the configuration is the executor that this release asks for: keep one with that adapter and address in services until its runs have ended";

/** Code of a release has objects of its own: what it means is the service that asks the same executor. */
function nameOfService(
  service: unknown,
  services: Services,
  byExecutor: boolean,
):
  | {
      readonly name: string;
      readonly among: readonly string[];
      readonly isUnclear: boolean;
      readonly definition: AnyService;
    }
  | undefined {
  if (!byExecutor) {
    const found = Object.entries(services).find(([, one]) => one === service);
    return found && { name: found[0], among: [], isUnclear: false, definition: found[1] };
  }
  if (!isService(service)) return undefined;
  const executor = digestOfService(service);
  const found = Object.entries(services).filter(([, one]) => digestOfService(one) === executor);
  const alike = found.filter(([, one]) => manner(one) === manner(service));
  const [first] = alike.length === 1 ? alike : found;
  const among = found.map(([name]) => name);
  return (
    first && { name: first[0], among, isUnclear: found.length > 1 && alike.length !== 1, definition: service }
  );
}

function manner({ traits, times }: AnyService): string {
  return canonicalText({ ...traits, ...times });
}

/**
 * How the hop of a release ends that asks for a new job of one of several services with the same executor: they may differ in
 * their credentials, and nobody can tell which of them its code means. Undefined where it does not.
 */
export function unclearJob(end: HopEnd, begun: readonly { readonly call: CallId }[]): HopEnd | undefined {
  if (end.kind !== "parked") return undefined;
  const known = new Set(begun.map(({ call }) => callKey(call)));
  const unclear = end.standing.find(({ key, wait }) => wait?.job?.isUnclear === true && !known.has(key));
  if (unclear === undefined) return undefined;
  const names = unclear.wait?.job?.among.join(", ") ?? "";
  const { name } = unclear.id;
  return refusal(
    "invalid_call",
    `ctx.delegate "${name}": several services of the configuration (${names}) are the executor that this release asks for: keep one with that adapter and address until its runs have ended`,
    name,
  );
}

function isService(value: unknown): value is AnyService {
  return (
    typeof value === "object" &&
    value !== null &&
    "identity" in value &&
    "request" in value &&
    "result" in value
  );
}

/** What is sent is what the schema gives, as canonical JSON. A schema is user code, and may throw. */
function requestOf(
  { request: schema }: AnyService,
  request: unknown,
): { readonly canonical: string } | { readonly problem: string } {
  try {
    // What JSON cannot hold, such as a live handle, is refused before a schema could drop it in silence.
    serialize(request);
    const parsed = schema.safeParse(request);
    if (!parsed.success)
      return { problem: `does not fit the service's schema: ${parsed.error.message.slice(0, 1_500)}` };
    const text = serialize(parsed.data) ?? "null";
    return { canonical: canonicalText(JSON.parse(text)) };
  } catch (error) {
    if (error instanceof UnserializableError) return { problem: `cannot be sent: ${error.message}` };
    return { problem: `made its schema throw: ${describeFailure(error).message.slice(0, 500)}` };
  }
}

interface Ended {
  readonly outcome: string;
  readonly attemptId: string;
  readonly result?: unknown;
}

/** The result as the schema gives it; the same after a replay, because the schema belongs to the pinned code. */
function received(ended: unknown, { result: schema }: AnyService): unknown {
  const { outcome, attemptId, result } = ended as Ended;
  if (outcome !== "SUCCEEDED") return ended;
  const invalid = (problem: string) => ({ outcome: "INVALID", attemptId, result, problem });
  try {
    const parsed = schema.safeParse(result);
    return parsed.success
      ? { outcome, attemptId, result: parsed.data }
      : invalid(parsed.error.message.slice(0, 1_500));
  } catch (error) {
    return invalid(`the schema threw: ${describeFailure(error).message.slice(0, 500)}`);
  }
}

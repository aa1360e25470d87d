import {
  INVALID_SPAN_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  context,
  diag,
  isSpanContextValid,
  trace,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
} from "@opentelemetry/api";
import { errorInLog } from "@ghouls/core";

/**
 * Traces go through the OpenTelemetry API, which does nothing until an application registers an SDK of its choice. Spans
 * hold ids, names and codes, as logs do: never a payload, and of an error its name alone.
 */
const tracer = () => trace.getTracer("ghouls");

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Where a span begins. */
export interface SpanStart {
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
  /** W3C traceparent of what it is part of; undefined: of what is active here. Null: of nothing, it begins a trace. */
  readonly parent?: string | null | undefined;
  /** W3C traceparents of what it follows. */
  readonly links?: readonly (string | null)[];
}

/** What is told of a span while it lasts. */
export type Told = Pick<Span, "setAttribute" | "setStatus" | "spanContext">;

/** Carries something out in a span, which ends with it. What it throws is marked by its name, and thrown on. */
export async function inSpan<T>(name: string, start: SpanStart, run: (span: Told) => Promise<T>): Promise<T> {
  const begun = quietly(() => begin(name, start));
  const told = begun === undefined ? NOBODY : quiet(begun.span);
  let running: Promise<T> | undefined;
  // Once, whatever the context around it does.
  const carry = () => (running ??= (async () => run(told))());
  if (begun !== undefined) quietly(() => void context.with(trace.setSpan(begun.around, begun.span), carry));
  try {
    return await carry();
  } catch (error) {
    told.setStatus({ code: SpanStatusCode.ERROR, message: errorInLog(error) });
    throw error;
  } finally {
    quietly(() => begun?.span.end());
  }
}

function begin(name: string, start: SpanStart): { readonly span: Span; readonly around: Context } {
  const from = remote(start.parent);
  const around = from === undefined ? context.active() : trace.setSpanContext(context.active(), from);
  const links = (start.links ?? []).flatMap((text) => {
    const linked = remote(text);
    return linked === undefined ? [] : [{ context: linked }];
  });
  const span = tracer().startSpan(
    name,
    {
      kind: start.kind ?? SpanKind.INTERNAL,
      root: start.parent === null,
      links,
      ...(start.attributes === undefined ? {} : { attributes: start.attributes }),
    },
    around,
  );
  return { span, around };
}

/**
 * An SDK, or a sampler or exporter of the application's own, may throw wherever it is called: nothing of a run depends on it.
 * Told where OpenTelemetry tells its own failures.
 */
function quietly<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    diag.error("ghouls: what traces has thrown", errorInLog(error));
    return undefined;
  }
}

function quiet(span: Span): Told {
  const told: Told = {
    spanContext: () => quietly(() => span.spanContext()) ?? INVALID_SPAN_CONTEXT,
    setAttribute: (key, value) => {
      quietly(() => span.setAttribute(key, value));
      return span;
    },
    setStatus: (status) => {
      quietly(() => span.setStatus(status));
      return span;
    },
  };
  return told;
}

/** For what begins where nothing can be traced. */
const NOBODY = quiet(trace.wrapSpanContext(INVALID_SPAN_CONTEXT));

/** The W3C traceparent of a span, or of what is active here; undefined where nobody traces. */
export function traceparentOf(span?: Told): string | undefined {
  const spanContext = quietly(() => (span ?? trace.getActiveSpan())?.spanContext());
  if (spanContext === undefined || !isSpanContextValid(spanContext)) return undefined;
  const flags = (spanContext.traceFlags & 0xff).toString(16).padStart(2, "0");
  return `00-${spanContext.traceId}-${spanContext.spanId}-${flags}`;
}

/** What somebody else's header says; undefined where it is none. Source: W3C Trace Context, "traceparent". */
function remote(text: string | null | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const found = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
  };
  return isSpanContextValid(found) ? found : undefined;
}

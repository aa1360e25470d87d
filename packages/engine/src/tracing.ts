import {
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  context,
  isSpanContextValid,
  trace,
  type Attributes,
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

/** Carries something out in a span, which ends with it. What it throws is marked by its name, and thrown on. */
export async function inSpan<T>(name: string, start: SpanStart, run: (span: Span) => Promise<T>): Promise<T> {
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
  try {
    return await context.with(trace.setSpan(around, span), () => run(span));
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: errorInLog(error) });
    throw error;
  } finally {
    span.end();
  }
}

/** The W3C traceparent of a span, or of what is active here; undefined where nobody traces. */
export function traceparentOf(span: Span | undefined = trace.getActiveSpan()): string | undefined {
  const spanContext = span?.spanContext();
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

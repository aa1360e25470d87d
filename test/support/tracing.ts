import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
  type ReadableSpan,
} from "@opentelemetry/sdk-trace";
import { afterAll } from "vitest";

/** An application's own SDK, as it would register it, which keeps what it is given. */
export function tracing() {
  const exporter = new InMemorySpanExporter();
  const manager = new AsyncLocalStorageContextManager();
  manager.enable();
  context.setGlobalContextManager(manager);
  trace.setGlobalTracerProvider(
    new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
  );
  afterAll(() => {
    trace.disable();
    context.disable();
  });
  const spans = (name?: string): readonly ReadableSpan[] =>
    exporter.getFinishedSpans().filter((span) => name === undefined || span.name === name);
  return { spans, reset: () => exporter.reset() };
}

export const idsOf = (span: ReadableSpan | undefined) => ({
  trace: span?.spanContext().traceId,
  span: span?.spanContext().spanId,
  parent: span?.parentSpanContext?.spanId,
  links: span?.links.map((link) => link.context.spanId) ?? [],
});

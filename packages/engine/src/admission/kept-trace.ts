import { errorInLog, type DeliveryRef, type Logger } from "@ghouls/core";
import { traceparentOf } from "../tracing.ts";

/** Of whoever has made a delivery. */
type Made = DeliveryRef & { readonly tenantId: string };

/**
 * Keeps in which trace first deliveries were made, before they are published, so that their hops go on with it. Nothing is
 * written where nobody traces; what fails is told, and holds nothing up.
 */
export async function keepTrace(
  made: readonly Made[],
  mark: (made: readonly Made[], traceparent: string) => Promise<void>,
  log: Logger,
): Promise<void> {
  const traceparent = traceparentOf();
  if (traceparent === undefined || made.length === 0) return;
  try {
    await mark(made, traceparent);
  } catch (error) {
    log.warn("the trace of an admission could not be kept", {
      count: made.length,
      error: errorInLog(error),
    });
  }
}

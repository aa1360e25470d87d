import { afterAll } from "vitest";
import type { WorkerProcess } from "./fault-driver.ts";
import type { Fault } from "./fault-plan.ts";

/** Workers that are to be killed. Each is started while the test before it runs. */
export function victims(
  start: () => Promise<WorkerProcess>,
): (faults?: readonly Fault[]) => Promise<WorkerProcess> {
  let next = start();
  afterAll(() => next);
  return async (faults = []) => {
    const worker = await next;
    next = start();
    next.catch(() => undefined);
    await worker.faults(faults);
    return worker;
  };
}

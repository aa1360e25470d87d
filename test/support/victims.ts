import { afterAll } from "vitest";
import type { WorkerProcess } from "./fault-driver.ts";
import type { Fault, Passing } from "./fault-plan.ts";

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

/**
 * A kill at each point of a way, each with its label. Beats and visibilities come when they come, beside a step: their kills have a
 * test of their own.
 */
export function killsOn(way: readonly Passing[]): [string, Fault][] {
  return way
    .filter(({ point, detail }) => !/-(beat|visibility)$/.test(point) && detail !== "deliveries.beat")
    .map(({ point, detail, nth }): [string, Fault] => [
      `${point}${detail === undefined ? "" : ` ${detail}`} #${nth}`,
      { point, ...(detail === undefined ? {} : { detail }), nth, action: "kill" },
    ]);
}

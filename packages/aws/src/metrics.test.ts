import { afterEach, expect, test, vi } from "vitest";
import { openMetrics } from "./metrics.ts";

afterEach(() => vi.restoreAllMocks());

interface Embedded {
  readonly _aws: {
    readonly CloudWatchMetrics: readonly {
      readonly Namespace: string;
      readonly Dimensions: readonly (readonly string[])[];
      readonly Metrics: readonly { readonly Name: string; readonly Unit: string }[];
    }[];
  };
  readonly [name: string]: unknown;
}

test("what an invocation measures is one object a set of dimensions, of this deployment", () => {
  const written: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    written.push(String(text));
    return true;
  });
  const metrics = openMetrics("shop-production");
  metrics.record("RunsWithAttention", 3);
  metrics.record("TimerLateness", 0.25);
  metrics.record("DeliveriesSkipped", 1, "claimed");
  metrics.flush();
  metrics.flush();
  const objects = written.map((line) => JSON.parse(line) as Embedded);
  expect(objects.map(({ _aws }) => _aws.CloudWatchMetrics)).toEqual([
    [
      {
        Namespace: "Ghouls",
        Dimensions: [["service", "reason"]],
        Metrics: [{ Name: "DeliveriesSkipped", Unit: "Count" }],
      },
    ],
    [
      {
        Namespace: "Ghouls",
        Dimensions: [["service"]],
        Metrics: [
          { Name: "RunsWithAttention", Unit: "Count" },
          { Name: "TimerLateness", Unit: "Seconds" },
        ],
      },
    ],
  ]);
  expect(objects[0]).toMatchObject({ service: "shop-production", reason: "claimed", DeliveriesSkipped: 1 });
  expect(objects[1]).toMatchObject({ service: "shop-production", RunsWithAttention: 3, TimerLateness: 0.25 });
});

test("nothing is written where nothing was measured", () => {
  const write = vi.spyOn(process.stdout, "write");
  openMetrics("shop-production").flush();
  expect(write).not.toHaveBeenCalled();
});

import type { FaultInjector, FaultPoint } from "@ghouls/core";

/** What happens at a fault point. `repeat` makes PostgreSQL's driver say "rolled back" of what it has carried out. */
type FaultAction = "kill" | "stop" | "delay" | "lose" | "repeat";

/** One fault: at a point, where its detail is this one too if it is given, on the n-th passing of those (1 by default). */
export interface Fault {
  readonly point: FaultPoint;
  readonly detail?: string;
  readonly nth?: number;
  readonly action: FaultAction;
  /** Passings from the n-th on that are hit; 1 by default. */
  readonly times?: number;
}

/** A passing of a fault point. Details that differ from run to run (ids, counts) are left out. */
export interface Passing {
  readonly point: FaultPoint;
  readonly detail?: string;
  readonly nth: number;
}

export interface FaultPlan {
  readonly injector: FaultInjector;
  /** Replaces the faults, and counts passings anew. */
  set(faults: readonly Fault[]): void;
  /** What was passed since the last {@link set}, in order. */
  passings(): readonly Passing[];
  /** Lets go what is delayed, and no later passing is delayed. */
  go(): void;
}

/** `act` carries out what only the process itself can do. */
export function faultPlan(act: { kill(): void; stop(): void; hit(fault: Fault): void }): FaultPlan {
  let faults: readonly Fault[] = [];
  let counts = new Map<string, number>();
  let passed: Passing[] = [];
  let gate = Promise.withResolvers<void>();

  const injector: FaultInjector = async (point, detail) => {
    const name = isName(detail) ? detail : undefined;
    const nth = count(`${point} ${name ?? ""}`);
    passed.push({ point, ...(name === undefined ? {} : { detail: name }), nth });
    const overall = name === undefined ? nth : count(`${point} *`);
    const fault = faults.find((one) => {
      if (one.point !== point || (one.detail !== undefined && one.detail !== detail)) return false;
      const at = one.detail === undefined ? overall : nth;
      const first = one.nth ?? 1;
      return at >= first && at < first + (one.times ?? 1);
    });
    if (fault === undefined) return;
    act.hit(fault);
    switch (fault.action) {
      case "kill":
        act.kill();
        return new Promise(() => undefined);
      case "stop":
        act.stop();
        return;
      case "delay":
        return gate.promise;
      case "lose":
        throw new Error("Connection terminated unexpectedly");
      case "repeat":
        throw Object.assign(new Error("could not serialize access"), { code: "40001" });
    }
  };

  function count(key: string): number {
    const next = (counts.get(key) ?? 0) + 1;
    counts.set(key, next);
    return next;
  }

  return {
    injector,
    set: (next) => {
      faults = next;
      counts = new Map();
      passed = [];
      gate.resolve();
      gate = Promise.withResolvers();
    },
    passings: () => passed,
    go: () => gate.resolve(),
  };
}

/** Statements, steps and queues have names; runs have ids, and pages have counts. */
function isName(detail: string): boolean {
  return !/^[0-9a-f]{8}-|^\d+ /.test(detail);
}

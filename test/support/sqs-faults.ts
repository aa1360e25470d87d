import { buildApp } from "fauxqs";
import { afterAll } from "vitest";
import { ensureQueues, openSqs, type SqsQueue } from "@ghouls/aws";
import { noFaults, type Publication, type PublishResult, type QueuePort } from "@ghouls/core";
import { freePort } from "./free-port.ts";
import { CREDENTIALS, type TestQueue } from "./queue.ts";

/** What SQS, or the way to it, does to what this process sends and receives. */
interface SqsFaults {
  /** Publications that are confirmed and never arrive. */
  drop: number;
  /** Copies of each publication that arrive. */
  copies: number;
  /** Whether publications are kept back, to arrive in reverse order at {@link FaultyQueue.flush}. */
  reorder: boolean;
  /** Calls that are refused as too many. */
  throttle: number;
  /** Calls that are carried out, and whose answer is lost. */
  lose: number;
}

export interface FaultyQueue extends QueuePort {
  readonly faults: SqsFaults;
  /** Publications that were kept back are sent, the last one first. */
  flush(): Promise<void>;
  close(): void;
}

export function faultyQueue(inner: SqsQueue): FaultyQueue {
  const faults: SqsFaults = { drop: 0, copies: 1, reorder: false, throttle: 0, lose: 0 };
  let kept: Publication[] = [];
  const take = (what: "drop" | "throttle" | "lose"): boolean => {
    if (faults[what] === 0) return false;
    faults[what] -= 1;
    return true;
  };
  /** One call: refused, or carried out, with its answer or without. */
  const call = async <T>(carryOut: () => Promise<T>): Promise<T> => {
    if (take("throttle"))
      throw Object.assign(new Error("Request is throttled."), { name: "RequestThrottled" });
    const answer = await carryOut();
    if (take("lose")) throw new Error("socket hang up");
    return answer;
  };
  return {
    faults,
    publish: async (publications): Promise<PublishResult> => {
      const all = (reason: string) => publications.map((publication) => ({ publication, reason }));
      if (take("throttle")) return { confirmed: [], failed: all("RequestThrottled") };
      const arriving = publications.filter(() => !take("drop"));
      const copies = Array.from({ length: faults.copies }, () => arriving).flat();
      if (faults.reorder) kept.push(...copies);
      const { failed } = faults.reorder ? { failed: [] } : await inner.publish(copies);
      if (take("lose")) return { confirmed: [], failed: all("socket hang up") };
      const refused = new Map(failed.map((one) => [one.publication, one]));
      return {
        confirmed: publications.filter((one) => !refused.has(one)),
        failed: [...refused.values()],
      };
    },
    wake: async (wakes) => {
      if (take("throttle")) return wakes.map(() => "RequestThrottled");
      const arriving = wakes.filter(() => !take("drop"));
      const reasons = await inner.wake(Array.from({ length: faults.copies }, () => arriving).flat());
      return take("lose") ? wakes.map(() => "socket hang up") : reasons;
    },
    flush: async () => {
      const last = kept.toReversed();
      kept = [];
      for (const publication of last) await inner.publish([publication]);
    },
    receive: (queue, options) => call(() => inner.receive(queue, options)),
    changeVisibility: (queue, handle, seconds) => call(() => inner.changeVisibility(queue, handle, seconds)),
    changeVisibilities: (queue, handles, seconds) =>
      call(() => inner.changeVisibilities(queue, handles, seconds)),
    delete: (queue, handle) => call(() => inner.delete(queue, handle)),
    close: () => inner.close(),
  };
}

/** An SQS server that can go away, with all that it held, and come back at the same address. */
export interface MortalQueue extends TestQueue {
  stop(): Promise<void>;
  start(): Promise<void>;
}

export async function mortalQueue(names: readonly string[] = ["runs", "rites"]): Promise<MortalQueue> {
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const connection = { region: "us-east-1", endpoint, credentials: CREDENTIALS };
  let app: ReturnType<typeof buildApp> | undefined;
  const start = async () => {
    app = buildApp({ logger: false });
    await app.listen({ host: "127.0.0.1", port });
    return ensureQueues(
      connection,
      names.map((name) => ({ name, visibilitySeconds: 30, maxReceiveCount: 1_000 })),
    );
  };
  const stop = async () => {
    const running = app;
    app = undefined;
    running?.server.closeAllConnections();
    await running?.close();
  };
  const addresses = await start();
  const urls = Object.fromEntries([...addresses].map(([name, { url }]) => [name, url]));
  const opened: SqsQueue[] = [];
  afterAll(async () => {
    for (const queue of opened) queue.close();
    await stop();
  });
  return {
    endpoint,
    urls,
    stop,
    start: async () => void (await start()),
    open: (faults = noFaults) => {
      const queue = openSqs({ ...connection, queueUrls: urls, faults, random: () => 0.5 });
      opened.push(queue);
      return queue;
    },
  };
}

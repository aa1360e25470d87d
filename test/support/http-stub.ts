import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll } from "vitest";

/** One call that reached the service. */
interface StubCall {
  readonly runId: string;
  readonly step: string;
  readonly key: string;
  readonly pid: number;
}

/** A service behind HTTP that keeps what it was asked for, and that a test can make wait. */
export interface HttpStub {
  readonly url: string;
  /** Calls of a run, of one step where it is named, in order of their arrival. */
  calls(runId: string, step?: string): readonly StubCall[];
  /** Names of the calls of a run. */
  names(runId: string): readonly string[];
  /** Steps of a run whose abort signal has fired, as they have told, each with the process. */
  aborted(runId: string): readonly Omit<StubCall, "key">[];
  /** How often the probe of this key was asked. */
  probes(key: string): number;
  /** Calls of steps of this name are kept without an answer until `release`. */
  hold(step: string): void;
  release(step: string): void;
}

export async function httpStub(): Promise<HttpStub> {
  const calls: StubCall[] = [];
  const aborted: Omit<StubCall, "key">[] = [];
  const probes = new Map<string, number>();
  const held = new Map<string, ServerResponse[]>();

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://stub");
    const [, what = "", runId = "", step = ""] = url.pathname.split("/").map(decodeURIComponent);
    const key = url.searchParams.get("key") ?? "";
    const pid = Number(url.searchParams.get("pid") ?? 0);
    if (what === "probe") {
      probes.set(key, (probes.get(key) ?? 0) + 1);
      response.end(JSON.stringify({ times: calls.filter((call) => call.key === key).length }));
      return;
    }
    if (what === "aborted") {
      aborted.push({ runId, step, pid });
      response.end("{}");
      return;
    }
    calls.push({ runId, step, key, pid });
    const waiting = held.get(step);
    if (waiting !== undefined) {
      waiting.push(response);
      return;
    }
    setTimeout(() => response.end(`"${step} was done"`), Number(url.searchParams.get("delay") ?? 0));
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  });
  const of = (runId: string, step?: string) =>
    calls.filter((call) => call.runId === runId && (step === undefined || call.step === step));
  return {
    url: `http://127.0.0.1:${port}`,
    calls: of,
    names: (runId) => of(runId).map((call) => call.step),
    aborted: (runId) => aborted.filter((one) => one.runId === runId),
    probes: (key) => probes.get(key) ?? 0,
    hold: (step) => void held.set(step, []),
    release: (step) => {
      const waiting = held.get(step) ?? [];
      held.delete(step);
      for (const response of waiting) response.end(`"${step} was done"`);
    },
  };
}

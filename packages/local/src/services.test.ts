import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { isAlive, untilGone } from "ghouls/processes/alive";
import { startChild, untilReady } from "ghouls/processes/child";
import { cleanEnv } from "./fake-parts.support.ts";
import { openLog } from "./log.ts";
import type { Services, ServicesOptions } from "./services.ts";
import { endLeftServices, startServices } from "./services.ts";
import { until } from "./until.support.ts";

// Real processes on a machine that may be busy.

const folder = mkdtempSync(join(tmpdir(), "ghouls-services-"));
const module = fileURLToPath(new URL("./fake-service.support.ts", import.meta.url));
const started: Services[] = [];
const logged: string[] = [];
const log = openLog(join(folder, "log"), (line) => logged.push(line));
let dataDir: string;
let changes = 0;
beforeEach(() => {
  dataDir = mkdtempSync(join(folder, "data-"));
  logged.length = 0;
  changes = 0;
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((services) => services.stop()));
});
afterAll(async () => {
  await log.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(over: Partial<ServicesOptions> = {}): Promise<Services> {
  const services = await startServices({
    services: { "my-signer": { module } },
    env: cleanEnv(),
    dataDir,
    log,
    onChange: () => (changes += 1),
    ...over,
  });
  started.push(services);
  return services;
}

const urlOf = ({ urls }: Services) => urls["GHOULS_SERVICE_MY_SIGNER_URL"] ?? "";

interface Seen {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly pid: number;
}
const see = async (services: Services, path = "/"): Promise<Seen> =>
  (await (await fetch(`${urlOf(services)}${path}`)).json()) as Seen;

/** What the service is to do when it starts again. */
function behave(how: string): void {
  mkdirSync(join(dataDir, "services", "my-signer"), { recursive: true });
  writeFileSync(join(dataDir, "services", "my-signer", "how"), how);
}

describe("a service of the project's own", () => {
  test("runs in a process of its own, with a folder and a port, and with nothing that is a function's", async () => {
    const env = {
      DATABASE_URL: "d",
      AWS_SECRET_ACCESS_KEY: "a",
      GHOULS_TOKEN: "g",
      GHOULS_QUEUE_RUNS_URL: "q",
      PGPASSWORD: "p",
      OWN: "o",
    };
    const services = await start({ env: cleanEnv(env) });
    const seen = await see(services);
    expect(services.processes()).toEqual([{ role: "my-signer", pid: seen.pid }]);
    expect(seen.pid).not.toBe(process.pid);
    expect(seen.argv).toEqual([module]);
    expect(seen.env).toMatchObject({ OWN: "o", DATA_DIR: join(dataDir, "services", "my-signer"), PORT: "0" });
    expect(Object.keys(seen.env).filter((name) => /^(AWS_|DATABASE_|GHOULS_|PGP)/.test(name))).toEqual([]);
    expect(statSync(join(dataDir, "services", "my-signer")).mode & 0o777).toBe(0o700);
    await services.stop();
    expect(isAlive(seen.pid)).toBe(false);
    expect(services.processes()).toEqual([]);
  });

  test("has the port that it had last time; where that is taken, another one", async () => {
    const first = await start();
    await first.stop();
    const second = await start();
    expect(urlOf(second)).toBe(urlOf(first));
    await second.stop();
    const thief = createServer().listen(Number(new URL(urlOf(first)).port), "127.0.0.1");
    await once(thief, "listening");
    const third = await start();
    expect(urlOf(third)).not.toBe(urlOf(first));
    expect((await see(third)).env["PORT"]).toBe("0");
    thief.close();
  });

  test.each(["{", "[]", '{"my-signer":"x"}', '{"my-signer":70000}'])(
    "has any port where the file of ports says %s",
    async (text) => {
      mkdirSync(join(dataDir, "services"));
      writeFileSync(join(dataDir, "services", "ports.json"), text);
      const services = await start();
      expect(JSON.parse(readFileSync(join(dataDir, "services", "ports.json"), "utf8"))).toMatchObject({
        "my-signer": Number(new URL(urlOf(services)).port),
      });
    },
  );

  test("that dies is started again on its port, again and again with growing delay, and that is told", async () => {
    const services = await start();
    const before = await see(services);
    process.kill(before.pid, "SIGKILL");
    await until(() => logged.at(-1)).toBe("host | the service my-signer is up again");
    expect((await see(services)).pid).not.toBe(before.pid);
    await see(services, "/how/exit");
    await fetch(`${urlOf(services)}/exit`).catch(() => undefined);
    await until(() => logged.filter((line) => line.includes("cannot be started")).length).toBe(2);
    behave("");
    await until(() => logged.at(-1)).toBe("host | the service my-signer is up again");
    expect(logged.filter((line) => line.startsWith("host | "))).toEqual([
      "host | the service my-signer ended: SIGKILL; it is started again in 250 ms",
      "host | the service my-signer is up again",
      "host | the service my-signer ended: exit code 7; it is started again in 500 ms",
      expect.stringMatching(/cannot be started: .* exit code 3; it is started again in 1000 ms$/),
      expect.stringMatching(/cannot be started: .* exit code 3; it is started again in 2000 ms$/),
      "host | the service my-signer is up again",
    ]);
    expect(services.processes()).toEqual([{ role: "my-signer", pid: (await see(services)).pid }]);
    expect(changes).toBeGreaterThan(3);
  });

  test("that comes back on another port is not taken: functions would not find it", async () => {
    const services = await start();
    await see(services, "/how/stray");
    await fetch(`${urlOf(services)}/exit`).catch(() => undefined);
    await until(() => logged.join("\n")).toMatch(
      /cannot be started: it listens on port \d+, and functions know/,
    );
    behave("");
    await until(() => logged.at(-1)).toBe("host | the service my-signer is up again");
    await see(services);
  });

  test("that the user runs himself is not started", async () => {
    const services = await start({ env: cleanEnv({ GHOULS_SERVICE_MY_SIGNER_URL: "http://127.0.0.1:1" }) });
    expect([services.urls, services.processes()]).toEqual([{}, []]);
  });

  test.each([
    ["that throws is told with what it threw", "throw", /my-signer could not start: it has no key/],
    ["that ends is told with how", "exit", /ended before it was ready: exit code 3/],
    ["that names no port is told what to say", "odd", /does not say where it listens/],
    ["that says nothing in time is told what to say", "mute", /does not say where it listens/],
  ])("%s, and none is left", async (_, how, message) => {
    behave(how);
    // Long enough for the other one.
    const starting = start({ services: { "my-signer": { module }, other: { module } }, readyMs: 5_000 });
    await expect(starting).rejects.toThrow(message);
    // Each has ended.
    expect(changes).toBe(2);
  });

  test("without its module is refused with where it is named", async () => {
    await expect(start({ services: { none: { module: "/no/where.ts" } } })).rejects.toMatchObject({
      code: "configuration_invalid",
      fix: expect.stringContaining("dev.services.none.module"),
    });
  });

  test("is ended at once where that is asked, also while it is started again", async () => {
    const services = await start();
    const { pid } = await see(services);
    services.kill();
    expect(await untilGone(pid, 10_000)).toBe(true);
    await services.stop();
    expect(logged.some((line) => line.includes("started again"))).toBe(false);

    const dying = await start();
    await see(dying, "/how/exit");
    await fetch(`${urlOf(dying)}/exit`).catch(() => undefined);
    await until(() => logged.join("\n")).toContain("started again in");
    await dying.stop();
    expect(dying.processes()).toEqual([]);
  });

  test("ends with a host that is killed, though its own loop is blocked; one that is left is ended by the next start", async () => {
    const host = startChild({
      source: "host",
      entry: new URL("./services-host.support.ts", import.meta.url),
      args: [module, dataDir],
      env: cleanEnv(),
      log,
    });
    const { processes, urls } = (await untilReady(host, "the host")) as unknown as {
      processes: { role: string; pid: number }[];
      urls: Record<string, string>;
    };
    const [{ pid } = { pid: 0 }] = processes;
    void fetch(`${urls["GHOULS_SERVICE_SIGNER_URL"]}/block`).catch(() => undefined);
    host.kill("SIGKILL");
    expect(await untilGone(pid, 20_000)).toBe(true);

    const services = await start();
    const alive = services.processes();
    await endLeftServices([{ role: "host", pid: process.pid }, { role: "gone", pid: 0 }, ...alive]);
    expect(isAlive(process.pid)).toBe(true);
    for (const left of alive) expect(isAlive(left.pid)).toBe(false);
  });
});

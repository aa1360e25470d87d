import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openLeftWorkers } from "./left-workers.ts";
import { startedAt, thisMachine } from "./machine.ts";

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "ghouls-left-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function sleeper(): Promise<ChildProcess & { readonly pid: number }> {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  await once(child, "spawn");
  onTestFinished(() => void child.kill("SIGKILL"));
  return child as ChildProcess & { readonly pid: number };
}

/** What a supervisor that is gone has left. */
async function leave(path: string, workers: readonly { worker: string; pid: number; startedAt: string }[]) {
  const supervisor = { pid: 2 ** 30, startedAt: "1" };
  const text = JSON.stringify({ machine: await thisMachine(), supervisor, workers });
  await writeFile(join(path, "workers-a.json"), text);
}

const seen = () => {
  const [gone, said]: [string[], string[]] = [[], []];
  return {
    gone,
    said,
    take: (worker: string) => void gone.push(worker),
    say: (text: string) => void said.push(text),
  };
};

test("a process is kept until its end is recorded, and the file goes with the last", async () => {
  const path = await folder();
  const left = await openLeftWorkers(join(path, "state"));
  const child = await sleeper();
  await left.add("a/1", child.pid);
  await left.add("a/2", 2 ** 30);
  const [name = ""] = await readdir(join(path, "state"));
  const kept = JSON.parse(await readFile(join(path, "state", name), "utf8")) as { workers: unknown };
  expect(kept.workers).toEqual([
    { worker: "a/1", pid: child.pid, startedAt: await startedAt(child.pid) },
    { worker: "a/2", pid: 2 ** 30, startedAt: "gone" },
  ]);
  // A live supervisor's are its own.
  const { gone, take, say } = seen();
  const other = await openLeftWorkers(join(path, "state"));
  await other.adopt(take, say);
  await left.forget("a/1");
  await left.forget("a/2");
  expect(await readdir(join(path, "state"))).toEqual([]);
  expect(gone).toEqual([]);
});

test("one that is left is gone when it has ended, or another has its number; before it is watched", async () => {
  const path = await folder();
  const child = await sleeper();
  const since = (await startedAt(child.pid)) ?? "";
  await leave(path, [
    { worker: "a/alive", pid: child.pid, startedAt: since },
    { worker: "a/later", pid: process.pid, startedAt: "1" },
    { worker: "a/ended", pid: 2 ** 30, startedAt: "1" },
  ]);
  const { gone, said, take, say } = seen();
  const left = await openLeftWorkers(path);
  await left.adopt(take, say);
  await expect.poll(() => gone.toSorted()).toEqual(["a/ended", "a/later"]);
  expect(await readdir(path)).not.toContain("workers-a.json");
  child.kill("SIGKILL");
  await expect.poll(() => gone).toContain("a/alive");
  for (const worker of gone) await left.forget(worker);
  await left.close();
  expect(await readdir(path)).toEqual([]);
  expect(said).toEqual([]);
});

test("one that is still there when the watching ends stays for the next", async () => {
  const path = await folder();
  const child = await sleeper();
  await leave(path, [{ worker: "a/1", pid: child.pid, startedAt: (await startedAt(child.pid)) ?? "" }]);
  const { gone, take, say } = seen();
  const left = await openLeftWorkers(path);
  await left.adopt(take, say);
  await left.close();
  expect(gone).toEqual([]);
  expect(await readdir(path)).toHaveLength(1);
});

test("nothing is said of what cannot be read, or is of another boot or container", async () => {
  const path = await folder();
  await leave(path, []);
  const kept = JSON.parse(await readFile(join(path, "workers-a.json"), "utf8")) as object;
  const elsewhere = { boot: "b", namespace: "pid:[1]" };
  const workers = [{ worker: "b/1", pid: 2 ** 30, startedAt: "1" }];
  await writeFile(join(path, "workers-a.json"), JSON.stringify({ ...kept, machine: elsewhere, workers }));
  await writeFile(join(path, "workers-b.json"), "{");
  const { gone, said, take, say } = seen();
  await (await openLeftWorkers(path)).adopt(take, say);
  expect(said.toSorted()).toEqual([
    expect.stringMatching(
      /workers-a\.json is of another machine, container or boot, where b\/1 may still run/,
    ),
    expect.stringMatching(/workers-b\.json cannot be read/),
  ]);
  expect(gone).toEqual([]);
  expect(await readdir(path)).toEqual(["workers-a.json", "workers-b.json"]);
});

test("a system that hides its processes, or has no such files, is no proof of an end", async () => {
  const path = await folder();
  await expect(openLeftWorkers(path, join(path, "none"))).rejects.toMatchObject({
    code: "configuration_invalid",
    fix: "Leave --state-dir out: it needs Linux, with /proc.",
  });
  const proc = join(path, "proc");
  await mkdir(join(proc, "sys/kernel/random"), { recursive: true });
  await mkdir(join(proc, "self/ns"), { recursive: true });
  await mkdir(join(proc, String(process.pid)));
  const { boot, namespace } = await thisMachine();
  await writeFile(join(proc, "sys/kernel/random/boot_id"), `${boot}\n`);
  await symlink(namespace, join(proc, "self/ns/pid"));
  await writeFile(join(proc, String(process.pid), "stat"), await readFile("/proc/self/stat", "utf8"));
  const hidden = await sleeper();
  const state = join(path, "state");
  await mkdir(state);
  await leave(state, [{ worker: "a/1", pid: hidden.pid, startedAt: "1" }]);
  const { gone, said, take, say } = seen();
  await (await openLeftWorkers(state, proc)).adopt(take, say);
  await expect.poll(() => said).toEqual([expect.stringMatching(/whether a\/1 has ended cannot be told/)]);
  expect(gone).toEqual([]);
});

test("a zombie acts no more", async () => {
  const path = await folder();
  await mkdir(join(path, "7"));
  const fields = (state: string) =>
    `7 (a) b) ${state} ${Array.from({ length: 30 }, (_, at) => at + 4).join(" ")}`;
  await writeFile(join(path, "7/stat"), fields("S"));
  expect(await startedAt(7, path)).toBe("22");
  await writeFile(join(path, "7/stat"), fields("Z"));
  expect(await startedAt(7, path)).toBeUndefined();
});

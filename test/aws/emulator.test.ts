import { spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../support/wait.ts";
import { end } from "./emulator.ts";

/** Whether a process is there and no corpse. */
function alive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    expect(error).toMatchObject({ code: "ESRCH" });
    return false;
  }
}

test.each([
  ["is there", "exec sleep 300", undefined],
  ["has crashed", "exit 3", undefined],
  ["was killed by a signal", "exec sleep 300", "SIGKILL"],
] as const)("of an emulator that %s nothing stays: no function, no folder", async (_what, then, signal) => {
  const folder = mkdtempSync(join(tmpdir(), "ghouls-emulator-"));
  const child = spawn("sh", ["-c", `sleep 300 >/dev/null & echo $!; ${then}`], {
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = once(child, "exit");
  const [text] = (await once(child.stdout, "data")) as [Buffer];
  const pid = Number(text.toString());
  if (signal !== undefined) child.kill(signal);
  if (signal !== undefined || then.startsWith("exit")) await ended;
  expect(alive(pid)).toBe(true);
  await end(child, folder);
  await until("the function's end", () => !alive(pid));
  expect(existsSync(folder)).toBe(false);
});

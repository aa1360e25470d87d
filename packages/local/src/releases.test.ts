import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startReleasing } from "./releases.ts";

test("a publication that a stop waits for ends at once where it is told to", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ghouls-releasing-"));
  try {
    const file = join(folder, "code.json");
    await writeFile(file, '{"manifest":{"gate@1":"d1"},"files":{}}');
    const functions =
      "data:text/javascript,export const publishCode = () => new Promise((settle) => setTimeout(settle, 1e9));";
    const lines: string[] = [];
    let asked = false;
    const releasing = startReleasing({ file, manifest: { "gate@1": "d1" } } as never, {
      functions,
      configPath: "none",
      env: process.env,
      log: {
        line: (_source: string, text: string) => void lines.push(text),
        follow: () => undefined,
      } as never,
      ledger: {
        runs: {
          openOfPins: () => {
            asked = true;
            return Promise.resolve([{ name: "gate", version: 1, digest: "d1", runs: 1 }]);
          },
        },
      } as never,
    });
    const stopped = releasing.stop();
    await expect.poll(() => asked).toBe(true);
    releasing.kill();
    await stopped;
    expect(lines).toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

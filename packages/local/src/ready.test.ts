import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { refuseUnready } from "./ready.ts";

/** An API that answers so. */
async function api(status: number, body: unknown): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
const failing = (name: string) => ({
  checks: [
    { name: "ledger", ok: true, detail: "PostgreSQL answers" },
    { name, ok: false, detail: "no" },
  ],
});

test("an API that is ready, or has no such word, is taken", async () => {
  await refuseUnready(await api(200, { checks: [] }));
  await refuseUnready(await api(404, ""));
});

test.each([
  ["schema", failing("schema"), "schema: no", "ghouls migrate"],
  ["integrity", failing("integrity"), "integrity: no", "ghouls doctor --strict"],
  ["ledger", failing("another"), "another: no", "The log names the reason"],
  ["nothing that is known", { detail: "not started" }, "not started", "The log names the reason"],
  ["nothing at all", "<html>", "no reason given", "The log names the reason"],
])("one that fails for %s is refused with what to do", async (_, body, detail, fix) => {
  await expect(refuseUnready(await api(503, body))).rejects.toMatchObject({
    code: "configuration_invalid",
    message: `the API is not ready: ${detail}`,
    fix: expect.stringContaining(fix),
  });
});

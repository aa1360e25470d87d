import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

/** A service of a user's project, of which a test asks things by paths, or by a file `how` in its folder. */
const { DATA_DIR: dataDir = "", PORT: port = "" } = process.env;
const file = join(dataDir, "how");
const how = existsSync(file) ? readFileSync(file, "utf8") : "";
if (how === "throw") throw new Error("it has no key");
if (how === "exit") process.exit(3);

const server = createServer((request, response) => {
  if (request.url === "/block") for (;;);
  if (request.url === "/exit") process.exit(7);
  if (request.url?.startsWith("/how/") === true) writeFileSync(file, request.url.slice("/how/".length));
  const { argv, env, pid } = process;
  response.end(JSON.stringify({ argv: argv.slice(1), env, pid }));
});
server.listen(how === "stray" ? 0 : Number(port), "127.0.0.1", () => {
  if (how !== "mute")
    process.send?.({ type: "ready", port: how === "odd" ? "x" : (server.address() as AddressInfo).port });
});

import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { openFolder } from "./durable-file.ts";
import { openJobs } from "./jobs.ts";
import { openSigner } from "./keys.ts";
import { createSigningServer } from "./server.ts";
import { carryOut } from "./work.ts";

/**
 * The signing service, a process of its own that knows nothing of Ghouls: it takes jobs over HTTP and signs. `DATA_DIR` keeps its
 * key and its jobs, `PORT` is where it listens on loopback (0: any), `TURN_MS` how long a job waits for its turn. Whoever
 * reaches it may have it sign: in earnest it would ask who that is.
 */
const { DATA_DIR: dataDir, PORT: port = "4801", TURN_MS: turnMs = "20" } = process.env;
if (dataDir === undefined || dataDir === "")
  throw new Error("DATA_DIR must name the folder of its key and its jobs");
const log = (text: string): void => void process.stdout.write(`${text}\n`);

await openFolder(dataDir);
const signer = await openSigner(dataDir);
const { jobs, open } = await openJobs(join(dataDir, "jobs"));
const work = { jobs, signer, turnMs: Number(turnMs), log };
/** Carried out at this moment: the same submission twice is one. */
const underWay = new Set<string>();
const carry = (key: string): void => {
  if (underWay.has(key)) return;
  underWay.add(key);
  void carryOut(key, work).finally(() => underWay.delete(key));
};
for (const { key } of open) carry(key);
const server = createSigningServer({ jobs, publicKey: signer.publicKey, accepted: carry, log });
server.listen(Number(port), "127.0.0.1", () => {
  const address = server.address() as AddressInfo;
  log(`the signing service listens on 127.0.0.1:${address.port}`);
  process.send?.({ type: "ready", port: address.port });
});

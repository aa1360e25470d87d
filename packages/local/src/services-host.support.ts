import { startServices } from "./services.ts";

/** A host that only starts one service, to be killed by a test. */
const [module = "", dataDir = ""] = process.argv.slice(2);
const log = { line: () => undefined, follow: () => undefined, close: () => Promise.resolve() };
const services = await startServices({
  services: { signer: { module } },
  env: process.env,
  dataDir,
  log,
  onChange: () => undefined,
});
process.send?.({ type: "ready", urls: services.urls, processes: services.processes() });

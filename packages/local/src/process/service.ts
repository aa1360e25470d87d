import { pathToFileURL } from "node:url";
import { endWithHost, fail } from "ghouls/processes/channel";

/**
 * A service of the user's project: `service.ts <module>`. The module needs to know nothing of us: it listens on `PORT` and says
 * `process.send?.({ type: "ready", port })`. It ends with the host, whatever it does.
 */
async function main(): Promise<void> {
  const [module = ""] = process.argv.slice(2);
  endWithHost();
  // As if it had been started by itself.
  process.argv.splice(1, 2, module);
  await import(pathToFileURL(module).href);
}

await main().catch(fail);

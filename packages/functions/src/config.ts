import { GhoulsError } from "ghouls";
import type { Config } from "ghouls";

/** Stands where the build's alias `#config` puts the user's configuration. */
const missing: Config = new Proxy({} as Config, {
  get() {
    throw new GhoulsError("configuration_invalid", "this function was bundled without a configuration", {
      fix: "Bundle it with the alias #config set to your ghouls.config.ts.",
    });
  },
});

export default missing;

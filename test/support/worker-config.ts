import { crashConfig, type CrashSettings } from "./crash-workflows.ts";

/** The configuration of the crash tests as a file of a user's, for `ghouls worker`. */
const settings = JSON.parse(process.env["CRASH_SETTINGS"] ?? "{}") as CrashSettings;

export default crashConfig({ worker: "process", ...settings });

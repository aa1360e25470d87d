import { blameHop } from "@ghouls/engine";
import { type Logger, errorInLog } from "@ghouls/core";

let installed = false;

/**
 * A promise that user code left rejected, or a timer of its that throws, fails its own run instead of the process, which
 * it shares with others. What belongs to no run, and to no other
 * listener, ends the process, as it does by default.
 */
export function guardProcess(log: Logger): void {
  if (installed) return;
  installed = true;
  const take =
    (event: "unhandledRejection" | "uncaughtException") =>
    (error: unknown): void => {
      const fields = { error: errorInLog(error) };
      if (blameHop(error)) log.error("user code left an error to the process; its run fails", fields);
      else if (process.listenerCount(event) === 1) {
        log.error("an error that belongs to no run ends the process", fields);
        process.exit(1);
      }
    };
  process.on("unhandledRejection", take("unhandledRejection"));
  process.on("uncaughtException", take("uncaughtException"));
}

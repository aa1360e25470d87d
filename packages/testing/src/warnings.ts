import type { LogFields, Logger } from "@ghouls/core";

/** The latest of each run that are told where it stands still. */
const KEPT = 3;

/** A logger that keeps what is warned of each run, and passes everything on. */
export function keepingWarnings(to: Logger | undefined) {
  const kept = new Map<string, string[]>();
  const at =
    (level: keyof Logger): Logger["info"] =>
    (message, fields = {}) => {
      to?.[level](message, fields);
      const { runId, ...others } = fields;
      if ((level !== "warn" && level !== "error") || typeof runId !== "string") return;
      kept.set(runId, [...(kept.get(runId) ?? []), `${message} ${inWords(others)}`.trim()].slice(-KEPT));
    };
  const log: Logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  return { log, of: (runId: string): readonly string[] => kept.get(runId) ?? [], clear: () => kept.clear() };
}

function inWords(fields: LogFields): string {
  return Object.keys(fields).length === 0 ? "" : JSON.stringify(fields);
}

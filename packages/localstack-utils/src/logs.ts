import type { Made } from "./apply/applier.ts";
import { isAbsent } from "./apply/applier.ts";
import type { Clients } from "./clients.ts";

interface LogLine {
  /** The function's part of its log group. */
  readonly group: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly text: string;
}

const LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup";

/** What the functions of a stack have logged, one function after the other, the oldest line first. */
export async function* readLogs(made: readonly Made[], { logs }: Clients): AsyncGenerator<LogLine> {
  for (const { keys } of made.filter(({ type }) => type === LOG_GROUP)) {
    const name = keys["name"] ?? "";
    const group = name.split("/").at(-1) ?? name;
    let nextToken: string | undefined;
    try {
      do {
        const page = await logs.filterLogEvents({
          logGroupName: name,
          ...(nextToken === undefined ? {} : { nextToken }),
        });
        for (const { timestamp, message } of page.events ?? []) {
          yield { group, at: timestamp ?? 0, text: (message ?? "").trimEnd() };
        }
        nextToken = page.nextToken;
      } while (nextToken !== undefined);
    } catch (error) {
      // Nothing has been logged there yet.
      if (!isAbsent(error)) throw error;
    }
  }
}

import type { Executor, Row } from "../connection/database.ts";
import { behind, positionOf, type Position } from "./keyset.ts";
import { readStatement, type Statement } from "./statement.ts";

/** What a pass looks for: a page of what is due, or owners by name as far as they are due. */
export interface DueLook {
  readonly limit: number;
  /** Behind this position; at the first where undefined. */
  readonly after?: Position | undefined;
  /** Nothing that became due later. */
  readonly until?: Date | undefined;
  /** Of these owners only; the position and the bound say nothing then. */
  readonly owners?: readonly string[] | undefined;
}

/** The two ways of a look. They are two statements, so that each has the plan of its own index. */
export interface DueStatements {
  readonly page: Statement;
  readonly named: Statement;
}

interface DueColumns {
  /** When a row is due, and what tells rows of one moment apart. */
  readonly time: string;
  readonly id: string;
  /** The owner as the rows have it, and the column that it is selected as. */
  readonly owner: string;
  readonly column: string;
}

/**
 * @param select what is due but for its time, which it is given to put into its WHERE. It selects the columns that
 *   {@link pageOf} reads.
 */
export function dueStatements(
  name: string,
  { time, id, owner, column }: DueColumns,
  select: (due: string) => string,
): DueStatements {
  return {
    page: readStatement(
      name,
      `${select(`${inPage(time)} and ${behind(time, id, 2)}`)}
order by ${time}, ${id}
limit $1`,
    ),
    // One row an owner: a limit that cut one off would take it for one that is no longer due.
    named: readStatement(
      `${name}-named`,
      `select distinct on (due.${column}) due.*
from (${select(`${owner} = any($2::uuid[]) and ${dueByName(time)}`)}) as due
order by due.${column}
limit $1`,
    ),
  };
}

/** What is due now, or was at the bound in `$4`. */
export const inPage = (time: string): string => `${time} <= least($4::timestamptz, ghouls.clock())`;

/** What is due now, in words that no index of times answers: owners are read by their names. */
export const dueByName = (time: string): string => `${time} + interval '0 seconds' <= ghouls.clock()`;

export function runDue(executor: Executor, statements: DueStatements, look: DueLook): Promise<Row[]> {
  const { limit, after, until, owners } = look;
  return owners === undefined
    ? executor.run(statements.page, [limit, ...positionOf(after), until ?? null])
    : executor.run(statements.named, [limit, owners]);
}

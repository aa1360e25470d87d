/** First words of statements that neither end a transaction nor outlive it. */
const LET_THROUGH = new Set([
  "select",
  "insert",
  "update",
  "delete",
  "merge",
  "with",
  "values",
  "table",
  "truncate",
  "lock",
  "call",
  "do",
  "savepoint",
  "release",
  "explain",
  "show",
  "notify",
]);

/** Settings that the engine has made, or relies on. */
const OURS = new Set([
  "statement_timeout",
  "lock_timeout",
  "transaction_timeout",
  "idle_in_transaction_session_timeout",
  "datestyle",
  "session",
  "role",
]);

/** Tables of the session. In a text or a comment it is refused too, for want of a parser. */
const OUTLIVES = /\binto\s+(?:(?:local|global)\s+)?temp(?:orary)?\b|\bpg_temp\b/i;

/** What ends a transaction, or begins one. */
const ENDS = new Set(["begin", "start", "commit", "end", "abort", "rollback", "prepare"]);

const ALLOWED =
  "Let through are SELECT, INSERT, UPDATE, DELETE, MERGE, WITH, VALUES, TABLE, TRUNCATE, LOCK, CALL, DO, EXPLAIN, SHOW, NOTIFY, SAVEPOINT, RELEASE, ROLLBACK TO, SET LOCAL and SET CONSTRAINTS";

/**
 * Why a statement is not sent inside of `ctx.transaction`, with the fix; undefined where it is. That it is only one, the
 * protocol sees to.
 */
export function whyNotSent(text: unknown): string | undefined {
  if (typeof text !== "string")
    return "a statement is a text, with its values beside it: tx.query(text, values)";
  const [first, ...rest] = wordsOf(text, 4);
  if (first === undefined) return "there is no statement in it";
  if (OUTLIVES.test(text))
    return "a temporary table outlives the transaction, on a connection that others get: use a table, or WITH";
  if (LET_THROUGH.has(first)) return undefined;
  const [second, third] = rest;
  if (first === "set") {
    if (second === "local" && OURS.has(third ?? ""))
      return `SET LOCAL ${third} is not let through: what the engine does in the transaction relies on it`;
    if (second === "local" || second === "constraints") return undefined;
    return `SET would outlive the transaction, on a connection that others get: write SET LOCAL`;
  }
  if (first === "rollback") {
    const target = second === "work" || second === "transaction" ? third : second;
    if (target === "to") return undefined;
  }
  if (ENDS.has(first)) {
    return (
      `${first.toUpperCase()} would begin, end or leave the transaction, which ctx.transaction does itself: return from ` +
      "the function to commit, throw to roll back, and use SAVEPOINT and ROLLBACK TO for a part of it"
    );
  }
  return `${first.slice(0, 40).toUpperCase()} is not let through inside of ctx.transaction. ${ALLOWED}; for others use a step with a connection of its own`;
}

/** The first words of a statement in lower case, without what stands before and between them: space, comments, "(". */
function wordsOf(text: string, count: number): string[] {
  const words: string[] = [];
  let at = 0;
  while (words.length < count) {
    at = afterSpace(text, at);
    if (words.length === 0 && text[at] === "(") {
      at += 1;
      continue;
    }
    const word = /^[a-z_\u0080-\uffff][\w$\u0080-\uffff]*/i.exec(text.slice(at, at + 64))?.[0];
    if (word === undefined) break;
    words.push(word.toLowerCase());
    at += word.length;
  }
  return words;
}

/** Comments nest in PostgreSQL. */
function afterSpace(text: string, from: number): number {
  let at = from;
  for (;;) {
    if (/\s/.test(text[at] ?? "")) {
      at += 1;
    } else if (text.startsWith("--", at)) {
      const end = /[\n\r]/.exec(text.slice(at));
      if (end === null) return text.length;
      at += end.index + 1;
    } else if (text.startsWith("/*", at)) {
      at = afterComment(text, at);
    } else {
      return at;
    }
  }
}

function afterComment(text: string, from: number): number {
  let depth = 0;
  let at = from;
  do {
    const step = text.startsWith("/*", at) ? 1 : text.startsWith("*/", at) ? -1 : 0;
    depth += step;
    at += step === 0 ? 1 : 2;
  } while (depth > 0 && at < text.length);
  return at;
}

/** The most that a name may have, in UTF-16 units. */
const MAX_NAME = 200;

/** Whether something can name a call: the ledger keeps no NUL, and no half of a character. */
export function isCallName(name: unknown): name is string {
  return (
    typeof name === "string" &&
    name !== "" &&
    name.length <= MAX_NAME &&
    !name.includes("\0") &&
    name.isWellFormed()
  );
}

/** What is said where something cannot. */
export function notAName(what: string): string {
  return `the name of a ${what} is a text of 1 to ${MAX_NAME} characters`;
}

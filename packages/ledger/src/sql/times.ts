/** Before all runs, and after them. Years that JavaScript knows and PostgreSQL does not mean the same. */
const FIRST = new Date(0);
const LAST = new Date("9999-12-31T00:00:00Z");

/** From when to when, as two values that PostgreSQL takes; from the beginning to the end where nothing is said. */
export function timesOf({
  after = FIRST,
  before = LAST,
}: {
  readonly after?: Date | undefined;
  readonly before?: Date | undefined;
}): readonly [after: Date, before: Date] {
  return [within(after), within(before)];
}

function within(time: Date): Date {
  return time < FIRST ? FIRST : time > LAST ? LAST : time;
}

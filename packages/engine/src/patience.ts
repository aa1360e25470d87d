/** A longer timer of Node fires at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** Whether work ends before this many milliseconds have passed. Leaves no timer; what comes later is nobody's. */
export async function endsWithin(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), Math.min(Math.max(0, milliseconds), LONGEST_TIMER_MS));
  try {
    return await Promise.race([work.then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * What a call answers, if it does within this time.
 * @throws NoAnswerInTimeError where the time has passed
 */
export async function answerWithin<T>(call: Promise<T>, milliseconds: number): Promise<T> {
  if (await endsWithin(call, milliseconds)) return call;
  throw new NoAnswerInTimeError(milliseconds);
}

/** Told from what somebody else has thrown by its name, which is all that a log has of it. */
class NoAnswerInTimeError extends Error {
  constructor(milliseconds: number) {
    super(`no answer within ${milliseconds} ms`);
    this.name = "NoAnswerInTime";
  }
}

/**
 * What a call answers, if it does within this time. What comes later is nobody's: its rejection included.
 * @throws Error where the time has passed
 */
export async function answerWithin<T>(call: Promise<T>, milliseconds: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${milliseconds} ms`)), milliseconds);
  try {
    return await Promise.race([call, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

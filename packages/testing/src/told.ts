import { GhoulsError } from "@ghouls/core";

/**
 * Makes a call, and lets what it throws tell where in the test it was made and what to do: a driver that carries many runs
 * has no frame of any of them.
 */
export async function told<T>(call: () => Promise<T>): Promise<T> {
  const here: { stack?: string } = {};
  Error.captureStackTrace(here, told);
  try {
    return await call();
  } catch (error) {
    if (error instanceof Error) tellOf(error, here.stack ?? "");
    throw error;
  }
}

function tellOf(error: Error, here: string): void {
  if (error instanceof GhoulsError) {
    const issues = (error.issues ?? []).map(({ path, message }) => `${path || "the input"}: ${message}`);
    const more = [...issues, ...(error.fix === undefined ? [] : [error.fix])].filter(
      (text) => !error.message.includes(text),
    );
    if (more.length > 0) error.message = `${error.message}\n  ${more.join("\n  ")}`;
  }
  const frames = here.slice(here.indexOf("\n") + 1);
  if (error.stack?.includes(frames) !== true) error.stack = `${error.name}: ${error.message}\n${frames}`;
}

import { expect } from "vitest";

/** Waits for a fact; the bound only ends a test whose fact never comes. */
export function until<T>(look: () => T) {
  return expect.poll(look, { timeout: 120_000, interval: 20 });
}

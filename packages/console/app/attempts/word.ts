import type { wire } from "@ghouls/core";

export type Outcome = wire.AttemptResolution["outcome"];

/** An operator's word as the API takes it. @throws Error that says what of it cannot be read */
export function wordOf(
  outcome: Outcome,
  reason: string,
  form: Pick<FormData, "get">,
): wire.AttemptResolution {
  const text = (name: string): string => {
    const value = form.get(name);
    return typeof value === "string" ? value.trim() : "";
  };
  if (outcome === "succeeded") return { outcome, reason, result: parsed(text("result")) };
  if (outcome === "failed") return { outcome, reason, error: { code: text("code"), message: reason } };
  return { outcome, reason };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error("What it gave is no JSON: write null where it gives nothing.", { cause: error });
  }
}

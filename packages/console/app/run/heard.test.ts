import { describe, expect, it } from "vitest";
import { heard, NOTHING_HEARD } from "./heard.ts";

const at = "2030-01-31T12:00:00Z";
const chunk = (text: string, enqueueSeq = 1, channel = "answer") => ({
  kind: "chunk" as const,
  at,
  enqueueSeq,
  channel,
  chunk: text,
});

describe("what is heard of a run", () => {
  it("joins chunks of a channel, and keeps channels apart", () => {
    const told = heard(heard(NOTHING_HEARD, [chunk("The ")]), [chunk("dead"), chunk("log", 1, "log")]);
    expect([...told.channels].map(([name, { text }]) => [name, text])).toEqual([
      ["answer", "The dead"],
      ["log", "log"],
    ]);
  });

  it("starts a channel again where another hop says it again", () => {
    const told = heard(heard(NOTHING_HEARD, [chunk("The d")]), [chunk("The dead", 2)]);
    expect(told.channels.get("answer")).toMatchObject({ text: "The dead", enqueueSeq: 2, isCut: false });
  });

  it("lets the beginning of a long text go, and says so from then on", () => {
    const long = heard(NOTHING_HEARD, [chunk("x".repeat(100_000)), chunk("end")]);
    expect(long.channels.get("answer")).toMatchObject({ isCut: true });
    const more = heard(long, [chunk("!")]);
    expect(more.channels.get("answer")?.isCut).toBe(true);
    expect(more.channels.get("answer")?.text.endsWith("end!")).toBe(true);
    expect(more.channels.get("answer")?.text).toHaveLength(100_000);
  });

  it("remembers that something was missed", () => {
    expect(heard(NOTHING_HEARD, [{ kind: "gap", at }]).gapAt).toBe(at);
  });
});

import { describe, expect, it } from "vitest";
import { agoText, leftText, sizeText, spanText } from "./spans.ts";

const NOW = Date.parse("2030-01-31T12:00:00Z");

describe("spans of time", () => {
  it.each([
    [0, "0 ms"],
    [1_400, "1.4 s"],
    [59_900, "59 s"],
    [200_000, "3 min 20 s"],
    [3_600_000, "1 h"],
    [187_200_000, "2 d 4 h"],
  ])("say %i ms as %s", (ms, text) => {
    expect(spanText(ms)).toBe(text);
  });

  it("say how long ago and how long from now, whole", () => {
    expect(agoText("2030-01-31T11:59:58Z", NOW)).toBe("just now");
    expect(agoText("2030-01-31T11:56:00Z", NOW)).toBe("4 min ago");
    expect(leftText("2030-02-03T11:30:00Z", NOW)).toBe("in 2 d 23 h");
    expect(leftText("2030-01-31T12:00:05.600Z", NOW)).toBe("in 5.0 s");
    expect(leftText("2030-01-31T11:00:00Z", NOW)).toBe("now");
  });

  it("say sizes in decimal units", () => {
    expect([999, 12_400, 3_440_000].map(sizeText)).toEqual(["999 B", "12 kB", "3.4 MB"]);
  });
});

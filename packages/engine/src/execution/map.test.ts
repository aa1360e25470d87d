import { describe, expect, test } from "vitest";
import { eachItem, understandMap } from "./map.ts";

const none = () => undefined;

describe("what a map can be", () => {
  test.each([
    ["", [], none, undefined, "the name of a map is a text"],
    [7, [], none, undefined, "the name of a map is a text"],
    ["m", new Set([1]), none, undefined, "its items are an array"],
    ["m", undefined, none, undefined, "its items are an array"],
    ["m", Array.from({ length: 10_001 }), none, undefined, "10001 items, 10000 is the most"],
    ["m", [], "no function", undefined, 'map "m" has no function'],
    ["m", [], none, null, "its options are an object"],
    ["m", [], none, { concurency: 2 }, 'option "concurency" is not known'],
    ["m", [], none, { concurrency: 0 }, "a whole number from 1 to 1000"],
    ["m", [], none, { concurrency: 1.5 }, "a whole number from 1 to 1000"],
    ["m", [], none, { concurrency: 1001 }, "a whole number from 1 to 1000"],
  ])("refuses %#: it says what to do", (name, items, run, options, words) => {
    expect(understandMap(name, items, run, options as never)).toContain(words);
  });

  test("holes of an array are items too, and what becomes of the array later changes nothing", () => {
    const items: unknown[] = [1];
    items[2] = 3;
    const mapped = understandMap("m", items, none, undefined);
    items.push(4);
    expect(mapped).toEqual({ name: "m", items: [1, undefined, 3], concurrency: 10 });
  });
});

describe("the items", () => {
  const mapped = (items: unknown[], concurrency: number) => ({ name: "m", items, concurrency });

  test("so many at the same time, each begun when one has ended, with the results in the order of the items", async () => {
    const ends = new Map<number, (value: string) => void>();
    const begun: number[] = [];
    const all = eachItem(mapped(["a", "b", "c", "d"], 2), (_, index) => {
      begun.push(index);
      return new Promise((resolve) => ends.set(index, resolve));
    });
    expect(begun).toEqual([0, 1]);
    ends.get(1)?.("B");
    await Promise.resolve();
    expect(begun).toEqual([0, 1, 2]);
    ends.get(2)?.("C");
    ends.get(0)?.("A");
    await Promise.resolve();
    expect(begun).toEqual([0, 1, 2, 3]);
    ends.get(3)?.("D");
    expect(await all).toEqual(["A", "B", "C", "D"]);
  });

  test("no items: no results, and nothing is called", async () => {
    expect(await eachItem(mapped([], 5), () => Promise.reject(new Error("called")))).toEqual([]);
  });

  test("the first that throws is thrown at once, and no further item begins", async () => {
    const begun: number[] = [];
    let end: (() => void) | undefined;
    const all = eachItem(mapped([0, 1, 2, 3], 2), (_, index) => {
      begun.push(index);
      if (index === 1) return Promise.reject(new Error("second"));
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    await expect(all).rejects.toThrow("second");
    end?.();
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toEqual([0, 1]);
  });
});

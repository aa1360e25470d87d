import { describe, expect, it } from "vitest";
import { layout, TwoVersions, type Link } from "./layout.ts";

const link = (from: string | null, name: string, to: string): Link => ({ from, name, to });
const places = (links: readonly Link[]) =>
  Object.fromEntries(layout(links).map(({ at, folder }) => [at, folder]));

describe("packages beside a bundle", () => {
  it("lie at the top under the name that they are imported by", () => {
    expect(places([link(null, "a", "/store/a@1"), link("/store/a@1", "b", "/store/b@1")])).toEqual({
      "node_modules/a": "/store/a@1",
      "node_modules/b": "/store/b@1",
    });
  });

  it("lie below the one that imports them where another has the name at the top", () => {
    const links = [
      link(null, "a", "a"),
      link(null, "b", "b@2"),
      link("a", "b", "b@1"),
      link("b@1", "c", "c@1"),
      link("b@2", "c", "c@2"),
    ];
    const placed = places(links);
    expect(placed).toMatchObject({ "node_modules/b": "b@2", "node_modules/a/node_modules/b": "b@1" });
    // Which of both comes to the top is no matter; each finds its own.
    expect(Object.values(placed).toSorted()).toEqual(["a", "b@1", "b@2", "c@1", "c@2"]);
  });

  it("may import each other in a circle, and themselves", () => {
    const links = [link(null, "a", "a"), link("a", "b", "b"), link("b", "a", "a"), link("b", "b", "b")];
    expect(places(links)).toEqual({ "node_modules/a": "a", "node_modules/b": "b" });
  });

  it("are the same in whatever order they were found", () => {
    const links = [link(null, "a", "a"), link("a", "c", "c@1"), link(null, "b", "b"), link("b", "c", "c@2")];
    expect(layout(links.toReversed())).toEqual(layout(links));
  });

  it("are refused where the bundle would need two of one name", () => {
    expect(() => layout([link(null, "a", "a@1"), link(null, "a", "a@2")])).toThrow(TwoVersions);
  });
});

import { expect, test } from "vitest";
import { Scopes, itemScope, reserveScope } from "./scopes.ts";

test("each use of a name, and each item of it, is a place of its own", () => {
  const scopes = new Scopes();
  const first = scopes.enter("", "map", "files");
  first?.leave();
  const second = scopes.enter("", "map", "files");
  const inner = scopes.enter(itemScope(second?.path ?? "", 3), "map", "files");
  expect([first?.path, second?.path, inner?.path]).toEqual(["files", "files#2", "files#2[3]/files"]);
});

test("a name that is open in its scope is not entered again, and in another it is", () => {
  const scopes = new Scopes();
  expect(scopes.enter("", "map", "files")).toBeDefined();
  expect(scopes.enter("", "map", "files")).toBeUndefined();
  expect(scopes.enter("a[0]", "map", "files")).toBeDefined();
});

test("what units are held for is a place of its own, also beside a map of the name, and whatever the name has in it", () => {
  const scopes = new Scopes();
  const [map, first] = [scopes.enter("", "map", "gpu"), scopes.enter("", "reserve", "gpu")];
  first?.leave();
  const second = scopes.enter("", "reserve", "gpu");
  const odd = scopes.enter(reserveScope(second?.path ?? ""), "reserve", "gpu{}");
  const [item, one] = [itemScope(map?.path ?? "", 0), reserveScope(first?.path ?? "")];
  expect([item, one, reserveScope(second?.path ?? "")]).toEqual(["gpu[0]", "gpu{}", "gpu#2{}"]);
  expect(odd?.path).toBe("gpu#2{}/gpu%7B%7D");
});

test("no name can look like the path of another place", () => {
  const scopes = new Scopes();
  const paths = ["a[0]", "a/b", "a#2", "a%5B0%5D", "a", "a[0]/b"].map(
    (name) => scopes.enter("", "map", name)?.path,
  );
  expect(paths).toEqual(["a%5B0%5D", "a%2Fb", "a%232", "a%255B0%255D", "a", "a%5B0%5D%2Fb"]);
  expect(new Set(paths).size).toBe(paths.length);
});

import { expect, test } from "vitest";
import { allOrNothing, createOwner } from "./owner.ts";

function part(name: string, notes: string[]) {
  return {
    stop: () => {
      notes.push(`stop ${name}`);
      return name === "bad" ? Promise.reject(new Error("does not stop")) : Promise.resolve();
    },
    kill: () => notes.push(`kill ${name}`),
  };
}

test("ends in the opposite order of the places, whenever their parts have started", async () => {
  const notes: string[] = [];
  const owner = createOwner();
  owner.defer(() => void notes.push("first"));
  const [one, two] = [owner.place(), owner.place()];
  const slow = Promise.withResolvers<ReturnType<typeof part>>();
  const owning = one.own(slow.promise);
  await two.own(Promise.resolve(part("two", notes)));
  slow.resolve(part("one", notes));
  await owning;
  owner.kill();
  expect(notes.splice(0)).toEqual(["kill two", "kill one"]);
  await owner.end();
  expect(notes).toEqual(["stop two", "stop one", "first"]);
});

test("what does not end keeps nothing else from ending, and its error is told", async () => {
  const notes: string[] = [];
  const owner = createOwner();
  await owner.own(Promise.resolve(part("a", notes)));
  await owner.own(Promise.resolve(part("bad", notes)));
  await expect(owner.end()).rejects.toThrow("does not stop");
  expect(notes).toEqual(["stop bad", "stop a"]);
});

test("a failure is told only when the others have started too", async () => {
  const notes: string[] = [];
  const slow = Promise.withResolvers<string>();
  const all = allOrNothing([
    Promise.reject(new Error("one failed")),
    slow.promise.then(() => notes.push("started")),
  ]);
  slow.resolve("");
  await expect(all).rejects.toThrow("one failed");
  expect(notes).toEqual(["started"]);
  expect(await allOrNothing([Promise.resolve(1), Promise.resolve("b")])).toEqual([1, "b"]);
});

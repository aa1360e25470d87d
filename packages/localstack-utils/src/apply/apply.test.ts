import { describe, expect, it } from "vitest";
import type { Clients } from "../clients.ts";
import type { Graph, Resource } from "../record/graph.ts";
import { isAbsent, removed } from "./applier.ts";
import { applyGraph } from "./apply.ts";
import { Inputs } from "./inputs.ts";
import { inOrder } from "./order.ts";
import { Substitutions } from "./substitutions.ts";

const resource = (name: string, dependsOn: readonly string[] = [], type = "sst:aws:Queue"): Resource => ({
  urn: name,
  type,
  name,
  custom: true,
  dependsOn,
  inputs: {},
  secrets: [],
  state: {},
});
const names = (resources: readonly Resource[]) => resources.map(({ name }) => name);

describe("the order", () => {
  it("puts each resource after all that it waits for, and leaves the others where they are", () => {
    const all = [resource("a", ["c"]), resource("b"), resource("c", ["d"]), resource("d")];
    expect(names(inOrder(all))).toEqual(["d", "c", "a", "b"]);
  });

  it("does not wait for what only groups others, or is not in the graph", () => {
    expect(names(inOrder([resource("a", ["elsewhere"])]))).toEqual(["a"]);
  });

  it("refuses a circle instead of going round it", () => {
    expect(() => inOrder([resource("a", ["b"]), resource("b", ["a"])])).toThrow("waits for itself");
  });
});

describe("what the endpoint calls a thing", () => {
  it("stands in the place of what the graph calls it, also inside of other texts", () => {
    const words = new Substitutions();
    words.add("api", "a1b2");
    words.add("api-integration", "i9");
    expect(words.apply({ target: "integrations/api-integration", list: ["arn:api/*", 1, null] })).toEqual({
      target: "integrations/i9",
      list: ["arn:a1b2/*", 1, null],
    });
  });

  it("is not touched where it is the same, or where the graph has none", () => {
    const words = new Substitutions();
    words.add("same", "same");
    words.add(undefined, "x");
    words.add("y", undefined);
    expect(words.apply("same y")).toBe("same y");
  });
});

describe("inputs", () => {
  const inputs = new Inputs("Queue", {
    name: "q",
    size: 1,
    list: ["a"],
    trust: { a: 1 },
    texts: { a: "b", c: 2 },
  });

  it("are read by name and kind", () => {
    expect([inputs.text("name"), inputs.number("size"), inputs.texts("list")]).toEqual(["q", 1, ["a"]]);
    expect(inputs.document("trust")).toBe('{"a":1}');
    expect(inputs.document("name")).toBe("q");
    expect(inputs.record("texts")).toEqual({ a: "b", c: "2" });
    expect([inputs.has("name"), inputs.has("other")]).toEqual([true, false]);
  });

  it.each([
    ["text", () => inputs.text("size")],
    ["number", () => inputs.number("name")],
    ["list of texts", () => inputs.texts("name")],
    ["list", () => inputs.objects("name")],
    ["object", () => inputs.object("list")],
  ])("that are no %s name the resource, so that a change of SST is seen", (kind, read) => {
    expect(read).toThrow(`Queue: the graph has no ${kind}`);
  });
});

describe("applying", () => {
  const graph = (resources: readonly Resource[]): Graph => ({
    app: { name: "a", stage: "s", removal: "remove", home: "aws", providers: {} },
    resources,
    calls: [],
    rpc: [],
    outputs: {},
  });
  const apply = (resources: readonly Resource[]) =>
    applyGraph(graph(resources), { clients: {} as Clients, root: "/", onMade: () => undefined });

  it("makes nothing of components", async () => {
    expect(await apply([resource("a"), resource("b", [], "pulumi:pulumi:Stack")])).toEqual({
      made: [],
      outputs: {},
    });
  });

  it("refuses a type that no applier knows before it makes anything", async () => {
    const later = resource("b", [], "aws:kinesis/stream:Stream");
    await expect(apply([resource("a", [], "aws:sqs/queue:Queue"), later])).rejects.toThrow(
      "no applier knows: aws:kinesis/stream:Stream",
    );
  });
});

describe("removing", () => {
  const named = (name: string) => Object.assign(new Error(name), { name });

  it.each(["ResourceNotFoundException", "QueueDoesNotExist", "NoSuchEntityException", "NotFoundException"])(
    "%s is no failure: it has gone already",
    async (name) => {
      expect(isAbsent(named(name))).toBe(true);
      await expect(removed(Promise.reject(named(name)))).resolves.toBeUndefined();
    },
  );

  it("anything else is one", async () => {
    await expect(removed(Promise.reject(named("AccessDenied")))).rejects.toThrow("AccessDenied");
  });
});

import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import type { WorkflowContext } from "@ghouls/core";
import { workflow } from "./workflow.ts";

const base = { name: "x", version: 1, onWorkerLoss: "resume", input: z.object({ n: z.number() }) } as const;
class Pool {
  readonly ended: string[] = [];
  end(): Promise<void> {
    return Promise.resolve();
  }
}
/** A helper of a workflow's that wants nothing of what its hop holds. */
const nowOf = (ctx: WorkflowContext) => ctx.now();

describe("the types of what a hop holds", () => {
  test("are those that its resources build, and the names that its grants list", () => {
    workflow({
      ...base,
      authority: { roles: ["releaser"] },
      grants: ["reports:write", "reports:read"],
      resources: {
        db: {
          build: async ({ grants, signal }) => {
            expectTypeOf(grants["reports:write"].value).toBeUnknown();
            expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
            return new Pool();
          },
          dispose: async (db) => db.end(),
        },
        folder: { build: () => "/tmp/x" },
        typed: { build: () => new Pool(), dispose: (db: Pool) => db.end() },
      },
      run: async (ctx, { n }) => {
        expectTypeOf(ctx.resources.db).toEqualTypeOf<Pool>();
        expectTypeOf(ctx.resources.folder).toEqualTypeOf<string>();
        expectTypeOf(ctx.authority.roles).toEqualTypeOf<readonly string[]>();
        expectTypeOf(ctx.grant("reports:read").expiresAt).toEqualTypeOf<Date | undefined>();
        // @ts-expect-error it is not listed
        ctx.grant("reports:delete");
        // @ts-expect-error it is not built
        void ctx.resources.none;
        return [nowOf(ctx), n];
      },
    });
  });

  test("are none where a workflow lists nothing, whose code types as before", () => {
    workflow({
      ...base,
      async run(ctx, { n }) {
        expectTypeOf(ctx.resources).toEqualTypeOf<Readonly<Record<never, never>>>();
        // @ts-expect-error it lists none
        ctx.grant("reports:read");
        return [nowOf(ctx), n];
      },
    });
  });
});

describe("a workflow", () => {
  const run = () => Promise.resolve(null);

  test("knows what its hops are to hold", () => {
    const db = { build: () => new Pool() };
    expect(
      workflow({ ...base, authority: { roles: ["a"] }, grants: ["b"], resources: { db }, run }),
    ).toMatchObject({
      authority: { roles: ["a"] },
      grants: ["b"],
      resources: { db },
    });
    expect(workflow({ ...base, run })).toMatchObject({ authority: undefined, grants: [], resources: {} });
  });

  test.each([
    ["an authority without roles", { authority: {} }, "authority names no roles"],
    ["an authority of more than roles", { authority: { roles: [], role: "a" } }, "authority names no roles"],
    ["roles that are none", { authority: { roles: ["a", 7] } }, "authority names no roles"],
    ["grants that are no list", { grants: "reports:write" }, "grants is no list of distinct names"],
    ["a grant twice", { grants: ["a", "a"] }, "grants is no list of distinct names"],
    ["a grant of two lines", { grants: ["a\nb"] }, "grants is no list of distinct names"],
    ["resources that are a list", { resources: [] }, "resources is no object"],
    ["a resource that cannot be built", { resources: { db: {} } }, 'the resource "db" cannot be built'],
    [
      "a resource whose dispose is no function",
      { resources: { db: { build: run, dispose: true } } },
      'the resource "db" cannot be built',
    ],
  ])("with %s is refused, with what to write", (_what, odd, message) => {
    expect(() => workflow({ ...base, run, ...(odd as object) })).toThrow(
      expect.objectContaining({
        code: "configuration_invalid",
        message: `workflow "x": ${message}`,
        fix: expect.stringContaining("Give "),
      }),
    );
  });
});

import * as z from "zod";

/** One workflow of the corpus: the files that it is made of, the first of which defines it, and its digest for good. */
export interface CorpusCase {
  readonly files: Readonly<Record<string, string>>;
  readonly input?: z.ZodType;
  readonly output?: z.ZodType;
  readonly digest: string;
}

/**
 * Workflows whose digests are fixed. Runs are pinned to digests: a bundler, a printer or a schema library that gives one of
 * these another digest would refuse every parked run of every user. Whoever upgrades a tool and meets a difference here
 * keeps the tool back, or undoes in `normalised` what it does anew. No digest here is ever written again.
 */
export const CORPUS: Readonly<Record<string, CorpusCase>> = {
  "statements and expressions": {
    files: {
      "main.ts": String.raw`
export const numbers = [1_000, 0x1f, 0b11, 1e3, 1.50, 10n, .5, 5.];
export const texts = ['single', "double", ${"`template ${numbers.length}`"}, "it's", 'say "x"', "\u00e9é\x41\n\t", "a" + "b"];
export const patterns = [/a[/]b/giu, /(?<year>\d{4})/v];
export function all(a: number, b = 2, ...rest: number[]) {
  let total = a ** b;
  outer: for (let i = 0; i < 3; i++) { for (const n of rest) { if (n > i) continue outer; total += n; } }
  for (const key in { a: 1 }) total ||= key.length;
  do { total--; } while (total > 100);
  switch (total) { case 1: case 2: return 0; default: break; }
  if (total) { return total } else if (a) return -a; else { void 0; }
  try { throw new Error("no") } catch { total ??= 1 } finally { total &&= 2 }
  return a ? b : (a, b);
}
export const arrows = [() => ({}), async () => { await null; }, (x: number) => x, ({ y = 1, ...z }) => [y, z]];
export const { deep: { first: [one, , three = 3] = [] } } = { deep: { first: [1, 2] } };
export const access = (o?: { a?: () => number; ["b c"]?: 1 }) => [o?.a?.(), o?.["b c"], o!.a, delete o!.a, typeof o];
export function* generate() { const got = yield* [1, 2]; yield got; }
export async function* stream() { for await (const x of generate()) yield x; }
`,
    },
    digest: "d9a89761a26e6b2bf555332746108853a26d89edbc4ad89f1eaac11cb178d138",
  },
  "classes, accessors and private names": {
    files: {
      "main.ts": `
abstract class Base<T> { constructor(protected value: T) {} abstract get size(): number; }
export class Money extends Base<number> implements Iterable<number> {
  static readonly zero = new Money(0);
  static { Money.zero.toString(); }
  #hidden = 1;
  declare brand: "money";
  readonly cents: number = 0;
  override get size() { return this.#hidden; }
  set size(n) { this.#hidden = n; }
  async *[Symbol.asyncIterator]() { yield 1; }
  *[Symbol.iterator]() { yield #hidden in this ? 1 : 0; }
  "quoted name"() { return super.toString(); }
}
`,
    },
    digest: "0e29c055e05508a1820175d72edac5254295a0060740af7cdd2618f7f3128708",
  },
  "types, which count for nothing": {
    files: {
      "main.ts": `
import type { Shape } from "./shape.ts";
import { area, type Square } from "./area.ts";
interface Local<T extends object = {}> { readonly [key: string]: T | undefined }
type Fn = (this: void, ...args: unknown[]) => asserts args is string[];
declare global { interface Window { ghouls: 1 } }
export function sum<const T extends readonly number[]>(values: T): number;
export function sum(values: readonly number[]): number { return values.reduce((a, b) => a + b, 0); }
export const limits = { low: 1, high: 2 } as const satisfies Record<string, number>;
export const shape = <T,>(x: T) => (x as unknown as Shape<Local>)!;
export const square: Square = area(1) as Square;
export type { Fn };
`,
      "shape.ts": `export interface Shape<T> { of: T }\n`,
      "area.ts": `export type Square = number;\nexport const area = (side: number): Square => side * side;\n`,
    },
    digest: "c98ab61c6b6c46d1950b0292f7f99796e9a50362f5d1018dcf174d501856c85d",
  },
  "modules that import each other, JSON and packages": {
    files: {
      "main.ts": `
import * as z from "zod";
import rates from "./rates.json" with { type: "json" };
import { even } from "./even.js";
export * as parity from "./even.js";
export { odd as isOdd } from "./odd.mjs";
export const later = async () => (await import("./later.ts")).late;
export default z.object({ rate: z.literal(rates.vat), even: z.literal(even(2)) });
`,
      "even.js": `import { odd } from "./odd.mjs";\nexport const even = (n) => (n === 0 ? true : odd(n - 1));\n`,
      "odd.mjs": `import { even } from "./even.js";\nexport function odd(n) { return n === 0 ? false : even(n - 1); }\n`,
      "rates.json": `{ "vat": 0.19, "names": ["é", "\\u00e9"], "none": null }\n`,
      "later.ts": `export const late = true;\n`,
    },
    digest: "6fe82691db4df8c85c4dcafb04fb3e53dd8da32b89c3b57993d3add1e68359fa",
  },
  "comments of every kind": {
    files: {
      "main.ts": `#!/usr/bin/env node
/*! licence */
/** @preserve docs */
// @ts-expect-error nothing
export const value = /* inline */ 1 /* after */; // end
/* @__PURE__ */ Object.freeze({});
export const call = /* #__PURE__ */ String(/* @vite-ignore */ value);
`,
    },
    digest: "5d791ebcb2cbc48333624bb1bd629fc54ae33e2ea7c097a63518b333c3550f72",
  },
  "elements of JSX": {
    files: {
      "main.tsx": `
const React = { createElement: (...args: unknown[]) => args, Fragment: "f" };
export const page = (names: string[]) => (
  <>
    <ul className="list" data-x={1}>{names.map((name) => <li key={name}>{name} &amp; co</li>)}</ul>
  </>
);
void React;
`,
    },
    digest: "0b9be50e1e383ca3136080d164765ca9343b131f1a30b70a3228317071837872",
  },
  "schemas of every kind": {
    files: { "main.ts": `export const nothing = undefined;\n` },
    input: z.strictObject({
      id: z.uuid(),
      mail: z.email().optional(),
      amount: z.number().min(0).max(1e9).multipleOf(0.01),
      count: z.int().positive(),
      kind: z.enum(["a", "b"]),
      tags: z
        .array(
          z
            .string()
            .min(1)
            .max(20)
            .regex(/^[a-z]+$/),
        )
        .max(5)
        .default([]),
      at: z.iso.datetime(),
      nested: z.object({ deep: z.record(z.string(), z.nullable(z.boolean())) }).describe("what is told"),
      choice: z.discriminatedUnion("type", [
        z.object({ type: z.literal("x"), x: z.tuple([z.string(), z.number()]) }),
        z.object({ type: z.literal("y"), y: z.unknown() }),
      ]),
      either: z.union([z.string(), z.null()]),
      big: z.bigint(),
      date: z.date(),
      piped: z.string().transform((text) => text.length),
    }),
    output: z.looseObject({
      ok: z.literal(true),
      both: z.intersection(z.object({ a: z.string() }), z.object({ b: z.any() })),
    }),
    digest: "c7c304fe94c7ce5fd4b1e3b2ef82c4da3cff34e9c73b9cdb6f4a106940e455ad",
  },
};

import type { Jsonified } from "@ghouls/core";

/** A workflow as `workflow()` of `ghouls` makes it, as far as a client's types read it. */
interface Typed {
  readonly name: string;
  readonly input: unknown;
  run(context: never, input: never): Promise<unknown>;
}

/**
 * The workflows of a module by their own names: `createClient<typeof workflows>` after `import type * as workflows from
 * "./workflows/index.ts"`. What else the module exports is left out.
 */
export type NamedWorkflows<Module> = {
  [Key in keyof Module as Module[Key] extends Typed ? Module[Key]["name"] : never]: Module[Key];
};

/** What a workflow is asked with; its schema may fill in the rest. */
export type InputOf<Workflow> = Workflow extends {
  readonly input: { readonly _zod: { readonly input: infer Input } };
}
  ? Input
  : unknown;

/** What a DONE run of a workflow has given, as JSON leaves it. */
export type OutputOf<Workflow> = Workflow extends {
  run(context: never, input: never): Promise<infer Output>;
}
  ? Jsonified<Output>
  : unknown;

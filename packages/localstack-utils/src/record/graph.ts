/** What JSON can say. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** One resource as the program registers it with Pulumi. */
export interface Resource {
  /** As Pulumi's engine forms it: stage, app, types of its parents, name. */
  readonly urn: string;
  readonly type: string;
  readonly name: string;
  /** False of a component, which only groups others. */
  readonly custom: boolean;
  /** True where the program only looks up what exists already. */
  readonly external?: true;
  /** URN of its parent. */
  readonly parent?: string;
  /** URNs of everything that it waits for, by option or because an input comes from it; sorted. */
  readonly dependsOn: readonly string[];
  /** Without secrecy: `secrets` has the paths of what Pulumi encrypts in its state. */
  readonly inputs: JsonObject;
  readonly secrets: readonly string[];
  /** What AWS would compute, its id among it. */
  readonly state: JsonObject;
  readonly protect?: true;
  readonly retainOnDelete?: true;
}

/** A question to a provider, such as for the region. */
export interface ProviderCall {
  readonly token: string;
  readonly inputs: JsonObject;
}

/** A question to the server that the SST command runs beside the program. */
export interface RpcCall {
  readonly method: string;
  readonly args: JsonObject;
}

/** What `app()` of an sst.config.ts says, and the stage. */
export interface App {
  readonly name: string;
  readonly stage: string;
  readonly removal: string;
  readonly home: string;
  readonly protect?: boolean;
  readonly providers: JsonObject;
}

/** All that a deploy of one stage would ask for. Each list is sorted: order of registration is chance. */
export interface Graph {
  readonly app: App;
  readonly resources: readonly Resource[];
  readonly calls: readonly ProviderCall[];
  readonly rpc: readonly RpcCall[];
  readonly outputs: JsonObject;
}

/** The account that the graph is for. */
export interface Place {
  readonly account: string;
  readonly region: string;
  /** Start of a queue's URL. */
  readonly sqsUrl: string;
  /** Answers of provider functions by their token, over the usual ones. */
  readonly answers: Readonly<Record<string, JsonObject>>;
}

import type { JsonObject } from "./graph.ts";

/**
 * What the recorder uses of Pulumi's SDK and of SST. Both come with the project that is recorded, under
 * `.sst/platform`, and are handed to the recorder; so it needs neither of them to be type-checked.
 */
export interface Engine {
  readonly pulumi: {
    readonly runtime: {
      setMocks(
        mocks: Mocks,
        project: string,
        stack: string,
        preview: boolean,
        organization: string,
      ): Promise<void>;
      setMockOptions(
        monitor: Monitor,
        project: string,
        stack: string,
        preview: boolean,
        organization: string,
      ): void;
      runInPulumiStack(program: () => Promise<unknown>): Promise<unknown>;
    };
    readonly asset: { readonly Asset: Kind; readonly Archive: Kind };
    readonly Resource: Kind;
  };
  readonly MockMonitor: new (mocks: Mocks) => Monitor;
  /** Of SST: it is answered here. Where it is left out, the server of a real SST command answers. */
  readonly rpc?: Rpc;
}

export interface Rpc {
  call(method: string, args: unknown): Promise<unknown>;
}

interface Kind {
  isInstance(value: unknown): boolean;
}

/** Stands in for Pulumi's engine; one for each process. */
export interface Monitor {
  newUrn(parent: string, type: string, name: string): string;
  registerResource(request: RegisterRequest, callback: unknown): Promise<void>;
  readResource(request: ReadRequest, callback: unknown): Promise<void>;
}

export interface ReadRequest {
  getType(): string;
  getName(): string;
  getParent(): string;
  getDependenciesList(): string[];
}

export interface RegisterRequest extends ReadRequest {
  getProtect(): boolean;
  getRetainondelete(): boolean;
}

export interface Mocks {
  newResource(args: {
    readonly type: string;
    readonly name: string;
    readonly inputs: Readonly<Record<string, unknown>>;
    readonly custom?: boolean;
    readonly id?: string;
  }): Promise<{ readonly id: string; readonly state: object }>;
  call(args: {
    readonly token: string;
    readonly inputs: Readonly<Record<string, unknown>>;
  }): Promise<JsonObject>;
}

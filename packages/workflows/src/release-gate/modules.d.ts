/** What this example uses of two libraries that ship no types. */
declare module "spdx-expression-parse" {
  export interface SpdxLeaf {
    readonly license: string;
    readonly plus?: true;
    readonly exception?: string;
  }
  export interface SpdxBranch {
    readonly left: SpdxNode;
    readonly conjunction: "and" | "or";
    readonly right: SpdxNode;
  }
  export type SpdxNode = SpdxLeaf | SpdxBranch;
  /** @throws Error for anything that is no SPDX expression */
  export default function parse(source: string): SpdxNode;
}

declare module "cacache" {
  export interface IndexEntry {
    readonly key: string;
    readonly integrity: string;
    readonly path: string;
    readonly size: number;
  }
  interface Get {
    /** The index's entry of a key, or null. */
    info(cache: string, key: string): Promise<IndexEntry | null>;
    /** Whether the content of one of the hashes is there; it is not read. */
    hasContent(cache: string, integrity: string): Promise<{ readonly size: number } | false>;
    readonly stream: {
      /** Reads the content and checks it; fails with EINTEGRITY or EBADSIZE at its end. */
      byDigest(cache: string, integrity: string): AsyncIterable<Buffer>;
    };
  }
  const cacache: {
    readonly get: Get;
    /** The entries of the index, in no order. */
    readonly ls: { stream(cache: string): AsyncIterable<IndexEntry> };
    put(
      cache: string,
      key: string,
      data: string | Buffer,
      options?: { algorithms: string[] },
    ): Promise<string>;
  };
  export default cacache;
}

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { workflow } from "../workflow.ts";
import { CORPUS, type CorpusCase } from "./corpus.support.ts";
import { workflowDigest } from "./digest.ts";

async function digestOf({ files, input, output }: CorpusCase): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "ghouls-corpus-"));
  try {
    for (const [path, text] of Object.entries({ "package.json": "{}", ...files }))
      await writeFile(join(root, path), text);
    return await workflowDigest(
      workflow({
        name: "corpus",
        version: 1,
        onWorkerLoss: "resume",
        input: input ?? z.unknown(),
        ...(output === undefined ? {} : { output }),
        module: join(root, Object.keys(files)[0] as string),
        run: () => Promise.resolve(),
      }),
    );
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

test.each(Object.entries(CORPUS))(
  "the digest of %s is the one that runs are pinned to",
  async (_name, one) => {
    expect(await digestOf(one)).toBe(one.digest);
  },
);

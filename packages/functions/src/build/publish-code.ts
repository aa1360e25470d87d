import { createPublisher, loadConfig, type DigestManifest } from "ghouls";
import { makeReleases } from "./releases.ts";
import { startEsbuildWithRoom } from "./room.ts";
import { sourcesOf } from "./sources.ts";

/** Code as a host on one machine runs it. */
export interface RunningCode {
  readonly manifest: DigestManifest;
  /** Texts of the local modules that it reaches, by path: what has been saved since is another code. */
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Publishes what of running code no release has, into the store and the ledger that the environment names. Answers how many
 * releases that were.
 * @throws GhoulsError configuration_invalid where it cannot be bundled by itself, or its files are others by now
 */
export async function publishCode(configPath: string, { manifest, files }: RunningCode): Promise<number> {
  const { config, root } = await loadConfig(configPath);
  const publish = createPublisher(config, { manifest });
  return publish(async (workflows) => {
    await startEsbuildWithRoom();
    const { external } = config.build;
    const made = await makeReleases({
      workflows,
      all: config.workflows,
      manifest,
      root,
      sources: sourcesOf(files),
      external,
    });
    return made.map(({ bundle, text }) => ({ bundle, bytes: Buffer.from(text) }));
  });
}

import { workflowKey, type DigestBasis } from "@ghouls/core";
import { digestBasis, digestManifest, loadConfig } from "ghouls";

/** A workflow of a configuration, as runs are pinned to it. */
export interface WorkflowOfBuild {
  readonly name: string;
  readonly version: number;
  readonly digest: string;
  /** Digests of earlier code whose runs it carries on. */
  readonly accepts: readonly string[];
  readonly onWorkerLoss: string;
  /** The queue of runs that name none. */
  readonly queue: string | undefined;
}

/**
 * The workflows of a configuration with their digests, as a build of these sources would have them.
 * @throws GhoulsError configuration_invalid where the configuration cannot be loaded
 */
export async function workflowsOf(configPath: string): Promise<readonly WorkflowOfBuild[]> {
  const { config } = await loadConfig(configPath);
  const digests = await digestManifest(config);
  return config.workflows.map((workflow) => {
    const { name, version, accepts, onWorkerLoss, queue } = workflow;
    return { name, version, digest: digests[workflowKey(workflow)] as string, accepts, onWorkerLoss, queue };
  });
}

/**
 * What the digests of a configuration's workflows are made of, as they are now.
 * @throws GhoulsError configuration_invalid where the configuration cannot be loaded
 */
export async function basesOf(configPath: string): Promise<readonly DigestBasis[]> {
  const { config } = await loadConfig(configPath);
  return Promise.all(config.workflows.map((workflow) => digestBasis(workflow)));
}

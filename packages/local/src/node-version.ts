import { GhoulsError } from "@ghouls/core";

/** The Node release that the host and its functions need: Lambda's. */
const NODE_MAJOR = 24;

/** @throws GhoulsError where this Node is older */
export function checkNode(version: string): void {
  if (Number(version.split(".")[0]) >= NODE_MAJOR) return;
  throw new GhoulsError(
    "configuration_invalid",
    `Node ${NODE_MAJOR} is needed, and this is Node ${version}`,
    {
      fix: `Install Node ${NODE_MAJOR}, or add it to the project: npm install --save-dev node@${NODE_MAJOR}`,
    },
  );
}

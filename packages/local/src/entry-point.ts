import { entryBeside } from "ghouls/processes/child";

/** A program of this package. */
export function entryPoint(name: string): URL {
  return entryBeside(import.meta.url, `./process/${name}`);
}

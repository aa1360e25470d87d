import { describeFailure } from "@ghouls/core";
import { CodecError } from "./loaded-journal.ts";

/** What a codec cannot do just now it may do later: nothing of the run has failed. */
export async function encoded<T>(what: string, encode: () => Promise<T>): Promise<T> {
  try {
    return await encode();
  } catch (error) {
    throw new CodecError(`${what}: ${describeFailure(error).message.slice(0, 200)}`);
  }
}

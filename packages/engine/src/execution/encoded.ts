import { GhoulsError, describeFailure } from "@ghouls/core";
import { CodecError } from "./loaded-journal.ts";

/** What a codec cannot do just now it may do later: nothing of the run has failed. */
export async function encoded<T>(what: string, encode: () => Promise<T>): Promise<T> {
  try {
    return await encode();
  } catch (error) {
    throw new CodecError(`${what}: ${describeFailure(error).message.slice(0, 200)}`);
  }
}

/**
 * Answers somebody who asks by HTTP.
 * @throws GhoulsError codec_unavailable where the codec cannot do its part just now
 */
export async function withCodec<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    const fix = "Ask again later: nothing was written.";
    throw new GhoulsError("codec_unavailable", error.message, { fix, cause: error });
  }
}

import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { join } from "node:path";
import { readIfThere, writeDurably } from "./durable-file.ts";
import { statementText } from "./statement.ts";
import type { Signed, SignRequest } from "./statement.ts";

/** Who signs. */
export interface Signer {
  /** PEM (SubjectPublicKeyInfo). */
  readonly publicKey: string;
  /** Ed25519 has no chance in it: the same request gives the same bytes, however often it is signed. */
  sign(request: SignRequest): Signed;
}

/** The key pair in a folder, which is made at the first start and kept: with another key, nobody would know us again. */
export async function openSigner(folder: string): Promise<Signer> {
  const file = join(folder, "key.pem");
  let pem = await readIfThere(file);
  if (pem === undefined) {
    pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    await writeDurably(file, pem);
  }
  const privateKey = createPrivateKey(pem);
  const publicKey = createPublicKey(privateKey).export({ type: "spki", format: "pem" }).toString();
  return {
    publicKey,
    sign: (request) => {
      const statement = statementText(request);
      const signature = sign(null, Buffer.from(statement, "utf8"), privateKey).toString("base64");
      return { statement, signature, publicKey };
    },
  };
}

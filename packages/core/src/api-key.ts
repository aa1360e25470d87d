import { timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";
import { sha256 } from "./digest.ts";

/**
 * The text of an API key: "ghouls_<id>_<secret><checksum>". Its beginning and its checksum let scanners of repositories and
 * of logs know one from chance, and let a typing error be told without a look at the ledger; underscores let a double click
 * select all of it.
 * Source: GitHub's engineering blog, "Behind GitHub's new authentication token formats".
 */
const FORM = /^(ghouls_([0-9a-f]{16})_[0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

const ID_BYTES = 8;
/** Random bytes that a key is made of: its id, and a secret of 256 bits. */
export const API_KEY_BYTES = ID_BYTES + 32;

export interface NewApiKey {
  readonly keyId: string;
  /** Shown once, to whoever asked for the key. It is neither stored nor logged. */
  readonly text: string;
  readonly digest: string;
}

/** What may be known of a key's text: which key it says it is, and the digest that would prove it. */
export interface PresentedKey {
  readonly keyId: string;
  readonly digest: string;
}

/** @param bytes {@link API_KEY_BYTES} from a generator made for secrets */
export function mintApiKey(bytes: Uint8Array): NewApiKey {
  if (bytes.length !== API_KEY_BYTES) throw new TypeError(`a key is made of ${API_KEY_BYTES} random bytes`);
  const keyId = Buffer.from(bytes.subarray(0, ID_BYTES)).toString("hex");
  const secret = base62(BigInt(`0x${Buffer.from(bytes.subarray(ID_BYTES)).toString("hex")}`), 43);
  const body = `ghouls_${keyId}_${secret}`;
  const text = `${body}${checksumOf(body)}`;
  return { keyId, text, digest: digestOfKey(text) };
}

/** Undefined for a text of another form, or with another checksum. */
export function parseApiKey(text: string): PresentedKey | undefined {
  const [, body, keyId, checksum] = FORM.exec(text) ?? [];
  if (body === undefined || keyId === undefined || checksumOf(body) !== checksum) return undefined;
  return { keyId, digest: digestOfKey(text) };
}

/**
 * One round of SHA-256 and no salt: slow hashes are for secrets that people choose. Of 256 random bits none can be guessed,
 * however fast the guesses are.
 */
function digestOfKey(text: string): string {
  return sha256(text);
}

/** In constant time. Digests of another length are different, which `timingSafeEqual` alone would throw for. */
export function isSameDigest(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function checksumOf(body: string): string {
  return base62(BigInt(crc32(body)), 6);
}

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function base62(value: bigint, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest /= 62n) text = `${DIGITS[Number(rest % 62n)]}${text}`;
  return text;
}

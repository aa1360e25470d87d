import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { GhoulsError } from "@ghouls/core";
import { readIfThere, writeAtomically } from "ghouls/processes/files";

/** Passwords of the embedded server's roles. */
export interface Passwords {
  readonly superuser: string;
  readonly migrator: string;
  readonly application: string;
}

/** The passwords of a data folder; made at its first start, and kept in a file that only its owner may read. */
export async function loadPasswords(dataDir: string): Promise<Passwords> {
  const file = join(dataDir, "passwords.json");
  const text = await readIfThere(file);
  if (text !== undefined) return parse(file, text);
  const passwords = { superuser: random(), migrator: random(), application: random() };
  await writeAtomically(file, `${JSON.stringify(passwords, null, 2)}\n`);
  return passwords;
}

function parse(file: string, text: string): Passwords {
  try {
    const { superuser, migrator, application } = JSON.parse(text) as Record<string, unknown>;
    if (typeof superuser === "string" && typeof migrator === "string" && typeof application === "string") {
      return { superuser, migrator, application };
    }
    throw new TypeError("a password is missing");
  } catch (error) {
    throw new GhoulsError("configuration_invalid", `${file} cannot be read`, {
      fix: "Put it back, or take another data folder: without it the database there cannot be opened.",
      cause: error,
    });
  }
}

/** 192 bits, in characters that need no escaping in a URL. */
export function random(): string {
  return randomBytes(24).toString("base64url");
}

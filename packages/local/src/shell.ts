import { resolve } from "node:path";

/** One word for a shell. */
export function quote(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** What makes a command find this data folder, where it does not by itself. */
export function dataDirOption(dataDir: string): string {
  return resolve(dataDir) === resolve(".ghouls") ? "" : ` --data-dir ${quote(dataDir)}`;
}

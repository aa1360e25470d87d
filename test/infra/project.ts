import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A project in a folder of its own, which shares the platform that `npm run sst:install` has unpacked here. */
export interface Project {
  readonly root: string;
  write(path: string, text: string): void;
  remove(): void;
}

export function createProject(from?: string): Project {
  const root = mkdtempSync(join(tmpdir(), "ghouls-sst-"));
  if (from !== undefined) cpSync(from, root, { recursive: true });
  mkdirSync(join(root, ".sst"));
  symlinkSync(join(ROOT, ".sst/platform"), join(root, ".sst/platform"));
  cpSync(join(ROOT, ".sst/provider-lock.json"), join(root, ".sst/provider-lock.json"));
  return {
    root,
    write: (path, text) => {
      mkdirSync(join(root, dirname(path)), { recursive: true });
      writeFileSync(join(root, path), text);
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** An sst.config.ts whose program is these statements. */
export function configOf(statements: string): string {
  return `export default $config({
  app: () => ({ name: "crypt", home: "aws", providers: { aws: { region: "eu-central-1" } } }),
  run: async () => {
    ${statements}
  },
});
`;
}

import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/**
 * A project in a folder of its own, which shares the platform that `npm run sst:install` has unpacked here. The platform's
 * folder is the project's, with links to what is in it: a recording puts its program there.
 */
export interface Project {
  readonly root: string;
  write(path: string, text: string): void;
  read(path: string): string;
  remove(): void;
}

export function createProject(): Project {
  const root = mkdtempSync(join(tmpdir(), "ghouls-sst-"));
  const [shared, platform] = [join(ROOT, ".sst/platform"), join(root, ".sst/platform")];
  mkdirSync(platform, { recursive: true });
  for (const name of readdirSync(shared)) symlinkSync(join(shared, name), join(platform, name));
  cpSync(join(ROOT, ".sst/provider-lock.json"), join(root, ".sst/provider-lock.json"));
  return {
    root,
    write: (path, text) => {
      mkdirSync(join(root, dirname(path)), { recursive: true });
      writeFileSync(join(root, path), text);
    },
    read: (path) => readFileSync(join(root, path), "utf8"),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** The repository as a project that is deployed from another folder, with a configuration of its own. */
export function createRepositoryProject(config: string): Project {
  const project = createProject();
  for (const name of ["packages", "infra", "node_modules", "package.json", "package-lock.json"])
    symlinkSync(join(ROOT, name), join(project.root, name));
  project.write("sst.config.ts", config);
  return project;
}

/** An sst.config.ts whose program is these statements. */
export function configOf(statements: string, app: object = {}): string {
  const all = { name: "crypt", home: "aws", providers: { aws: { region: "eu-central-1" } }, ...app };
  return `export default $config({
  app: () => (${JSON.stringify(all)}),
  run: async () => {
    ${statements}
  },
});
`;
}

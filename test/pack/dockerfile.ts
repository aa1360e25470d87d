import { readFileSync } from "node:fs";

/** What a Dockerfile says, as far as it can be carried out where no Docker is. */
export interface Dockerfile {
  /** Files and folders that it copies from its own folder. */
  readonly copied: readonly string[];
  /** Commands that it has carried out while the image is made, by a shell. */
  readonly runs: readonly string[];
  /** What the container is started with: no shell stands before it. */
  readonly command: readonly string[];
  readonly user: string | undefined;
  /** Images that its stages begin with. */
  readonly images: readonly string[];
}

/** @throws Error for a CMD that a shell would carry out: it passes no signal on */
export function readDockerfile(path: string): Dockerfile {
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const of = (word: string) =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
  return {
    copied: of("COPY")
      .filter((line) => !line.startsWith("--from="))
      .flatMap((line) => line.split(" ").slice(0, -1)),
    runs: of("RUN"),
    command: JSON.parse(of("CMD").at(-1) ?? "") as string[],
    user: of("USER").at(-1),
    images: of("FROM").map((line) => line.split(" ")[0] ?? ""),
  };
}

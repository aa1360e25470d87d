import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

/** Debian's; the wrapper in /usr/bin is slower, and says things. */
const DEBIANS = "/usr/lib/chromium/chromium";

/** @throws Error with what to install where there is no browser: these tests are not left out */
export async function openChromium(): Promise<Browser> {
  const executablePath = process.env["GHOULS_CHROMIUM"] ?? DEBIANS;
  if (!existsSync(executablePath)) {
    throw new Error(
      `there is no browser at ${executablePath}: apt-get install chromium, or name one in GHOULS_CHROMIUM`,
    );
  }
  // As root there is no sandbox, and a container has a small /dev/shm.
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

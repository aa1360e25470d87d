import { installMinistack } from "./ministack.ts";

/** `npm run ministack:install`: what `npm run test:aws` would do first. */
const installed = installMinistack();
if ("missing" in installed) {
  process.stderr.write(`${installed.missing}\n`);
  process.exitCode = 1;
}

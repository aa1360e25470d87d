import { existsSync, readFileSync } from "node:fs";

/**
 * Prints how many tests have passed and failed in all of these reports of vitest. A run that has left no report, or that
 * failed with no test failing (a file that cannot be loaded), counts as one failure: zero must not be printed for it.
 */

interface Report {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
}

const BROKEN: Report = { success: false, numPassedTests: 0, numFailedTests: 0 };

const reports = process.argv.slice(2).map((file) => {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Report) : BROKEN;
});
const passed = reports.reduce((sum, report) => sum + report.numPassedTests, 0);
const failed = reports.reduce((sum, { success, numFailedTests }) => {
  return sum + (success ? numFailedTests : Math.max(numFailedTests, 1));
}, 0);
process.stdout.write(`${passed} passed, ${failed} failed\n`);

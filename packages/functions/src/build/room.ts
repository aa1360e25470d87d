/** How far esbuild's heap grows before it collects garbage, in percent of what is in use. */
const PERCENT = "400";

/**
 * Starts esbuild's process, which lives as long as this one, with more room than Go's usual 100 percent: with those, more
 * than half of a build's time goes into collecting garbage. The process reads it when it starts, at the first call of all.
 */
export async function startEsbuildWithRoom(): Promise<void> {
  const { transform } = await import("esbuild");
  const given = process.env["GOGC"];
  process.env["GOGC"] = given ?? PERCENT;
  const started = transform("");
  if (given === undefined) delete process.env["GOGC"];
  await started;
}

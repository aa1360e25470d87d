import * as z from "zod";

/** `/config.json`: where the API is, and how people sign in. No secret is in it. */
const ConsoleConfig = z.object({
  /** Empty: the origin that serves the console. */
  apiUrl: z.string().default(""),
  /** Where events stream; polled from the API where absent. */
  eventsUrl: z.string().optional(),
  oidc: z
    .object({
      issuer: z.string(),
      clientId: z.string(),
      scope: z.string().default("openid"),
    })
    .optional(),
});
export type ConsoleConfig = z.infer<typeof ConsoleConfig>;

/** @throws Error with what is wrong with the deployment of the console, and its fix */
export async function loadConfig(): Promise<ConsoleConfig> {
  const response = await fetch("/config.json", { redirect: "error" });
  if (!response.ok)
    throw new Error(`/config.json answered ${response.status}: the console is not deployed whole.`);
  let json: unknown;
  try {
    json = await response.json();
  } catch {
    throw new Error("/config.json is no JSON: the console is not deployed whole.");
  }
  const parsed = ConsoleConfig.safeParse(json);
  if (!parsed.success) throw new Error("/config.json is no configuration of this version of the console.");
  return parsed.data;
}

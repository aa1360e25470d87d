import { decidersNaming, type wire } from "@ghouls/core";

/**
 * Why somebody cannot decide a consent, as a sentence; undefined where they can. The API judges by the same rules and has the last
 * word. @param now milliseconds
 */
export function reasonAgainst(
  consent: Pick<
    wire.ConsentView,
    "deciders" | "decisions" | "requestedBy" | "requesterMayDecide" | "expiresAt"
  >,
  me: wire.Whoami,
  now: number,
): string | undefined {
  if (!me.permissions.includes("consents:decide")) {
    return "Your token may not decide consents: it lacks the permission consents:decide.";
  }
  const names = decidersNaming(me);
  if (!consent.deciders.some((decider) => names.includes(decider))) {
    return `This is for ${consent.deciders.join(", ")} to decide.`;
  }
  if (consent.requestedBy === me.subject && !consent.requesterMayDecide) {
    return "You asked for this run, so somebody else has to decide.";
  }
  const word = consent.decisions.find(({ by }) => by === me.subject);
  if (word !== undefined) {
    return `You have ${word.verdict === "grant" ? "granted" : "denied"} it; others have to decide as well.`;
  }
  if (consent.expiresAt !== null && Date.parse(consent.expiresAt) <= now) return "Its time is over.";
  return undefined;
}

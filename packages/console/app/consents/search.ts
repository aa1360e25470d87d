const INBOXES = ["mine", "pending", "all"] as const;
export type Inbox = (typeof INBOXES)[number];

/** Which consents are listed, as it stands in the address: those that wait for one's own word where it says nothing. */
export function consentSearch(given: Record<string, unknown>): { readonly show?: Inbox } {
  const show = INBOXES.find((each) => each === given["show"]);
  return show === undefined || show === "mine" ? {} : { show };
}

export type Headers = Readonly<Record<string, string>>;

/** How a request is framed, what holds for one connection only, and where it goes. Two lengths of one body are two requests. */
const FRAMING =
  /^(?:transfer-encoding|content-length|connection|keep-alive|te|trailer|upgrade|expect|host|proxy-.*)$/i;

/** Names of headers whose values nobody else may know. The others say what any answer may say too. */
const SECRET = /authorization|cookie|key|token|secret|password|signature|session/i;

/** Shorter values are words that any text may hold. */
const SHORTEST_SECRET = 8;

/** The first header that no user may give, in lower case. */
export function framingHeaderOf(headers: Headers): string | undefined {
  return Object.keys(headers)
    .find((name) => FRAMING.test(name))
    ?.toLowerCase();
}

/**
 * What is sent in headers and must not come back: the token, each value of a header with the name of a secret, and of
 * `Bearer abc` the `abc` too.
 */
export function secretsOf(headers: Headers, token?: string): string[] {
  const values = Object.entries(headers).flatMap(([name, value]) => {
    if (!SECRET.test(name)) return [];
    const trimmed = value.trim();
    const space = trimmed.indexOf(" ");
    return space === -1 ? [trimmed] : [trimmed, trimmed.slice(space + 1).trim()];
  });
  return [...values, ...(token === undefined ? [] : [token])].filter(
    (value) => value.length >= SHORTEST_SECRET,
  );
}

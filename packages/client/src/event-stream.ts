import { wire } from "@ghouls/core";

/** Reads server-sent events of the route that follows a run: each message is a batch. Source: WHATWG HTML, "Server-sent events". */
export async function* batchesIn(body: ReadableStream<Uint8Array>): AsyncGenerator<wire.EventBatch> {
  let data: string[] = [];
  for await (const line of linesIn(body)) {
    if (line === "") {
      const batch = batchOf(data);
      if (batch !== undefined) yield batch;
      data = [];
    } else if (line.startsWith("data:")) {
      data.push(line.slice(5).replace(/^ /, ""));
    }
    // Comments and ids: a batch has its id inside.
  }
  // What was broken off is not told: the next connection brings it again.
}

/** Undefined for what is no batch. */
function batchOf(data: readonly string[]): wire.EventBatch | undefined {
  if (data.length === 0) return undefined;
  try {
    return wire.EventBatch.safeParse(JSON.parse(data.join("\n"))).data;
  } catch {
    return undefined;
  }
}

async function* linesIn(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const lines = rest.split(/\r?\n/);
      rest = lines.pop() ?? "";
      yield* lines;
    }
  } finally {
    // Whoever stops reading leaves no connection behind; one that has failed is gone.
    await reader.cancel().catch(() => undefined);
  }
}

import { parseJson, wire } from "@ghouls/core";
import { beforeEach, describe, expect, it } from "vitest";
import { createAdmissionApp } from "./apps.ts";
import type { FetchHandler } from "./context.ts";
import { ask, Fakes } from "./fakes.support.ts";

let fakes: Fakes;
let app: FetchHandler;

beforeEach(() => {
  fakes = new Fakes();
  app = createAdmissionApp(fakes);
});

async function post(
  body: NonNullable<RequestInit["body"]>,
  headers: Record<string, string> = {},
  path = "/v1/runs",
) {
  const response = await app(
    ask("POST", path, { body, headers, ...(typeof body === "string" ? {} : { duplex: "half" }) }),
  );
  const answer = (await response.json()) as wire.Problem;
  return {
    status: response.status,
    code: answer.type?.split(":").at(-1),
    paths: answer.errors?.map(({ path: at }) => at),
    answer,
  };
}

const withInput = (input: string) => `{"workflow":"hello","input":${input}}`;

/** A body of exactly so many bytes. */
function bodyOf(bytes: number, filler = "a"): string {
  const room = bytes - Buffer.byteLength(withInput('""'));
  const body = withInput(`"${filler.repeat(Math.floor(room / Buffer.byteLength(filler)))}"`);
  return body + " ".repeat(bytes - Buffer.byteLength(body));
}

function chunked(text: string, size = 65_536): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(text);
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      if (sent >= bytes.length) controller.close();
      else controller.enqueue(new Uint8Array(bytes.subarray(sent, (sent += size))));
    },
  });
}

describe("bodies that are no JSON document", () => {
  it.each([
    ["an empty body", ""],
    ["truncated JSON", '{"workflow":"hel'],
    ["two documents", "{}{}"],
    ["a raw NUL", withInput('"a\u0000b"')],
    ["NaN", withInput("NaN")],
    ["nesting of 100,000", withInput("[".repeat(100_000) + "]".repeat(100_000))],
    ["nesting of 100,000 that never closes", "[".repeat(100_000)],
    ["nesting of 101", withInput("[".repeat(100) + "]".repeat(100))],
    ["invalid UTF-8", Buffer.from([0x22, 0xff, 0x22])],
    [
      "a raw lone surrogate",
      Buffer.concat([Buffer.from('{"workflow":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ],
    ["a cut 4-byte character", Buffer.from('{"workflow":"😀"}').subarray(0, 15)],
  ])("refuses %s with 400", async (_case, body) => {
    expect(await post(body)).toMatchObject({ status: 400, code: "malformed_json" });
    expect(fakes.admission.admitted).toEqual([]);
  });

  it("refuses a body that breaks off with 400, not with 500", async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error("socket hang up")) });
    expect(await post(body)).toMatchObject({ status: 400, code: "malformed_json" });
  });
});

describe("values that the ledger could not give back", () => {
  it.each([
    ["__proto__", withInput('{"__proto__":{"admin":true}}'), ["/input/__proto__"]],
    ["constructor", withInput('[{"constructor":1}]'), ["/input/0/constructor"]],
    ["__proto__ at the top", '{"workflow":"hello","__proto__":{"held":true}}', ["/__proto__"]],
    ["an escaped NUL", withInput(String.raw`"\u0000"`), ["/input"]],
    ["an escaped lone surrogate", withInput(String.raw`{"a":["\ud800"]}`), ["/input/a/0"]],
    ["2^53 + 1", withInput("9007199254740993"), ["/input"]],
    ["1e400", withInput('{"n":1e400}'), ["/input/n"]],
    ["-1e400", withInput("-1e400"), ["/input"]],
  ])("refuses %s with its path", async (_case, body, paths) => {
    expect(await post(body)).toMatchObject({ status: 422, code: "invalid_request", paths });
    expect(fakes.admission.admitted).toEqual([]);
  });

  it("names the member of a batch", async () => {
    const body = `{"runs":[{"workflow":"hello"},{"workflow":"hello","input":{"n":9007199254740993}}]}`;
    expect(await post(body, {}, "/v1/runs/batch")).toMatchObject({ status: 422, paths: ["/runs/1/input/n"] });
  });

  it("leaves Object.prototype alone", async () => {
    await post(withInput('{"__proto__":{"polluted":true}}'));
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("the shape of a request", () => {
  it.each([
    ["an array", "[]", [""]],
    ["null", "null", [""]],
    ["a workflow that is no name", '{"workflow":null}', ["/workflow"]],
    ["an unknown field", '{"workflow":"hello","prioritty":9}', ["/prioritty"]],
    ["a field with a slash", '{"workflow":"hello","a/b~c":9}', ["/a~1b~0c"]],
    [
      "several at once",
      '{"workflow":"","priority":10,"holdFor":"soon"}',
      ["/workflow", "/priority", "/holdFor"],
    ],
    ["a start that is no time", '{"startAfter":"tomorrow"}', ["/startAfter"]],
    ["a start in local time", '{"startAfter":"2030-01-31T08:00:00"}', ["/startAfter"]],
    ["a start without a day", '{"startAfter":"-1h"}', ["/startAfter"]],
    [
      "a key in the body of a single request",
      '{"workflow":"hello","idempotencyKey":"k"}',
      ["/idempotencyKey"],
    ],
  ])("refuses %s with JSON pointers", async (_case, body, paths) => {
    expect(await post(body)).toMatchObject({ status: 422, code: "invalid_request", paths });
  });

  it("names the member and the field in a batch", async () => {
    const body = JSON.stringify({ runs: [{ workflow: "hello" }, { workflow: "hello", priority: "high" }] });
    expect(await post(body, {}, "/v1/runs/batch")).toMatchObject({
      status: 422,
      paths: ["/runs/1/priority"],
    });
    const many = JSON.stringify({
      runs: Array.from({ length: wire.MAX_BATCH + 1 }, () => ({ workflow: "hello" })),
    });
    expect(await post(many, {}, "/v1/runs/batch")).toMatchObject({ status: 422, paths: ["/runs"] });
  });

  it.each([
    ["that is empty", ""],
    ["with a space", "a b"],
    ["beyond ASCII", "é"],
    ["of 201 characters", "k".repeat(201)],
    ["sent twice", "a, b"],
  ])("refuses an idempotency key %s", async (_case, key) => {
    const refused = await post(withInput("1"), { "idempotency-key": key });
    expect(refused.status).toBe(422);
    expect(new Set(refused.paths)).toEqual(new Set(["/headers/idempotency-key"]));
  });
});

describe("media types", () => {
  it.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/json-patch+json",
    "application/json, text/plain",
    "",
  ])("refuses a body declared as %j with 415: a form of another site could send it", async (type) => {
    expect(await post(withInput("1"), { "content-type": type })).toMatchObject({
      status: 415,
      code: "unsupported_media_type",
    });
  });

  it("refuses another charset and a compressed body instead of misreading them", async () => {
    expect(await post(withInput("1"), { "content-type": "application/json; charset=utf-16" })).toMatchObject({
      status: 415,
    });
    expect(await post(withInput("1"), { "content-encoding": "gzip" })).toMatchObject({ status: 415 });
  });

  it.each(["application/json", "Application/JSON ; charset=UTF-8", 'application/json;charset="utf-8"'])(
    "takes %s",
    async (type) => {
      expect(
        await post(withInput("1"), { "content-type": type, "content-encoding": "identity" }),
      ).toMatchObject({ status: 202 });
    },
  );
});

describe("size, in bytes", () => {
  it("takes 1 MiB and refuses one byte more", async () => {
    expect(await post(bodyOf(wire.MAX_BODY_BYTES))).toMatchObject({ status: 202 });
    expect(await post(bodyOf(wire.MAX_BODY_BYTES + 1))).toMatchObject({ status: 413, code: "too_large" });
  });

  it("counts 4-byte characters as four", async () => {
    const body = bodyOf(wire.MAX_BODY_BYTES + 1, "😀");
    expect(body.length).toBeLessThan(wire.MAX_BODY_BYTES);
    expect(await post(body)).toMatchObject({ status: 413 });
    expect(await post(bodyOf(wire.MAX_BODY_BYTES, "😀"))).toMatchObject({ status: 202 });
  });

  it("holds for a chunked body without a length, whatever a header claims", async () => {
    expect(await post(chunked(bodyOf(wire.MAX_BODY_BYTES)))).toMatchObject({ status: 202 });
    expect(await post(chunked(bodyOf(wire.MAX_BODY_BYTES + 1)))).toMatchObject({ status: 413 });
    expect(await post(chunked(bodyOf(wire.MAX_BODY_BYTES + 1)), { "content-length": "10" })).toMatchObject({
      status: 413,
    });
    expect(
      await post(chunked(withInput("1")), { "content-length": String(wire.MAX_BODY_BYTES + 1) }),
    ).toMatchObject({ status: 413 });
  });

  it("stops reading at the limit, even if the sender's stream cannot be cancelled", async () => {
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        pulled += 1;
        controller.enqueue(new Uint8Array(65_536).fill(0x20));
      },
      cancel: () => Promise.reject(new Error("no")),
    });
    expect(await post(endless)).toMatchObject({ status: 413 });
    expect(pulled).toBeLessThan(30);
  });
});

describe("what the ledger is told", () => {
  it("keeps numbers as they were sent and sorts keys, in the request and the input", async () => {
    await post('{ "input": {"b": 1.0, "a": 1e2, "c": 9007199254740991}, "workflow": "hello" }', {
      "idempotency-key": "k1",
    });
    expect(fakes.admission.admitted[0]).toEqual({
      principal: await fakes.authenticate("operator"),
      request: {
        request: { workflow: "hello", input: { a: 100, b: 1, c: 9007199254740991 } },
        canonicalRequest: '{"input":{"a":1e2,"b":1.0,"c":9007199254740991},"workflow":"hello"}',
        inputText: '{"a":1e2,"b":1.0,"c":9007199254740991}',
        idempotencyKey: "k1",
      },
    });
  });

  it("says null for an absent input and brings no key where none was sent", async () => {
    await post('{"workflow":"hello"}');
    expect(fakes.admission.admitted[0]?.request).toEqual({
      request: { workflow: "hello" },
      canonicalRequest: '{"workflow":"hello"}',
      inputText: "null",
    });
  });

  it.each([
    '{"workflow":"hello","input":{"z":1.50,"10":"x","2":[-0,1E3],"é":"\\u00e9"}}',
    '{"priority":3,"workflow":"hello","held":true,"holdFor":"10m"}',
    '{"workflow":"hello","input":{"idempotencyKey":"stays"}}',
  ])("counts a batch member and a single post of %s as the same request", async (request) => {
    await post(request, { "idempotency-key": "k" });
    const member = request.replace("{", '{"idempotencyKey":"k",');
    const batch = await post(`{"runs":[${member},{"workflow":"other"}]}`, {}, "/v1/runs/batch");
    expect(batch.status).toBe(202);
    const [single, batched, other] = fakes.admission.admitted.map((each) => each.request);
    expect(batched).toEqual(single);
    expect(batched?.canonicalRequest).toBe(parseJson(request).canonical);
    expect(other).not.toHaveProperty("idempotencyKey");
  });
});

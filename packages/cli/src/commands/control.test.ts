import { describe, expect, it } from "vitest";
import { api, AT, ghouls, RUN_ID, VIEW } from "../fakes.support.ts";

const NOT_FOUND = {
  type: "urn:ghouls:problem:not_found",
  title: "Not found",
  status: 404,
  detail: "There is no such run.",
  fix: "Check the id.",
  requestId: "r1",
};

describe("release", () => {
  it("says whether this call did it", async () => {
    const path = `POST /v1/runs/${RUN_ID}/release`;
    const answer = { runId: RUN_ID, enqueueSeq: 1, released: true };
    const server = await api({ [path]: [answer, { ...answer, released: false }] });
    expect(await ghouls(["release", RUN_ID], { env: server.env })).toMatchObject({
      code: 0,
      out: "released\n",
    });
    expect((await ghouls(["release", RUN_ID], { env: server.env })).out).toContain("before");
    expect(JSON.parse((await ghouls(["release", RUN_ID, "--json"], { env: server.env })).out)).toMatchObject({
      released: false,
    });
  });
});

it("tells its version", async () => {
  expect((await ghouls(["--version"])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

describe("cancel", () => {
  it("says what the run is now, and sends the reason", async () => {
    const server = await api({
      [`POST /v1/runs/${RUN_ID}/cancel`]: { runId: RUN_ID, cancelled: true, status: "CANCELLING" },
    });
    const outcome = await ghouls(["cancel", RUN_ID, "--reason", "no longer wanted"], { env: server.env });
    expect(outcome).toMatchObject({ code: 0, out: "CANCELLING\n" });
    expect(server.asked.map((one) => one.body)).toEqual([{ reason: "no longer wanted" }]);
  });

  it("of a run that was decided before is an exit code of 1 that says what was decided", async () => {
    const server = await api({
      [`POST /v1/runs/${RUN_ID}/cancel`]: { runId: RUN_ID, cancelled: false, status: "DONE" },
    });
    const outcome = await ghouls(["cancel", RUN_ID, "--reason", "late"], { env: server.env });
    expect(outcome).toMatchObject({ code: 1, out: "decided before: DONE\n" });
  });

  it("without a reason is a wrong call", async () => {
    const server = await api({});
    expect(await ghouls(["cancel", RUN_ID], { env: server.env })).toMatchObject({ code: 2 });
  });
});

describe("resolve", () => {
  it("says what is left, and that the run has ended", async () => {
    const answer = { runId: RUN_ID, item: "effect-0123456789ab", openItems: 0, status: "FAILED" };
    const server = await api({ [`POST /v1/runs/${RUN_ID}/items/effect-0123456789ab/resolution`]: answer });
    const args = ["resolve", RUN_ID, "effect-0123456789ab", "--reason", "seen in the bank's list"];
    expect(await ghouls(args, { env: server.env })).toMatchObject({
      code: 0,
      out: "effect-0123456789ab is settled; 0 left; the run is FAILED\n",
    });
    expect(JSON.parse((await ghouls([...args, "--json"], { env: server.env })).out)).toEqual(answer);
  });

  it("of an item that is not there fails with the fix", async () => {
    const server = await api({ [`POST /v1/runs/${RUN_ID}/items/worker-9/resolution`]: NOT_FOUND });
    const outcome = await ghouls(["resolve", RUN_ID, "worker-9", "--reason", "x"], { env: server.env });
    expect(outcome.code).toBe(1);
    expect(outcome.err).toContain("Check the id.");
  });
});

describe("show", () => {
  it("lists what must be acknowledged, and what was", async () => {
    const item = { id: "worker-1", kind: "worker", subject: "runs-1", enqueueSeq: 1, createdAt: AT };
    const looked = { tries: 0, lastError: null };
    const open = {
      ...item,
      ...looked,
      overAt: AT,
      acknowledgedAt: null,
      acknowledgedBy: null,
      acknowledgement: null,
    };
    const forever = { ...open, id: "effect-1", kind: "effect", subject: "pay", overAt: null };
    const undo = { ...forever, id: "undo-1", kind: "undo", tries: 2, lastError: "the bank is closed" };
    const done = {
      ...open,
      id: "worker-2",
      acknowledgedAt: AT,
      acknowledgedBy: "time",
      acknowledgement: "it is over",
    };
    const server = await api({
      [`GET /v1/runs/${RUN_ID}`]: {
        ...VIEW,
        status: "CANCELLING",
        finishedAt: null,
        containment: [open, forever, undo, done],
      },
      [`GET /v1/runs/${RUN_ID}/timeline`]: { runId: RUN_ID, status: "CANCELLING", entries: [] },
    });
    const { out } = await ghouls(["show", RUN_ID], { env: server.env });
    expect(out).toContain(`worker-1              runs-1, delivery 1: open, over at ${AT}`);
    expect(out).toContain("effect-1              pay, delivery 1: open\n");
    expect(out).toContain(
      "undo-1                pay, delivery 1: open, last tried in vain: the bank is closed\n",
    );
    expect(out).toContain("acknowledged by time: it is over");
  });
});

const CONSENT_ID = "6f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1";
const ASKED = {
  consentId: CONSENT_ID,
  runId: RUN_ID,
  workflow: "release-gate",
  title: "ship with these licences",
  status: "PENDING",
  digest: "0123abcd",
  deciders: ["role:legal"],
  quorum: 2,
  requestedBy: "user:sam",
  requesterMayDecide: false,
  onExpiry: "deny",
  source: "tickets",
  createdAt: AT,
  expiresAt: AT,
  closedAt: null,
  closedBy: null,
};
const WORD = { by: "user:grace", verdict: "grant", at: AT };
const LISTED = { ...ASKED, decisions: [WORD], problem: null as string | null };
const CONSENT = {
  ...ASKED,
  detail: { questions: ["GPL-3.0"] },
  decisions: [{ ...WORD, comment: "fine by me" }],
};

describe("consents", () => {
  it("lists those that wait, and says where the next page begins", async () => {
    const page = { consents: [LISTED], nextCursor: "further" };
    const server = await api({ "GET /v1/consents": page });
    const outcome = await ghouls(["consents", "--limit", "1"], { env: server.env });
    expect(outcome.out).toContain("ship with these licences");
    expect(outcome.out).toContain(CONSENT_ID);
    expect(outcome.err).toContain("--cursor further");
    expect(server.asked[0]?.line).toBe("GET /v1/consents?status=PENDING&limit=1");
  });

  it("lists one that cannot be read beside the others, and says what is wrong with it", async () => {
    const problem = "its request disagrees with its digest";
    const page = { consents: [{ ...LISTED, problem }, LISTED], nextCursor: null };
    const server = await api({ "GET /v1/consents": page });
    const outcome = await ghouls(["consents"], { env: server.env });
    expect(outcome.code).toBe(0);
    expect(outcome.out.match(/ship with these licences/g)).toHaveLength(2);
    expect(outcome.err).toBe(`consent ${CONSENT_ID}: ${problem}\n`);
  });

  it("takes a status, a run and all of them, and tells JSON as it came", async () => {
    const page = { consents: [LISTED], nextCursor: null };
    const server = await api({ "GET /v1/consents": page });
    const denied = await ghouls(["consents", "--status", "DENIED", "--json"], { env: server.env });
    expect(JSON.parse(denied.out)).toEqual(page);
    const all = await ghouls(["consents", "--all", "--run", RUN_ID], { env: server.env });
    expect(all.code).toBe(0);
    expect(server.asked.map(({ line }) => line)).toEqual([
      "GET /v1/consents?status=DENIED",
      `GET /v1/consents?runId=${RUN_ID}`,
    ]);
  });

  it("shows one as its deciders see it, with the digest that a decision names", async () => {
    const server = await api({ [`GET /v1/consents/${CONSENT_ID}`]: CONSENT });
    const { out } = await ghouls(["consents", CONSENT_ID], { env: server.env });
    for (const word of ["0123abcd", "role:legal", "2 of them", "GPL-3.0", "means deny", "fine by me"])
      expect(out).toContain(word);
  });
});

describe("decide", () => {
  it("names the digest that was shown, and says what became of it", async () => {
    const answer = {
      consentId: CONSENT_ID,
      runId: RUN_ID,
      status: "GRANTED",
      repeated: false,
      resumed: true,
    };
    const server = await api({ [`POST /v1/consents/${CONSENT_ID}/decision`]: answer });
    const args = ["decide", CONSENT_ID, "grant", "--digest", "0123abcd", "--comment", "fine"];
    expect(await ghouls(args, { env: server.env })).toMatchObject({
      code: 0,
      out: "GRANTED, the run goes on\n",
    });
    expect(server.asked.map((one) => one.body)).toEqual([
      { verdict: "grant", digest: "0123abcd", comment: "fine" },
    ]);
    expect(JSON.parse((await ghouls([...args, "--json"], { env: server.env })).out)).toEqual(answer);
  });

  it("without a digest decides nothing: it shows the request, and how to decide about it", async () => {
    const server = await api({ [`GET /v1/consents/${CONSENT_ID}`]: CONSENT });
    const outcome = await ghouls(["decide", CONSENT_ID, "deny"], { env: server.env });
    expect(outcome.code).toBe(1);
    expect(outcome.out).toContain("ship with these licences");
    expect(outcome.err).toContain("deny --digest 0123abcd");
  });

  describe("at a terminal", () => {
    const at = async (argv: readonly string[], said: string, consent: object = CONSENT) => {
      const decided = {
        consentId: CONSENT_ID,
        runId: RUN_ID,
        status: "GRANTED",
        repeated: false,
        resumed: true,
      };
      const server = await api({
        [`GET /v1/consents/${CONSENT_ID}`]: consent,
        [`POST /v1/consents/${CONSENT_ID}/decision`]: decided,
      });
      const questions: string[] = [];
      const ask = (question: string) => {
        questions.push(question);
        return Promise.resolve(said);
      };
      const outcome = await ghouls(["decide", CONSENT_ID, ...argv], { env: server.env, ask });
      const words = server.asked.filter(({ line }) => line.startsWith("POST")).map(({ body }) => body);
      return { ...outcome, questions, words };
    };

    it.each([
      [["grant"], " Yes", { verdict: "grant", digest: "0123abcd" }],
      [["deny", "--comment", "no"], "y", { verdict: "deny", digest: "0123abcd", comment: "no" }],
      [[], "grant", { verdict: "grant", digest: "0123abcd" }],
    ])(
      "shows the request, asks, and binds the word of %j to the digest that was shown",
      async (argv, said, word) => {
        const outcome = await at(argv, said);
        expect(outcome.code).toBe(0);
        expect(outcome.out).toContain("ship with these licences");
        expect(outcome.questions).toHaveLength(1);
        expect(outcome.words).toEqual([word]);
      },
    );

    it.each([
      [["grant"], "no"],
      [["grant"], ""],
      [[], "yes"],
      [[], "maybe"],
    ])("decides nothing where %j is answered with %j", async (argv, said) => {
      expect(await at(argv, said)).toMatchObject({ code: 1, words: [], err: "Nothing is decided.\n" });
    });

    it("asks nothing about one that is closed, nor a program that wants JSON", async () => {
      expect(await at(["grant"], "yes", { ...CONSENT, status: "DENIED" })).toMatchObject({
        code: 1,
        questions: [],
      });
      expect(await at(["grant", "--json"], "yes")).toMatchObject({ code: 1, questions: [], words: [] });
    });
  });

  it("wants a word beside a digest", async () => {
    const server = await api({});
    const outcome = await ghouls(["decide", CONSENT_ID, "--digest", "0123abcd"], { env: server.env });
    expect(outcome).toMatchObject({ code: 2, err: expect.stringContaining("grant or deny") as string });
  });

  it("takes no other word", async () => {
    const server = await api({});
    expect((await ghouls(["decide", CONSENT_ID, "maybe"], { env: server.env })).code).toBe(2);
  });
});

describe("signal", () => {
  it("sends what it brings under a key, and says whether the run waited for it", async () => {
    const path = `POST /v1/runs/${RUN_ID}/signals/paid`;
    const answer = { runId: RUN_ID, signalId: CONSENT_ID, repeated: false, resumed: true };
    const server = await api({
      [path]: [answer, { ...answer, resumed: false }, { ...answer, repeated: true }],
    });
    const args = ["signal", RUN_ID, "paid", "--payload", '{"amount":1}', "--key", "k1"];
    expect((await ghouls(args, { env: server.env })).out).toContain("goes on");
    expect((await ghouls(args, { env: server.env })).out).toContain("kept");
    expect((await ghouls(args, { env: server.env })).out).toContain("before");
    expect(server.asked[0]?.body).toEqual({ payload: { amount: 1 } });
  });

  it("refuses what is no JSON before it sends anything", async () => {
    const server = await api({});
    const outcome = await ghouls(["signal", RUN_ID, "paid", "--payload", "{"], { env: server.env });
    expect(outcome.code).toBe(2);
    expect(server.asked).toEqual([]);
  });
});

describe("clear", () => {
  it("says what the run is now; where it has no quarantine the exit code is 1", async () => {
    const path = `POST /v1/runs/${RUN_ID}/clear`;
    const server = await api({
      [path]: [
        { runId: RUN_ID, cleared: true, status: "QUEUED" },
        { runId: RUN_ID, cleared: false, status: "DONE" },
      ],
    });
    const args = ["clear", RUN_ID, "--reason", "the row was restored"];
    expect(await ghouls(args, { env: server.env })).toMatchObject({
      code: 0,
      out: "cleared: the run is QUEUED\n",
    });
    expect(await ghouls(args, { env: server.env })).toMatchObject({ code: 1 });
    expect(server.asked[0]?.body).toEqual({ reason: "the row was restored" });
  });
});

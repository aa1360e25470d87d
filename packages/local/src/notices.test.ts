import { expect, test } from "vitest";
import { describeNotice, noticeIn, withNotice } from "./notices.ts";

const logged = {
  time: "2026-12-01T10:00:00.000Z",
  level: "warn",
  message: 'gate: on replay, call 3 is step "b" where the run had step "c"',
  runId: "r1",
  check: "replay",
  fix: "Use ctx.now().",
};
const notice = { at: logged.time, runId: "r1", message: logged.message, fix: logged.fix };

test("a warning of the check of replays is found among a worker's lines, and told with its run and its fix", () => {
  expect(noticeIn(`runs-1 | ${JSON.stringify(logged)}`)).toEqual(notice);
  expect(describeNotice(notice)).toEqual([`${logged.message} (run r1)`, "  Fix: Use ctx.now()."]);
});

test.each([
  ["another entry of the log", JSON.stringify({ ...logged, check: "other" })],
  ["what user code prints", 'I saw "check":"replay" {'],
  ["a line of a server", "database system is ready"],
])("%s is none", (_name, text) => {
  expect(noticeIn(`runs-1 | ${text}`)).toBeUndefined();
});

test("the newest are kept", () => {
  let kept: ReturnType<typeof withNotice> = [];
  for (let number = 1; number <= 25; number += 1) kept = withNotice(kept, { ...notice, runId: `r${number}` });
  expect(kept.map(({ runId }) => runId)).toEqual(Array.from({ length: 20 }, (_, index) => `r${index + 6}`));
});

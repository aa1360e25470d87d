import { inputs, resource, without, type Mutation } from "./mutation.ts";

const DEAD = "dead letters are heard of";
const WAITING = "waiting messages are heard of";
const ERRORS = "errors of every function are heard of";
const SILENCE = "a silent reconciler is heard of";
const LEDGER = "what the ledger waits for is heard of, of this deployment";
const TOLD = "alarms tell the topic that is set";
const DASHBOARD = "every function and queue is on the dashboard";
const DEAD_ALARM = "GhoulsRunsDeadLettersAlarm";

/** Takes what names this out of the dashboard. */
const unseen = (physical: string) =>
  resource("GhoulsDashboard", (one) => ({
    ...one,
    inputs: {
      ...one.inputs,
      dashboardBody: String(one.inputs["dashboardBody"] as string).replaceAll(physical, "another"),
    },
  }));

export const WATCHING_MUTATIONS: readonly Mutation[] = [
  { check: DEAD, what: "an alarm is gone", change: without(DEAD_ALARM) },
  { check: DEAD, what: "the first is not heard of", change: inputs(DEAD_ALARM, { threshold: 1 }) },
  { check: DEAD, what: "an alarm is switched off", change: inputs(DEAD_ALARM, { actionsEnabled: false }) },
  {
    check: DEAD,
    what: "it looks at a queue that is not there",
    change: inputs(DEAD_ALARM, { dimensions: { QueueName: "another" } }),
  },
  {
    check: DEAD,
    what: "it looks at another metric",
    change: inputs(DEAD_ALARM, { metricName: "NumberOfMessagesSent" }),
  },
  { check: WAITING, what: "an alarm is gone", change: without("GhoulsRunsOldestMessageAlarm") },
  {
    check: WAITING,
    what: "it sounds while nothing waits",
    change: inputs("GhoulsRunsOldestMessageAlarm", { comparisonOperator: "LessThanThreshold" }),
  },
  { check: ERRORS, what: "an alarm is gone", change: without("GhoulsMigrateErrorsAlarm") },
  { check: ERRORS, what: "it takes five", change: inputs("GhoulsApiErrorsAlarm", { threshold: 5 }) },
  {
    check: ERRORS,
    what: "it looks in another place",
    change: inputs("GhoulsApiErrorsAlarm", { namespace: "Ghouls" }),
  },
  { check: SILENCE, what: "the alarm is gone", change: without("GhoulsReconcilerSilentAlarm") },
  {
    check: SILENCE,
    what: "no data is taken for good news",
    change: inputs("GhoulsReconcilerSilentAlarm", { treatMissingData: "notBreaching" }),
  },
  {
    check: SILENCE,
    what: "it sounds below nothing",
    change: inputs("GhoulsReconcilerSilentAlarm", { threshold: 0 }),
  },
  { check: LEDGER, what: "an alarm is gone", change: without("GhoulsLedgerIntegrityAlarm") },
  {
    check: LEDGER,
    what: "it looks at another deployment",
    change: inputs("GhoulsLedgerAttentionAlarm", { dimensions: { service: "another" } }),
  },
  { check: TOLD, what: "one tells nobody", of: "vpc", change: inputs(DEAD_ALARM, { alarmActions: [] }) },
  {
    check: TOLD,
    what: "one tells somebody else",
    change: inputs(DEAD_ALARM, { alarmActions: ["arn:aws:sns:us-east-1:123456789012:another"] }),
  },
  { check: DASHBOARD, what: "it is gone", change: without("GhoulsDashboard") },
  {
    check: DASHBOARD,
    what: "a function is not on it",
    change: unseen("ghouls-test-GhoulsPreflightFunction-bdvfbzta"),
  },
  {
    check: DASHBOARD,
    what: "dead letters are not on it",
    change: unseen("ghouls-test-GhoulsDeadLetterRunsQueue-bdvfbzta"),
  },
];

import { removed, type Applier } from "./applier.ts";

export const schedule: Applier = {
  apply: async ({ clients: { scheduler }, inputs, earlier }) => {
    const name = inputs.text("name");
    const target = inputs.object("target");
    const settings = {
      Name: name,
      ScheduleExpression: inputs.text("scheduleExpression"),
      State: inputs.text("state") as "ENABLED",
      FlexibleTimeWindow: { Mode: "OFF" as const },
      Target: {
        Arn: target.text("arn"),
        RoleArn: target.text("roleArn"),
        Input: target.text("input"),
        RetryPolicy: { MaximumRetryAttempts: target.object("retryPolicy").number("maximumRetryAttempts") },
      },
    };
    await (earlier === undefined ? scheduler.createSchedule(settings) : scheduler.updateSchedule(settings));
    return { keys: { name }, state: {} };
  },
  remove: ({ keys }, { scheduler }) => removed(scheduler.deleteSchedule({ Name: keys["name"] ?? "" })),
};

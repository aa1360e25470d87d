/** The state machine of the crash tests. */
export const MACHINE = "arn:aws:states:us-east-1:000000000000:stateMachine:ghouls-dig";

export interface StatesReply {
  readonly status: number;
  readonly text: string;
}

/** Something that starts executions of {@link MACHINE}, which run until they are told to end. */
export interface StatesBackend {
  ask(action: string, input: Readonly<Record<string, string>>): Promise<StatesReply>;
  /** Ends what runs, once: with this as its output. */
  finish(output: string): Promise<void>;
  /** Names of all executions that there have been. */
  executions(): Promise<string[]>;
}

interface Execution {
  readonly input: string | undefined;
  status: "RUNNING" | "SUCCEEDED" | "ABORTED";
  output?: string;
}

const given = (body: object): StatesReply => ({ status: 200, text: JSON.stringify(body) });
export const refusal = (code: string): StatesReply => ({
  status: 400,
  text: JSON.stringify({ __type: `com.amazonaws.states#${code}`, message: "no" }),
});

/** As AWS documents them; an execution ends when a test says so. */
export function memoryStates(): StatesBackend {
  const executions = new Map<string, Execution>();
  const arnOf = (name: string | undefined) => `${MACHINE.replace(":stateMachine:", ":execution:")}:${name}`;
  const start = ({ name, input }: Readonly<Record<string, string>>): StatesReply => {
    const executionArn = arnOf(name);
    const there = executions.get(executionArn);
    if (there !== undefined && (there.status !== "RUNNING" || there.input !== input))
      return refusal("ExecutionAlreadyExists");
    if (there === undefined) executions.set(executionArn, { input, status: "RUNNING" });
    return given({ executionArn, startDate: 1 });
  };
  return {
    ask: async (action, asked) => {
      if (action === "DescribeStateMachine") return given({ type: "STANDARD", status: "ACTIVE" });
      if (action === "StartExecution") return start(asked);
      const execution = executions.get(asked["executionArn"] ?? "");
      if (execution === undefined) return refusal("ExecutionDoesNotExist");
      if (action === "StopExecution" && execution.status === "RUNNING") execution.status = "ABORTED";
      return given(action === "StopExecution" ? { stopDate: 1 } : { ...execution });
    },
    finish: async (output) => {
      for (const execution of executions.values())
        if (execution.status === "RUNNING") Object.assign(execution, { status: "SUCCEEDED", output });
    },
    executions: async () => [...executions.keys()].map((arn) => arn.split(":").at(-1) ?? ""),
  };
}

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll } from "vitest";
import { memoryStates, refusal, type StatesBackend, type StatesReply } from "./state-machine.ts";
import { emulatedStates } from "./states-emulator.ts";

/** Step Functions behind a network that loses what it may lose. */
export interface StatesServer {
  readonly url: string;
  readonly backend: StatesBackend;
  /** What it was asked, in order. */
  readonly asked: string[];
  /** How the next start fares: its answer is lost, it is sent twice, or it is refused before it arrives. */
  nextStart: "lose answer" | "double" | "lose answer and double" | "throttle" | undefined;
  /** Whether a describe does not see yet what was started. */
  blind: boolean;
  /** Called when a start has been carried out, before anybody hears of it. */
  onStarted: () => Promise<void>;
  reset(): void;
}

/** @param emulator address of one that has Step Functions; one in this process where it is undefined */
export async function statesServer(emulator?: string): Promise<StatesServer> {
  const backend = emulator === undefined ? memoryStates() : await emulatedStates(emulator);
  const nothing = () => Promise.resolve();
  const answer = async (action: string, input: Record<string, string>): Promise<StatesReply | undefined> => {
    if (action === "DescribeExecution" && states.blind) return refusal("ExecutionDoesNotExist");
    if (action !== "StartExecution") return backend.ask(action, input);
    const fate = states.nextStart;
    states.nextStart = undefined;
    if (fate === "throttle") return refusal("ThrottlingException");
    let reply = await backend.ask(action, input);
    if (fate?.includes("double") === true) reply = await backend.ask(action, input);
    await states.onStarted();
    return fate?.startsWith("lose") === true ? undefined : reply;
  };
  const serve = async (action: string, text: string, response: ServerResponse): Promise<void> => {
    states.asked.push(action);
    const reply = await answer(action, JSON.parse(text) as Record<string, string>);
    if (reply === undefined) response.destroy();
    else response.writeHead(reply.status, { "content-type": "application/x-amz-json-1.0" }).end(reply.text);
  };
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => (text += chunk));
    const action = String(request.headers["x-amz-target"]).replace("AWSStepFunctions.", "");
    request.on("end", () => void serve(action, text, response).catch(() => response.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const states: StatesServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    backend,
    asked: [],
    nextStart: undefined,
    blind: false,
    onStarted: nothing,
    reset: () => {
      states.asked.length = 0;
      states.nextStart = undefined;
      states.blind = false;
      states.onStarted = nothing;
    },
  };
  return states;
}

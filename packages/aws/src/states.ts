import { noFaults, type FaultInjector } from "@ghouls/core";
import type { AwsConnection } from "./connection.ts";
import type { StatesActions, StatesClient, StatesFailure } from "./states-client.ts";

export type { StatesFailure } from "./states-client.ts";

/** What came of a question: an answer, or why there is none. */
export type StatesAnswer<T> = { readonly answer: T } | { readonly failure: StatesFailure };

interface StatesCall {
  readonly signal: AbortSignal;
  readonly faults?: FaultInjector;
}

/** Step Functions: each question is sent once at most, and its failure is a value. */
export interface States {
  ask<A extends keyof StatesActions>(
    action: A,
    input: StatesActions[A]["takes"],
    call: StatesCall,
  ): Promise<StatesAnswer<StatesActions[A]["gives"]>>;
}

/** The client is made at the first question: the SDK is half of a cold start. */
export function openStates(connection: Omit<AwsConnection, "maxAttempts">): States {
  let client: Promise<StatesClient> | undefined;
  const open = async (): Promise<StatesClient> => {
    const { openStatesClient } = await import("./states-client.ts");
    return openStatesClient(connection);
  };
  return {
    ask: async (action, input, { signal, faults = noFaults }) => {
      const { StatesError } = await import("./states-client.ts");
      const states = await (client ??= open());
      await faults("states.before-ask", action);
      try {
        const answer = await states.ask(action, input, signal);
        await faults("states.after-ask", action);
        return { answer };
      } catch (error) {
        if (error instanceof StatesError) return { failure: error.failure };
        throw error;
      }
    },
  };
}

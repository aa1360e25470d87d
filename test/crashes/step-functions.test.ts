import { diggingTests } from "../support/digging.ts";

await diggingTests();

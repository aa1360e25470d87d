export { agent } from "./agent/agent.ts";
export { hello } from "./hello.ts";
export { payout } from "./payout/payout.ts";
export { releaseGate } from "./release-gate/release-gate.ts";
export { route } from "./route.ts";
export { signer } from "./signer.ts";

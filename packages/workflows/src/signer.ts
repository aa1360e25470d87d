import { httpService } from "ghouls";
import { Signed, SignRequest } from "./signing-service/statement.ts";

/** `npm start` starts the service and says where it is; without it, where the service listens by itself. */
const base = new URL(process.env["GHOULS_SERVICE_SIGNER_URL"] || "http://127.0.0.1:4801");

/** It is on this machine, so its address is no public one. */
export const signerOrigin = base.origin;

/** Who signs what may be released: the service of `signing-service/`, whose word on what it has not taken counts. */
export const signer = httpService({
  url: new URL("/jobs", base).href,
  request: SignRequest,
  result: Signed,
  lookup: "authoritative",
  submit: "idempotent",
  cancel: "final",
  delay: "1s",
  poll: "5s",
  timeout: "5s",
});

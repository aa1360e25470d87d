import type { CallId } from "@ghouls/core";
import type { Row } from "../connection/database.ts";
import { rows } from "./rows.ts";

/** The identity of a call as parameters, in the order of its columns. */
export function callValues({
  epoch,
  scope,
  kind,
  name,
  nth,
}: CallId): [number, string, string, string, number] {
  return [epoch, scope, kind, name, nth];
}

/** The identity of a call from its columns. */
export function callOf(row: Row): CallId {
  const r = rows(row);
  return {
    epoch: r.number("epoch"),
    scope: r.text("scope"),
    kind: r.text("kind") as CallId["kind"],
    name: r.text("name"),
    nth: r.number("nth"),
  };
}

import type pg from "pg";

/** One node of an EXPLAIN (FORMAT JSON), as far as the tests look at it. */
interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly "Shared Hit Blocks"?: number;
  readonly "Shared Read Blocks"?: number;
  readonly Plans?: readonly PlanNode[];
}

type Scalar = string | number | boolean | null;
export type PlanValue = Scalar | readonly Scalar[];

export interface Plan {
  /** `table by index`, or `table in full`. */
  readonly scans: readonly string[];
  /** The most rows that one node looked at, over all its loops, with those that it threw away. */
  readonly rows: number;
  /** Pages touched by the whole statement. */
  readonly pages: number;
}

/**
 * Plans and carries out a statement in a transaction that is rolled back. Generic plans do not know the values: a
 * prepared statement gets one after its fifth use.
 */
export async function explain(
  client: pg.Client,
  text: string,
  values: readonly PlanValue[],
  mode: "force_generic_plan" | "force_custom_plan",
): Promise<Plan> {
  await client.query("begin");
  try {
    await client.query(`set local plan_cache_mode = ${mode}`);
    await client.query(`prepare explained as ${text}`);
    const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(
      `explain (analyze, buffers, timing off, format json) execute explained${argumentsOf(client, values)}`,
    );
    const root = rows[0]?.["QUERY PLAN"][0].Plan;
    if (root === undefined) throw new Error("no plan");
    const nodes = flat(root);
    return {
      scans: nodes.flatMap((node) =>
        node["Relation Name"] === undefined || node["Node Type"] === "ModifyTable"
          ? []
          : [`${node["Relation Name"]} ${scanOf(node)}`],
      ),
      rows: Math.max(...nodes.map(rowsOf)),
      pages: (root["Shared Hit Blocks"] ?? 0) + (root["Shared Read Blocks"] ?? 0),
    };
  } finally {
    await client.query("rollback");
    await client.query("deallocate all");
  }
}

function flat(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flat)];
}

function scanOf(node: PlanNode): string {
  if (node["Node Type"] === "Seq Scan") return "in full";
  if (node["Index Name"] !== undefined) return `by ${node["Index Name"]}`;
  return `by ${(node.Plans ?? []).map((child) => child["Index Name"] ?? "its parts").join(" and ")}`;
}

function rowsOf(node: PlanNode): number {
  const removed = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0);
  return ((node["Actual Rows"] ?? 0) + removed) * (node["Actual Loops"] ?? 1);
}

function argumentsOf(client: pg.Client, values: readonly PlanValue[]): string {
  if (values.length === 0) return "";
  const literal = (value: PlanValue): string => {
    if (value === null) return "null";
    if (typeof value !== "object") return client.escapeLiteral(String(value));
    return client.escapeLiteral(`{${value.map((one) => JSON.stringify(String(one))).join(",")}}`);
  };
  return ` (${values.map(literal).join(", ")})`;
}

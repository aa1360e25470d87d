/** A message names a delivery and carries nothing else: authority, tenant and input come from the ledger's row. */
export interface DeliveryRef {
  readonly runId: string;
  readonly enqueueSeq: number;
}

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const RUN_ID = new RegExp(`^${UUID}$`);
const MESSAGE = new RegExp(`^run:(${UUID}):([1-9]\\d{0,8})$`);
const WAKE = new RegExp(`^wake:(${UUID})$`);

export function isRunId(text: string): boolean {
  return RUN_ID.test(text);
}

/** The body of a delivery's SQS message, `run:<run_id>:<enqueue_seq>`. */
export function formatMessage(ref: DeliveryRef): string {
  return `run:${ref.runId}:${ref.enqueueSeq}`;
}

/** The delivery that a body names, or undefined for anything that we did not write. */
export function parseMessage(body: string): DeliveryRef | undefined {
  const match = MESSAGE.exec(body);
  if (match === null) return undefined;
  return { runId: match[1] as string, enqueueSeq: Number(match[2]) };
}

/** The body of a message that comes when a timer is due, `wake:<arm id>`. It says so, and proves nothing. */
export function formatWake(armId: string): string {
  return `wake:${armId}`;
}

/** The arm whose timer a body names, or undefined. */
export function parseWake(body: string): string | undefined {
  return WAKE.exec(body)?.[1];
}

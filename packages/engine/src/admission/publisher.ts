import { errorInLog } from "@ghouls/core";
import type { FaultInjector, Logger, Publication, QueuePort } from "@ghouls/core";
import type { Ledger } from "@ghouls/ledger";
import { grouped } from "../grouping.ts";
import { endsWithin } from "../patience.ts";

export interface PublisherOptions {
  readonly ledger: Pick<Ledger, "deliveries">;
  readonly queue: Pick<QueuePort, "publish">;
  readonly faults: FaultInjector;
  readonly log: Logger;
  /** Opens the live channel for what is about to be published. Never rejects, and takes a moment at most. */
  readonly open?: ((publications: readonly Publication[]) => Promise<void>) | undefined;
}

/** What became of a publication. A failed one is the relay's; it never ends a run. */
export type PublicationOutcome = "published" | "failed";

/** Largest group that is published and marked together. */
const GROUP = 100;

/** The second commit of an admission: publishes deliveries in groups and marks what SQS confirmed. */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #grouped: (publication: Publication) => Promise<PublicationOutcome>;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#grouped = grouped(GROUP, (publications) => this.#publish(publications));
  }

  /** Publishes one delivery, together with others that are on their way. Never rejects. */
  publish(publication: Publication): Promise<PublicationOutcome> {
    return this.#grouped(publication);
  }

  async #publish(publications: readonly Publication[]): Promise<PublicationOutcome[]> {
    const { queue, log, faults, open } = this.#options;
    try {
      await open?.(publications);
      const { confirmed, failed } = await queue.publish(publications);
      for (const { publication, reason } of failed) {
        log.warn("a delivery could not be published; the relay will", { runId: publication.runId, reason });
      }
      await faults("admission.after-publish", `${confirmed.length} confirmed`);
      await this.#mark(confirmed, failed);
      const done = new Set(confirmed.map(({ runId, enqueueSeq }) => `${runId}:${enqueueSeq}`));
      return publications.map(({ runId, enqueueSeq }) =>
        done.has(`${runId}:${enqueueSeq}`) ? "published" : "failed",
      );
    } catch (error) {
      log.warn("publications failed; the relay repeats them", {
        count: publications.length,
        error: errorInLog(error),
      });
      return publications.map(() => "failed");
    }
  }

  async #mark(
    confirmed: readonly Publication[],
    failed: readonly { readonly publication: Publication; readonly reason: string }[],
  ): Promise<void> {
    const { ledger, log } = this.#options;
    try {
      await ledger.deliveries.markPublished(confirmed);
      await ledger.deliveries.markPublicationFailed(failed);
    } catch (error) {
      // Unmarked, the relay publishes the same pair once more: a duplicate that finds its delivery claimed or settled.
      log.warn("publications could not be marked", { count: confirmed.length, error: errorInLog(error) });
    }
  }
}

/** How long whoever has asked waits for the publication of what came of that, in milliseconds. */
const PUBLICATION_PATIENCE_MS = 2_000;

/** Publishes what an answer has brought about, before that is given. What takes longer is the relay's as well. */
export async function publishInTime(
  publisher: Pick<Publisher, "publish">,
  publication: Publication,
): Promise<PublicationOutcome> {
  const publishing = publisher.publish(publication);
  return (await endsWithin(publishing, PUBLICATION_PATIENCE_MS)) ? publishing : "failed";
}

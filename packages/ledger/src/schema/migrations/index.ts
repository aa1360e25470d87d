import { runs } from "./0001-runs.ts";
import { containment } from "./0002-containment.ts";
import { doctor } from "./0003-doctor.ts";
import { holds } from "./0004-holds.ts";
import { overlap } from "./0005-overlap.ts";
import { keys } from "./0006-keys.ts";
import { waits } from "./0007-waits.ts";
import { starts } from "./0008-starts.ts";
import { attempts } from "./0009-attempts.ts";
import { children } from "./0010-children.ts";
import { grants } from "./0011-grants.ts";
import { reservations } from "./0012-reservations.ts";
import { places } from "./0013-places.ts";
import { undo } from "./0014-undo.ts";
import { pauses } from "./0015-pauses.ts";
import { redrives } from "./0016-redrives.ts";
import { reconciler } from "./0017-reconciler.ts";
import { evidence } from "./0018-evidence.ts";
import { integrity } from "./0019-integrity.ts";
import { traces } from "./0020-traces.ts";
import { remembers } from "./0021-remembers.ts";
import { releases } from "./0022-releases.ts";
import { labels } from "./0023-labels.ts";
import { shown } from "./0024-shown.ts";
import { lists } from "./0025-lists.ts";
import type { Migration } from "./migration.ts";

/** In order; numbers have no gaps. */
export const MIGRATIONS: readonly Migration[] = [
  runs,
  containment,
  doctor,
  holds,
  overlap,
  keys,
  waits,
  starts,
  attempts,
  children,
  grants,
  reservations,
  places,
  undo,
  pauses,
  redrives,
  reconciler,
  evidence,
  integrity,
  traces,
  remembers,
  releases,
  labels,
  shown,
  lists,
];

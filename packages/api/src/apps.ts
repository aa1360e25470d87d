import type { wire } from "@ghouls/core";
import type {
  AdmissionService,
  AttemptService,
  ConsentService,
  ControlService,
  IntegrityService,
  PauseService,
  ReadinessCheck,
  ReadService,
  ReconcilerService,
  SignalService,
} from "@ghouls/engine";
import { mountAdmission } from "./admission.ts";
import { mountAttempts, mountJobs } from "./attempts.ts";
import type { EdgeDependencies, FetchHandler } from "./context.ts";
import { createFrame } from "./frame.ts";
import { mountControl } from "./control.ts";
import { mountEvents, type EventDependencies } from "./events.ts";
import { mountIntegrity, mountIntegrityReads } from "./integrity.ts";
import { mountPauseReads, mountPauses } from "./pauses.ts";
import { mountConsents, mountWaits } from "./waits.ts";
import { mountReads } from "./reads.ts";
import { mountReconciler, mountReconcilerReads } from "./reconciler.ts";

export interface AdmissionAppDependencies extends EdgeDependencies {
  readonly admission: AdmissionService;
  readonly control: ControlService;
  readonly pauses: PauseService;
  readonly integrity: IntegrityService;
  readonly consents: ConsentService;
  readonly signals: SignalService;
  readonly attempts: AttemptService;
  readonly reconciler: Pick<ReconcilerService, "run">;
}

export interface EventsAppDependencies extends EdgeDependencies, EventDependencies {}

export interface ApiAppDependencies extends EventsAppDependencies {
  readonly reads: ReadService;
  readonly pauses: PauseService;
  readonly integrity: IntegrityService;
  readonly consents: ConsentService;
  readonly attempts: AttemptService;
  readonly reconciler: Pick<ReconcilerService, "state">;
  /** The registered workflows of this build. */
  readonly workflows: () => wire.WorkflowList;
  /** What `/readyz` tells; no checks at all count as not ready. */
  readonly readiness: () => Promise<readonly ReadinessCheck[]>;
}

/** The routes that write: admission, control, decisions, signals, and what services report (design.md §3, §6). */
export function createAdmissionApp(dependencies: AdmissionAppDependencies): FetchHandler {
  return createFrame(dependencies, (app) => {
    mountAdmission(app, dependencies.admission);
    mountControl(app, dependencies.control);
    mountPauses(app, dependencies);
    mountIntegrity(app, dependencies.integrity);
    mountWaits(app, dependencies);
    mountJobs(app, dependencies.attempts);
    mountReconciler(app, dependencies.reconciler);
  });
}

/** The routes that read, with health, readiness and the OpenAPI document of both applications (design.md §6). */
export function createApiApp(dependencies: ApiAppDependencies): FetchHandler {
  return createFrame(dependencies, (app) => {
    mountConsents(app, dependencies.consents);
    mountAttempts(app, dependencies.attempts);
    mountPauseReads(app, dependencies.pauses);
    mountReconcilerReads(app, dependencies.reconciler);
    mountIntegrityReads(app, dependencies.integrity);
    mountReads(app, dependencies);
    mountEvents(app, dependencies);
  });
}

/** The route that follows a run, alone: for a function that may stream. */
export function createEventsApp(dependencies: EventsAppDependencies): FetchHandler {
  return createFrame(dependencies, (app) => mountEvents(app, dependencies));
}

/** Both applications in one handler, for one machine. */
export function createHttpApp(dependencies: AdmissionAppDependencies & ApiAppDependencies): FetchHandler {
  return createFrame(dependencies, (app) => {
    mountAdmission(app, dependencies.admission);
    mountControl(app, dependencies.control);
    mountPauses(app, dependencies);
    mountIntegrity(app, dependencies.integrity);
    mountWaits(app, dependencies);
    mountJobs(app, dependencies.attempts);
    mountReconciler(app, dependencies.reconciler);
    mountConsents(app, dependencies.consents);
    mountAttempts(app, dependencies.attempts);
    mountPauseReads(app, dependencies.pauses);
    mountReconcilerReads(app, dependencies.reconciler);
    mountIntegrityReads(app, dependencies.integrity);
    mountReads(app, dependencies);
    mountEvents(app, dependencies);
  });
}

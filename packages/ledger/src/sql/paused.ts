/** Of a row of ghouls.pauses, as the index has them: empty where it holds every tenant, or every workflow. */
export const HOLDS = { tenant: "coalesce(p.tenant_id, '')", workflow: "coalesce(p.workflow, '')" } as const;

/** Whether a pause of its workflow, of its tenant or of all holds a run, which needs tenant_id and workflow_name. */
const isHeld = (run: string) => `exists (
        select from ghouls.pauses p
        where p.lifted_at is null and ${HOLDS.tenant} = any(array[${run}.tenant_id, ''])
          and ${HOLDS.workflow} = any(array[${run}.workflow_name, '']))`;

/** Whether anything has paused a run: its deliveries wait, but for those that are about its containment. */
export const isPaused = (run: string): string => `(${run}.paused_at is not null or ${isHeld(run)})`;

export const notPaused = (run: string): string => `${run}.paused_at is null and not ${isHeld(run)}`;

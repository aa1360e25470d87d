/** Of a run: no release has its code. */
export function withoutRelease(run: string): string {
  return `not exists (
      select from ghouls.releases r
      where r.workflow_name = ${run}.workflow_name and r.workflow_digest = ${run}.workflow_digest and r.removed_at is null)`;
}

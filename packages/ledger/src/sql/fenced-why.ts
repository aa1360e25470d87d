/**
 * Why a delivery was fenced, for people; null where it is not. A contain delivery is fenced by the end of its run, and any other
 * by the one move that ended the run's work, which the run keeps: a cancel by who asked for it, all else by its error's code.
 */
export const fencedWhy = (delivery: string, run: string): string => `case
    when ${delivery}.status <> 'FENCED' then null
    when ${delivery}.cause = 'contain' then 'ended'
    when ${run}.cancelled_by is not null then 'cancelled'
    else coalesce(${run}.error_code, 'ended')
  end`;

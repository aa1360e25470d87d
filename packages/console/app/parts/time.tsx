import { useNow } from "./clock.tsx";
import { agoText, leftText, spanText } from "./spans.ts";

/** How long ago; the moment itself on hover and for screen readers. */
export function Ago({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={exact(at)}>
      {agoText(at, now)}
    </time>
  );
}

/** How long it takes until then, counted down. */
export function Left({ until }: { until: string }) {
  const now = useNow();
  return (
    <time dateTime={until} title={exact(until)}>
      {leftText(until, now)}
    </time>
  );
}

/** The moment itself, in the reader's zone. */
export function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at}>
      {exact(at)}
    </time>
  );
}

/** From one moment to another, or to now. */
export function Span({ from, to }: { from: string; to: string | null }) {
  const now = useNow();
  const end = to === null ? now : Date.parse(to);
  return <span className="number">{spanText(Math.max(0, end - Date.parse(from)))}</span>;
}

const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function exact(at: string): string {
  return EXACT.format(new Date(at));
}

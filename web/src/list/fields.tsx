import type { ReactNode } from 'react';
import { formatAgo, formatMoment, parseTime } from '../times.ts';

/** The details of a row, by name. */
export function FieldList({ children }: { children: ReactNode }) {
  return <dl className="row-fields">{children}</dl>;
}

export function Field({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

export function Moment({ at, now }: { at: string; now: number }) {
  const ms = parseTime(at);
  return ms === null ? <>{at}</> : <span title={formatMoment(ms)}>{formatAgo(ms, now)}</span>;
}

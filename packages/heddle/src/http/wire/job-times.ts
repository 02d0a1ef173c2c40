import { Type, type Static } from 'typebox';

import type { CalendarEntry } from '@heddle/core/engine/schedule/port';
import { Count, GivenTime, isoTime, nullable, oneOf, Timestamp, Uuid } from './basics.ts';
import { RunState } from './job.ts';

const closed = { additionalProperties: false };

export const CalendarEntryDto = Type.Object(
  {
    job_id: Uuid('The job.'),
    job_name: Type.String(),
    at: Timestamp('The occurrence'),
    type: oneOf(['past', 'next'], { description: 'An entry of the history, or an occurrence to come.' }),
    state: nullable(RunState),
    reason: nullable(Type.String({ description: 'Why it was skipped or could not start.' })),
    run_id: nullable(Uuid('The workflow that it started.')),
  },
  { ...closed, title: 'CalendarEntry' },
);
export type CalendarEntryDto = Static<typeof CalendarEntryDto>;

export const BackfillDto = Type.Object(
  {
    since: GivenTime('Only occurrences at or after this time'),
    until: GivenTime('Only occurrences until this time'),
    dry_run: Type.Optional(Type.Boolean({ default: false, description: 'Starts nothing.' })),
  },
  { ...closed, title: 'Backfill' },
);
export type BackfillDto = Static<typeof BackfillDto>;

export const BackfillResultDto = Type.Object(
  {
    occurrences: Type.Array(Timestamp('An occurrence in the range'), { description: 'Oldest first.' }),
    started: Count('Runs that started, or wait for others.'),
  },
  { ...closed, title: 'BackfillResult' },
);
export type BackfillResultDto = Static<typeof BackfillResultDto>;

export function calendarEntryToWire({ at, ...entry }: CalendarEntry): CalendarEntryDto {
  return { ...entry, at: isoTime(at) };
}

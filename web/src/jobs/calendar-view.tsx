import type { CalendarEntry } from '@heddle/client';
import { Link } from 'wouter';
import { readCalendar } from '../api/jobs.ts';
import { jobAddress } from '../data/addresses.ts';
import { useFilters } from '../data/filters.ts';
import { useLive } from '../data/live.ts';
import { Button } from '../ui/button.tsx';
import { FilterBar } from '../ui/filter-bar.tsx';
import { StateGlyph } from '../ui/glyphs.tsx';
import { Trouble } from '../ui/problem.tsx';
import { Segments } from '../ui/segments.tsx';
import { OutcomeBar } from '../ui/state.tsx';
import type { State } from '../ui/state.ts';
import { boxesOf, dayOf, daysLater, endOf, startOf, textOfDay } from './calendar-days.ts';
import type { CalendarBox, CalendarLine, Span } from './calendar-days.ts';
import { lookOf } from './run-state.tsx';
import { Loading } from '../ui/loading.tsx';

/** It covers all jobs, and little of it changes. */
const REFRESH_MS = 5000;

const DAY = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short' });
const LONG_DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'full' });
const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

/** What all jobs started and will start in a day or a week, in local time. */
export function CalendarView() {
  const [{ span: spanText, from }, change] = useFilters(['span', 'from']);
  const span: Span = spanText === 'day' ? 'day' : 'week';
  const start = startOf(span, dayOf(from, Date.now()));
  const end = endOf(span, start);
  const [since, until] = [start.toISOString(), new Date(end.getTime() - 1).toISOString()];
  const { data, error, dataUpdatedAt } = useLive(
    ['calendar', since, until],
    (signal) => readCalendar(since, until, signal),
    { every: REFRESH_MS },
  );
  const step = span === 'day' ? 1 : 7;
  const go = (day: Date): void => change({ from: textOfDay(day) });
  return (
    <>
      <FilterBar>
        <Segments
          label="Span"
          options={{ week: 'Week', day: 'Day' }}
          chosen={span}
          onChoose={(name) => change({ span: name === 'week' ? '' : name })}
        />
        <Button aria-label={`Previous ${span}`} onClick={() => go(daysLater(start, -step))}>
          ‹
        </Button>
        <Button onClick={() => change({ from: '' })}>Today</Button>
        <Button aria-label={`Next ${span}`} onClick={() => go(daysLater(start, step))}>
          ›
        </Button>
        <strong>{titleOf(span, start, end)}</strong>
      </FilterBar>
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      {data === undefined && error === null && <Loading />}
      {data !== undefined && data.leftOut > 0 && (
        <p className="banner" role="status">
          {data.leftOut.toLocaleString()} later entries are left out: the calendar shows the first 2,000 of a range.
          {span === 'week' && ' A single day shows more of them.'}
        </p>
      )}
      {data !== undefined && (
        <Boxes
          span={span}
          boxes={boxesOf(span, start, data.entries)}
          onDay={(day) => change({ span: 'day', from: textOfDay(day) })}
        />
      )}
    </>
  );
}

function titleOf(span: Span, start: Date, end: Date): string {
  if (span === 'day') return LONG_DAY.format(start);
  return `${DAY.format(start)} – ${DAY.format(daysLater(end, -1))}`;
}

interface BoxesProps {
  span: Span;
  boxes: readonly CalendarBox[];
  onDay: (day: Date) => void;
}

function Boxes({ span, boxes, onDay }: BoxesProps) {
  const today = dayOf('', Date.now()).getTime();
  return (
    <ol className={`calendar calendar-${span}`} aria-label="Calendar">
      {boxes.map(({ startMs, lines }) => (
        <li
          key={startMs}
          className="calendar-box"
          data-today={(span === 'week' && startMs === today) || undefined}
          data-empty={lines.length === 0 || undefined}
        >
          <div className="calendar-head">
            {span === 'week' ? (
              <button type="button" className="link" onClick={() => onDay(new Date(startMs))}>
                {DAY.format(startMs)}
              </button>
            ) : (
              TIME.format(startMs)
            )}
          </div>
          <ul className="calendar-lines">
            {lines.map((line) => (
              <li key={line.key}>
                {line.entries.length === 1 ? <One entry={line.entries[0]!} /> : <Many line={line} />}
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ol>
  );
}

function glyphOf({ state }: CalendarEntry): { state: State; label: string } {
  return state === null ? { state: 'waiting', label: 'To come' } : lookOf(state);
}

function One({ entry }: { entry: CalendarEntry }) {
  const { job_name, at, run_id, reason } = entry;
  const { state, label } = glyphOf(entry);
  const time = TIME.format(Date.parse(at));
  return (
    <Link
      className="calendar-entry"
      data-next={entry.type === 'next' || undefined}
      href={run_id === null ? jobAddress(job_name) : `/runs/${run_id}`}
      title={[`${time} ${job_name}`, label, reason].filter((part) => part !== null).join(' · ')}
    >
      <StateGlyph state={state} size={14} />
      <span className="visually-hidden">{label}</span> <span className="tabular quiet">{time}</span>{' '}
      <span className="calendar-name">{job_name}</span>
    </Link>
  );
}

function Many({ line: { job, entries } }: { line: CalendarLine }) {
  const tally: Partial<Record<State, number>> = {};
  for (const entry of entries) {
    const { state } = glyphOf(entry);
    tally[state] = (tally[state] ?? 0) + 1;
  }
  return (
    <Link className="calendar-entry calendar-many" href={jobAddress(job)} title={`${entries.length} × ${job}`}>
      <span className="tabular quiet">{entries.length.toLocaleString()} ×</span>{' '}
      <span className="calendar-name">{job}</span>
      <OutcomeBar tally={tally} label="Runs" />
    </Link>
  );
}

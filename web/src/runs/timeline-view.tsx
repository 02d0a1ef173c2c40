import type { Run, Timeline, TimelineRow } from '@heddle/client';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import { Link } from 'wouter';
import { getTimeline } from '../api/runs.ts';
import { useLive } from '../data/live.ts';
import { formatDuration, parseTime } from '../times.ts';
import { Empty } from '../ui/empty.tsx';
import { StateGlyph } from '../ui/glyphs.tsx';
import { Trouble } from '../ui/problem.tsx';
import { STATE, partsOf, stateOf, stateOfOutcome } from '../ui/state.ts';
import type { State, Tally } from '../ui/state.ts';
import { Loading } from '../ui/loading.tsx';

const ROW_HEIGHT_PX = 26;
const TICKS = 5;

/** When each task waited and ran: a bar for each attempt, the tasks that determined the end marked. */
export function TimelineView({ run: { id, ended_at } }: { run: Run }) {
  const { data, error, dataUpdatedAt } = useLive(['timeline', id, ended_at], (signal) => getTimeline(id, signal), {
    ...(ended_at === null ? {} : { every: false as const }),
  });
  return (
    <div className="view">
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      {data === undefined && error === null && <Loading />}
      {data !== undefined && (data.rows.length === 0 ? <Empty title="It has no tasks" /> : <Chart timeline={data} />)}
    </div>
  );
}

interface Span {
  fromMs: number;
  lengthMs: number;
}

function Chart({ timeline }: { timeline: Timeline }) {
  const { rows, left_out, critical_ms } = timeline;
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_HEIGHT_PX,
    overscan: 20,
  });
  const span = spanOf(timeline);
  return (
    <>
      <p className="timeline-legend quiet">
        <span>
          <i className="timeline-wait" /> waiting
        </span>
        <span>
          <i className="fill-succeeded" /> one attempt
        </span>
        <span>
          <i className="fill-running" data-open /> still running
        </span>
        {critical_ms > 0 && (
          <span>
            <i className="fill-succeeded" data-critical /> critical path: {formatDuration(critical_ms)} of work
          </span>
        )}
        {left_out > 0 && <span>{left_out.toLocaleString()} tasks are not shown.</span>}
      </p>
      <div className="timeline">
        <div className="timeline-scale" aria-hidden="true">
          {Array.from({ length: TICKS + 1 }, (_, i) => (
            <span key={i} style={{ left: `${(i / TICKS) * 100}%` }}>
              {formatDuration((span.lengthMs * i) / TICKS)}
            </span>
          ))}
        </div>
        <div ref={box} className="timeline-rows" tabIndex={0} role="list" aria-label="Timeline">
          <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
            {virtual.getVirtualItems().map(({ index, start, key }) => (
              <div key={key} className="timeline-row" role="listitem" style={{ transform: `translateY(${start}px)` }}>
                <Row row={rows[index]!} span={span} />
              </div>
            ))}
          </div>
        </div>
      </div>
    </>
  );
}

function spanOf({ from, until }: Timeline): Span {
  const fromMs = Date.parse(from);
  return { fromMs, lengthMs: Math.max(1, (parseTime(until) ?? Date.now()) - fromMs) };
}

function Row({ row, span }: { row: TimelineRow; span: Span }) {
  const state = stateOf(row.state);
  const { attempts, critical } = row;
  return (
    <>
      <span className="timeline-name" data-critical={critical || undefined} title={wordsOf(row)}>
        <StateGlyph state={state} size={14} /> <RowName row={row} />
        {attempts.length > 1 && <span className="quiet"> {attempts.length} attempts</span>}
      </span>
      <span className="timeline-bars" data-critical={critical || undefined}>
        <Bar
          className="timeline-wait"
          words="waited"
          span={span}
          from={row.ready_at ?? row.created_at}
          to={row.started_at ?? row.ended_at}
        />
        {row.type !== 'task' && <Bar className={`timeline-${row.type}`} {...barOf(row)} span={span} />}
        {attempts.map(({ attempt, started_at, claimed_at, ended_at, outcome }) => (
          <Bar
            key={attempt}
            className={`fill-${stateOfOutcome(outcome)}`}
            words={`attempt ${attempt}: ${outcome?.replaceAll('_', ' ') ?? STATE[state].label.toLowerCase()}`}
            span={span}
            from={started_at ?? claimed_at}
            to={ended_at}
          />
        ))}
      </span>
    </>
  );
}

function RowName({ row }: { row: TimelineRow }) {
  if (row.type === 'task' && row.id !== null) return <Link href={`/tasks/${row.id}`}>{row.name}</Link>;
  if (row.type !== 'group') return row.name;
  return (
    <>
      {row.name} <span className="quiet">× {row.tasks.toLocaleString()}</span>
    </>
  );
}

function wordsOf({ name, state, type, tasks, tally, critical }: TimelineRow): string {
  const parts = partsOf(tallyOf(tally)).map(({ n, label }) => `${n.toLocaleString()} ${label}`);
  const count = type === 'group' ? `, ${tasks.toLocaleString()} tasks: ${parts.join(', ')}` : '';
  return `${name}: ${STATE[stateOf(state)].label}${count}${critical ? ', on the critical path' : ''}`;
}

/** The tally of a group, which the API counts by its own words. */
function tallyOf(wire: TimelineRow['tally']): Tally {
  const tally: Partial<Record<State, number>> = {};
  for (const [word, n] of Object.entries(wire)) tally[stateOf(word)] = (tally[stateOf(word)] ?? 0) + n;
  return tally;
}

/** From the first start to the last end; of a group divided by the states of its tasks. */
function barOf(row: TimelineRow): Pick<BarProps, 'words' | 'from' | 'to' | 'parts'> {
  const tally = row.type === 'group' ? tallyOf(row.tally) : { [stateOf(row.state)]: 1 };
  return { words: wordsOf(row), from: row.started_at, to: row.ended_at, parts: partsOf(tally) };
}

interface BarProps {
  className: string;
  words: string;
  span: Span;
  from: string | null;
  to: string | null;
  /** Divides it. */
  parts?: ReturnType<typeof partsOf>;
}

function Bar({ className, words, span, from, to, parts = [] }: BarProps) {
  const start = parseTime(from);
  if (start === null) return null;
  const end = parseTime(to) ?? span.fromMs + span.lengthMs;
  const left = Math.min(100, Math.max(0, ((start - span.fromMs) / span.lengthMs) * 100));
  const width = Math.max(0, Math.min(100 - left, ((end - start) / span.lengthMs) * 100));
  return (
    <span
      className={`timeline-bar ${className}`}
      data-open={to === null || undefined}
      style={{ left: `${left}%`, width: `${width}%` }}
      title={`${words}, ${formatDuration(end - start)}`}
    >
      {parts.map(({ state, n }) => (
        <span key={state} className={`fill-${state}`} style={{ flexGrow: n }} />
      ))}
    </span>
  );
}

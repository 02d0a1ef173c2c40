import type { Timeline, TimelineRow } from '@heddle/client';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import { Link } from 'wouter';
import { getTimeline } from '../api/runs.ts';
import { useLive } from '../data/live.ts';
import { formatDuration, parseTime } from '../times.ts';
import { Empty } from '../ui/empty.tsx';
import { StateGlyph } from '../ui/glyphs.tsx';
import { Trouble } from '../ui/problem.tsx';
import { STATE, stateOf } from '../ui/state.ts';

const ROW_HEIGHT_PX = 26;
const TICKS = 5;

/** When each task waited and ran: a bar for each attempt, the tasks that determined the end marked. */
export function TimelineView({ id }: { id: string }) {
  const { data, error, dataUpdatedAt } = useLive(['timeline', id], (signal) => getTimeline(id, signal));
  return (
    <div className="view">
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      {data === undefined && error === null && <p className="quiet loading">Loading…</p>}
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
      <p className="quiet">
        Light: waiting. Solid: running; one bar for each attempt.
        {critical_ms > 0 && ` Underlined: the critical path, ${formatDuration(critical_ms)} of work.`}
        {left_out > 0 && ` ${left_out.toLocaleString()} tasks are not shown.`}
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
  const words = `${row.name}: ${STATE[state].label}${row.type === 'group' ? `, ${row.tasks} tasks` : ''}`;
  return (
    <>
      <span className="timeline-name" data-critical={row.critical || undefined} title={words}>
        <StateGlyph state={state} size={14} />{' '}
        {row.type === 'task' && row.id !== null ? <Link href={`/tasks/${row.id}`}>{row.name}</Link> : row.name}
        {row.type === 'group' && <span className="quiet"> × {row.tasks.toLocaleString()}</span>}
      </span>
      <span className="timeline-bars">
        <Bar
          className="timeline-wait"
          span={span}
          from={row.ready_at ?? row.created_at}
          to={row.started_at ?? row.ended_at}
        />
        {row.attempts.length === 0
          ? row.started_at !== null && (
              <Bar
                className={`fill-${state}${row.type === 'container' ? ' timeline-container' : ''}`}
                span={span}
                from={row.started_at}
                to={row.ended_at}
              />
            )
          : row.attempts.map(({ attempt, started_at, claimed_at, ended_at, outcome }) => (
              <Bar
                key={attempt}
                className={`fill-${OUTCOME_STATE[outcome ?? ''] ?? state}`}
                span={span}
                from={started_at ?? claimed_at}
                to={ended_at}
              />
            ))}
      </span>
    </>
  );
}

const OUTCOME_STATE: Readonly<Record<string, string>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  lost: 'failed',
  undelivered: 'failed',
  timed_out: 'timeout',
  partially_failed: 'partial',
  canceled: 'canceled',
  released: 'skipped',
  disabled: 'skipped',
};

interface BarProps {
  className: string;
  span: Span;
  from: string | null;
  to: string | null;
}

function Bar({ className, span, from, to }: BarProps) {
  const start = parseTime(from);
  if (start === null) return null;
  const end = parseTime(to) ?? span.fromMs + span.lengthMs;
  const left = Math.min(100, Math.max(0, ((start - span.fromMs) / span.lengthMs) * 100));
  const width = Math.max(0, Math.min(100 - left, ((end - start) / span.lengthMs) * 100));
  return (
    <span
      className={`timeline-bar ${className}`}
      style={{ left: `${left}%`, width: `${width}%` }}
      title={formatDuration(end - start)}
    />
  );
}

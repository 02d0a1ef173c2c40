import { Type, type Static } from 'typebox';

import { ATTEMPT_OUTCOMES } from '@heddle/base/vocabulary/attempt';
import { NODE_WIRE_STATE, NODE_WIRE_STATES, RUN_WIRE_STATE, type NodeWireState } from '@heddle/base/vocabulary/run';
import type { TaskState } from '@heddle/base/vocabulary/task-state';
import type { RunGrid, RunTimeline, SearchHits, TimelineRowWithAttempts } from '@heddle/core/engine/runs/port';
import { Count, isoTime, isoTimeOrNull, nullable, oneOf, Timestamp, Uuid } from './basics.ts';
import { RunDto, runToWire } from './run.ts';

const NodeState = Type.Unsafe<NodeWireState>(
  oneOf([...NODE_WIRE_STATES] as NodeWireState[], { description: 'State of a task or container.' }),
);

const GridRowDto = Type.Object(
  {
    key: Type.String({ description: 'Identifies the row among those of the grid.' }),
    name: Type.String(),
    kind: Type.String(),
  },
  { additionalProperties: false },
);

const GridCellDto = Type.Object(
  {
    task_id: Uuid('The task; of several, one in the state of the cell.'),
    state: NodeState,
    duration_ms: nullable(
      Type.Integer({ description: 'From the first start to the last end; null until all its tasks have ended.' }),
    ),
    count: Count('Tasks of the run in this row.'),
  },
  { additionalProperties: false },
);

export const RunGridDto = Type.Object(
  {
    runs: Type.Array(RunDto, { description: 'Newest first.' }),
    tasks: Type.Array(GridRowDto, { description: 'The rows, at most 200.' }),
    cells: Type.Array(Type.Array(nullable(GridCellDto)), { description: 'By row (`tasks`) and column (`runs`).' }),
    tasks_left_out: Count('Rows beyond the first 200.'),
    partial: Type.Boolean({ description: 'Some runs have more tasks than were read: 20,000 divided by their number.' }),
  },
  { additionalProperties: false, title: 'RunGrid' },
);
export type RunGridDto = Static<typeof RunGridDto>;

const AttemptTimesDto = Type.Object(
  {
    attempt: Type.Integer({ description: 'Its number, from 1.' }),
    claimed_at: nullable(Timestamp('When it was claimed')),
    started_at: nullable(Timestamp('When it started')),
    ended_at: nullable(Timestamp('When it ended')),
    outcome: nullable(oneOf(ATTEMPT_OUTCOMES, { description: 'As of the attempts of a task.' })),
  },
  { additionalProperties: false },
);

export const TimelineRowDto = Type.Object(
  {
    type: oneOf(['task', 'container', 'group'], {
      description: '`group`: siblings of one kind whose names differ only in numbers, beyond the first 50.',
    }),
    id: nullable(Uuid('The task or container; null for a group.')),
    parent_id: nullable(Uuid('Its container; null in a batch, and for the root.')),
    name: Type.String(),
    kind: nullable(Type.String()),
    state: NodeState,
    tasks: Count('Tasks of a group; 1 for a task, 0 for a container.'),
    tally: Type.Record(Type.String(), Type.Integer(), { description: 'Tasks of a group by state; else empty.' }),
    ready_at: nullable(Timestamp('When its last attempt became ready')),
    started_at: nullable(Timestamp('When it started; of a group, the first')),
    ended_at: nullable(Timestamp('When it ended; of a group, the last')),
    created_at: Timestamp('When it was stored'),
    attempts: Type.Array(AttemptTimesDto, { description: 'Of a task, oldest first; at most its last 21.' }),
    critical: Type.Boolean({ description: 'It is among those that determined when the run ended.' }),
  },
  { additionalProperties: false, title: 'TimelineRow' },
);
export type TimelineRowDto = Static<typeof TimelineRowDto>;

export const TimelineDto = Type.Object(
  {
    run: RunDto,
    from: Timestamp('When the run was submitted'),
    until: nullable(Timestamp('When it ended')),
    rows: Type.Array(TimelineRowDto, { description: 'By time, at most 2,000.' }),
    left_out: Count('Tasks that no row shows.'),
    critical_ms: Type.Integer({
      description: 'How long the tasks on the critical path ran, together; 0 while the run is open.',
    }),
  },
  { additionalProperties: false, title: 'Timeline' },
);
export type TimelineDto = Static<typeof TimelineDto>;

const RESULT_TYPES = [
  'run',
  'task',
  'job',
  'kind',
  'worker',
  'rule',
  'host',
  'service',
  'certificate',
  'finding',
  'runner',
  'executor',
] as const;

export const SearchResultDto = Type.Object(
  {
    type: oneOf(RESULT_TYPES),
    id: Type.String({ description: 'Its id; of a kind, worker, rule or executor, its name.' }),
    title: Type.String(),
    detail: nullable(Type.String({ description: 'What distinguishes it: a kind, a path, a schedule.' })),
    state: nullable(Type.String()),
  },
  { additionalProperties: false, title: 'SearchResult' },
);
export type SearchResultDto = Static<typeof SearchResultDto>;

export const SearchDto = Type.Object(
  {
    results: Type.Array(SearchResultDto, { description: 'By type, the newest or closest first.' }),
    tasks_examined: Count('Tasks whose names were examined, the newest.'),
  },
  { additionalProperties: false, title: 'Search' },
);
export type SearchDto = Static<typeof SearchDto>;

export function gridToWire({ runs, tasks, cells, tasks_left_out, partial }: RunGrid): RunGridDto {
  return {
    runs: runs.map(runToWire),
    tasks,
    cells: cells.map((row) =>
      row.map((cell) => (cell === null ? null : { ...cell, state: NODE_WIRE_STATE[cell.state] })),
    ),
    tasks_left_out,
    partial,
  };
}

export function timelineToWire({ run, from, until, rows, left_out, critical_ms }: RunTimeline): TimelineDto {
  return {
    run: runToWire(run),
    from: isoTime(from),
    until: isoTimeOrNull(until),
    rows: rows.map(rowToWire),
    left_out,
    critical_ms,
  };
}

function rowToWire(row: TimelineRowWithAttempts): TimelineRowDto {
  return {
    type: row.type,
    id: row.type === 'group' ? null : row.id,
    parent_id: row.type === 'task' ? row.container_id : row.parent_id,
    name: row.name,
    kind: row.type === 'container' ? null : row.kind,
    state: NODE_WIRE_STATE[row.state],
    tasks: row.type === 'group' ? row.tasks : row.type === 'task' ? 1 : 0,
    tally: row.type === 'group' ? tallyToWire(row.tally) : {},
    ready_at: isoTimeOrNull(row.type === 'container' ? row.started_at : row.ready_at),
    started_at: isoTimeOrNull(row.started_at),
    ended_at: isoTimeOrNull(row.ended_at),
    created_at: isoTime(row.created_at),
    attempts: row.attempts.map((attempt) => ({
      attempt: attempt.attempt,
      claimed_at: isoTimeOrNull(attempt.claimed_at),
      started_at: isoTimeOrNull(attempt.started_at),
      ended_at: isoTimeOrNull(attempt.ended_at),
      outcome: attempt.outcome,
    })),
    critical: row.critical,
  };
}

function tallyToWire(tally: Partial<Record<TaskState, number>>): Record<string, number> {
  const wire: Record<string, number> = {};
  for (const [state, count] of Object.entries(tally) as [TaskState, number][]) {
    wire[NODE_WIRE_STATE[state]] = (wire[NODE_WIRE_STATE[state]] ?? 0) + count;
  }
  return wire;
}

/** @param executors names of configured executors that match */
export function searchToWire(hits: SearchHits, executors: readonly string[]): SearchDto {
  return {
    results: [
      ...hits.runs.map(({ id, title, type, state }) => ({
        type: 'run' as const,
        id,
        title,
        detail: type,
        state: RUN_WIRE_STATE[state],
      })),
      ...hits.tasks.map(({ state, ...task }) => ({ type: 'task' as const, ...task, state: NODE_WIRE_STATE[state] })),
      ...hits.others.map(({ type, ...other }) => ({
        ...other,
        // The type of a model says what it is.
        type: type === 'model' ? (other.detail as 'host' | 'service' | 'certificate') : type,
      })),
      ...executors.map((name) => ({ type: 'executor' as const, id: name, title: name, detail: null, state: null })),
    ],
    tasks_examined: hits.tasks_examined,
  };
}

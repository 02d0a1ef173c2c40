import type { Executor } from '@heddle/client';
import type { ExecutorState } from '../api/executors.ts';
import { StateGlyph } from '../ui/glyphs.tsx';
import type { State } from '../ui/state.ts';

const LABEL: Readonly<Record<ExecutorState, string>> = {
  unknown: 'Unknown',
  healthy: 'Healthy',
  degraded: 'Degraded',
  draining: 'Draining',
  unreachable: 'Unreachable',
};

const MEANING: Readonly<Record<ExecutorState, string>> = {
  unknown: 'No response yet',
  healthy: 'Accepts tasks',
  degraded: 'Accepts tasks, but reports a problem',
  draining: 'Finishes its tasks and accepts no new ones',
  unreachable: 'Calls fail',
};

/** By how much attention an executor needs. */
const GLYPH: Readonly<Record<ExecutorState, State>> = {
  unknown: 'waiting',
  healthy: 'succeeded',
  degraded: 'partial',
  draining: 'paused',
  unreachable: 'failed',
};

export function ExecutorBadge({ state }: { state: ExecutorState }) {
  return (
    <span className="state-badge" title={MEANING[state]}>
      <StateGlyph state={GLYPH[state]} />
      {LABEL[state]}
    </span>
  );
}

export interface Trouble {
  cause: string;
  remedy: string;
}

/** Requests that are signed further apart are rejected. */
const CLOCKS_APART_MAX_MS = 60_000;

/** What is wrong with an executor, and what to do about each. */
export function troublesOf({ state, endpoint, status, clock_offset_ms }: Executor): Trouble[] {
  const troubles: Trouble[] = [];
  if (state === 'unreachable') {
    troubles.push({
      cause: 'Calls to it fail.',
      remedy: `Check that heddle executor runs at ${endpoint}, that this server reaches that address, and that both have each other’s keys (HEDDLE_EXECUTORS, HEDDLE_EXECUTOR_CLIENT).`,
    });
  }
  if (state === 'degraded') {
    troubles.push({
      cause: 'It reports a problem.',
      remedy: 'Its /healthz names the problem in `reason`, and its log.',
    });
  }
  if (state === 'draining') {
    troubles.push({ cause: 'It accepts no new tasks.', remedy: 'Start it again once it has stopped.' });
  }
  if (status !== null && status.queue_depth >= status.max_pending_tasks) {
    troubles.push({
      cause: 'Its queue is full: further tasks are refused, and tried again later.',
      remedy: 'Start more executors, or raise HEDDLE_EXECUTOR_MAX_PENDING_TASKS or its workers.',
    });
  }
  if (Math.abs(clock_offset_ms ?? 0) > CLOCKS_APART_MAX_MS) {
    troubles.push({
      cause: 'Its clock and the clock of this server differ by more than a minute.',
      remedy: 'Synchronize both with a time server.',
    });
  }
  return troubles;
}

/** What to do about a task that an executor could not run, by the code of its error. */
const REMEDY: Readonly<Record<string, string>> = {
  TASK_OOM: 'It exceeded its memory limit: use less, or raise that of the event (HEDDLE_EXECUTOR_MEMORY_MB).',
  TASK_TIMEOUT: 'It exceeded its time limit: split it, or raise that of the event (HEDDLE_EXECUTOR_TASK_TIMEOUT).',
  QUEUE_FULL: 'Too many tasks wait: start more executors or workers.',
  EXECUTION_FAILED: 'The code of the event failed: the task in Heddle has its error.',
  WORKER_LOST: 'Its process ended unexpectedly: the log of the executor has its output.',
  EVENT_NOT_REGISTERED: 'The executor does not know the event: register it there.',
  EVENT_NOT_WHITELISTED: 'The executor does not allow the event: add it to those allowed there.',
  EVENT_UNAVAILABLE: 'The code of the event cannot be fetched now; it is tried again.',
  INVALID_ARGS: 'Its arguments do not fit the event: correct the input of the task.',
  RESULT_TOO_LARGE: 'Its result is too large: store it elsewhere and return where.',
  UNAUTHENTICATED: 'The executor does not know this server: exchange the keys again.',
  INVALID_CHECKSUM: 'The keys of both sides differ: exchange them again.',
  EXPIRED: 'The clocks of both sides differ: synchronize them.',
};

export function remedyOf(code: string | null): string | null {
  return code === null ? null : (REMEDY[code] ?? 'The task in Heddle has its error.');
}

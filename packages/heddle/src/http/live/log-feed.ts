import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { Engine } from '@heddle/core/engine/port';
import { EMPTY_LOG, logPageToWire } from '../wire/log.ts';
import type { Feed, FeedChanges } from './feed.ts';

const LINES_PER_EVENT = 500;
/** A cursor is an attempt and a line number. */
const LINES_PER_ATTEMPT = 2 ** 32;
const POLL_MS = 1_000;

export interface LogFeedOptions {
  engine: Engine;
  taskId: string;
  workflowId: string;
  /** Null: the current attempt, then the later ones. */
  attempt: number | null;
  /** Maximum lines of the first attempt, its last; null: all. */
  tail: number | null;
}

/** Reads what a task logs, attempt by attempt, until it has ended. */
export class LogFeed implements Feed {
  readonly workflowId: string;
  readonly pollMs = POLL_MS;
  readonly #options: LogFeedOptions;

  constructor(options: LogFeedOptions) {
    this.#options = options;
    this.workflowId = options.workflowId;
  }

  async read(cursor: number): Promise<FeedChanges | null> {
    const { engine, taskId, tail } = this.#options;
    // Before the lines: an end is reported after its last line is stored.
    const task = await engine.getTask(taskId);
    if (task === null) return null;
    const attempt = cursor === 0 ? (this.#options.attempt ?? task.attempt) : Math.floor(cursor / LINES_PER_ATTEMPT);
    const from = cursor === 0 ? null : cursor % LINES_PER_ATTEMPT;
    const first = cursor === 0 ? { from, tail } : { from, tail: null };
    const page = attempt === 0 ? null : await engine.readLogs(taskId, { attempt, ...first, limit: LINES_PER_EVENT });
    if (page !== null && page.lines.length > 0) {
      const more = page.lines.length === LINES_PER_EVENT;
      return {
        cursor: cursorOf(attempt, page.next),
        ended: false,
        more,
        parts: [logPageToWire(page)],
        bare: EMPTY_LOG,
      };
    }
    const isLast = this.#options.attempt !== null || attempt >= task.attempt;
    const next = isLast ? cursorOf(attempt, from ?? 0) : cursorOf(attempt + 1, 0);
    const over = isLast && (isTerminal(task.state) || (this.#options.attempt ?? task.attempt) < task.attempt);
    return { cursor: attempt === 0 ? 0 : next, ended: over, parts: [], bare: EMPTY_LOG };
  }
}

function cursorOf(attempt: number, line: number): number {
  return attempt * LINES_PER_ATTEMPT + line;
}

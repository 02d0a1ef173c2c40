import { HeddleError } from '@heddle/base/errors';
import type { Logger } from '@heddle/base/log';
import { decodeLines } from '@heddle/base/log-lines';
import { messageOf } from '@heddle/base/thrown';
import type { LogChunk } from '@heddle/base/vocabulary/task-log';
import { HeddleApiError, HeddleClient } from '@heddle/client';
import type { ResultReader } from '../dispatch/kind/result-stream.ts';
import { controlBy, type TaskControl } from '../dispatch/task-control.ts';
import type { JsonValue } from '@heddle/base/json';
import type { TaskState } from '@heddle/base/vocabulary/task-state';
import type { WorkflowWireState } from '@heddle/base/vocabulary/workflow';

/** Lines that one request may have. */
const LINES_PER_REQUEST = 1_000;

export interface ServerAddress {
  url: string | (() => string);
  token: string | (() => string | undefined) | undefined;
  fetch?: typeof fetch;
}

export function clientOf({ url, token, fetch }: ServerAddress): HeddleClient {
  const given = { ...(token === undefined ? {} : { token }), ...(fetch === undefined ? {} : { fetch }) };
  return new HeddleClient({ baseUrl: url, ...given });
}

/** Requests of a worker without a database to a server. */
export function accessServer(
  { url, token }: ServerAddress,
  log: Logger,
): {
  control: TaskControl;
  results: ResultReader;
  storeLogs: (chunks: readonly LogChunk[]) => Promise<void>;
} {
  const client = clientOf({ url, token });
  return { control: serverControl(client), results: serverResults(client), storeLogs: serverLogs(client, log) };
}

const ENDED: ReadonlySet<string> = new Set(['Success', 'Failure', 'Canceled']);

function serverControl(client: HeddleClient): TaskControl {
  return controlBy(async (id) => {
    try {
      const { status, attempt } = await client.getTask(id);
      return { ended: ENDED.has(status), attempt };
    } catch (error) {
      if (error instanceof HeddleApiError && error.status === 404) return null;
      throw error;
    }
  });
}

/** The API has fewer names for states than the engine; each maps to its most common meaning here. */
const STATE_OF_WIRE: Readonly<Record<WorkflowWireState, TaskState>> = {
  Pending: 'pending',
  Running: 'running',
  PendingTaskCreation: 'expanding',
  Succeeded: 'succeeded',
  Failed: 'failed',
  Timeout: 'timed_out',
  PartiallyFailed: 'partially_failed',
  Disabled: 'disabled',
};

/** @param holder name in the claim of the tasks, if it had one */
export function serverResults(client: HeddleClient, holder?: string): ResultReader {
  return {
    stream: async function* (taskId, signal) {
      for await (const result of client.work.results({ id: taskId, ...(holder === undefined ? {} : { holder }) })) {
        signal.throwIfAborted();
        yield { ...result, state: STATE_OF_WIRE[result.state], data: result.data as JsonValue };
      }
    },
  };
}

/**
 * Stores lines by requests of at most as many as the server takes. Lines that it refuses are dropped; the others are
 * stored.
 * @throws HeddleError QUEUE_UNAVAILABLE if it cannot answer now
 */
export function serverLogs(
  client: HeddleClient,
  log: Logger,
  holder?: string,
): (chunks: readonly LogChunk[]) => Promise<void> {
  const store = async ({ task_id: id, attempt, first_line, text }: LogChunk): Promise<void> => {
    const lines = decodeLines(text);
    const task = { id, attempt, ...(holder === undefined ? {} : { holder }) };
    for (let start = 0; start < lines.length; start += LINES_PER_REQUEST) {
      const part = lines.slice(start, start + LINES_PER_REQUEST).map(({ at, level, ...line }) => {
        return { ...line, at: new Date(at).toISOString(), ...(level === null ? {} : { level }) };
      });
      await client.work.log(task, { first_line: first_line + start, lines: part });
    }
  };
  return async (chunks) => {
    for (const chunk of chunks) {
      await store(chunk).catch((error: unknown) => {
        if (!isFinal(error)) throw unavailable(error);
        const { task_id, attempt, lines } = chunk;
        log.error({ err: error, task_id, attempt, lines }, 'log lines of a task were refused');
      });
    }
  };
}

/** Answers that a repeat does not change. Everything else may pass: a server is replaced, a token is renewed. */
const FINAL: ReadonlySet<number> = new Set([400, 404, 409, 413]);

export function isFinal(error: unknown): boolean {
  return error instanceof HeddleApiError && FINAL.has(error.status);
}

/** Returns an error of the server, or of the way to it, as one that is retried. */
export function unavailable(error: unknown): HeddleError {
  return new HeddleError('QUEUE_UNAVAILABLE', `the server cannot be asked: ${messageOf(error)}`, { cause: error });
}

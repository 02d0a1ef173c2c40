import { HeddleApiError } from '@heddle/client';
import { HeddleClient } from '@heddle/client';
import type { ResultReader } from '../dispatch/kind/result-stream.ts';
import { controlBy, type TaskControl } from '../dispatch/task-control.ts';
import type { JsonValue } from '@heddle/base/json';
import type { TaskState } from '@heddle/base/vocabulary/task-state';
import type { WorkflowWireState } from '@heddle/base/vocabulary/workflow';

export interface ServerAddress {
  url: string;
  token: string | undefined;
}

/** Requests of a worker without a database to a server. */
export function accessServer({ url, token }: ServerAddress): { control: TaskControl; results: ResultReader } {
  const client = new HeddleClient({ baseUrl: url, ...(token === undefined ? {} : { token }) });
  return { control: serverControl(client), results: serverResults(client) };
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

function serverResults(client: HeddleClient): ResultReader {
  return {
    stream: async function* (taskId, signal) {
      for await (const result of client.work.results(taskId)) {
        signal.throwIfAborted();
        yield { ...result, state: STATE_OF_WIRE[result.state], data: result.data as JsonValue };
      }
    },
  };
}

import type {
  CompleteTaskMessage,
  CreateTaskMessage,
  HeartbeatTaskMessage,
  ManagerMessage,
  StartedTask,
  WorkerSeenMessage,
} from '@heddle/core/domain/message';
import { MANAGER_QUEUE, workerQueueOf } from '@heddle/core/domain/message';
import { encodeStartTask } from '@heddle/core/domain/parse/encode';
import { parseManagerMessage } from '@heddle/core/domain/parse/message';
import type { KindDefinition } from '@heddle/kit';
import { QueueWorker, type QueueWorkerOptions } from '../../../../src/dispatch/worker/queue-worker.ts';
import type { MessageQueue } from '@heddle/core/queue/port';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, seededRandom } from '@heddle/base/random';
import { eventually } from '@heddle/test-support/eventually';

/** Messages of workers to the manager so far, in the order of arrival. */
export class Told {
  readonly messages: ManagerMessage[] = [];
  readonly #queue: MessageQueue;

  constructor(queue: MessageQueue) {
    this.#queue = queue;
  }

  /** Takes everything out of the manager's queue. */
  async read(): Promise<void> {
    for (;;) {
      const received = await this.#queue.receive(MANAGER_QUEUE, { max: 1000, wait_ms: 0, visibility_ms: 60_000 });
      if (received.length === 0) return;
      for (const { body } of received) {
        const parsed = parseManagerMessage(body, newId);
        if (!parsed.ok) throw new Error(`the manager could not read a message: ${parsed.reason}`);
        this.messages.push(parsed.message);
      }
      await this.#queue.delete(
        MANAGER_QUEUE,
        received.map(({ receipt }) => receipt),
      );
    }
  }

  get ends(): CompleteTaskMessage[] {
    return this.messages.filter((message) => message.type === 'CompleteTask');
  }

  get beats(): HeartbeatTaskMessage[] {
    return this.messages.filter((message) => message.type === 'HeartbeatTask');
  }

  get nodes(): CreateTaskMessage[] {
    return this.messages.filter((message) => message.type === 'CreateTask');
  }

  get seen(): WorkerSeenMessage[] {
    return this.messages.filter((message) => message.type === 'WorkerSeen');
  }

  /** Resolves when the given number of ends was reported. */
  async untilEnded(count: number): Promise<CompleteTaskMessage[]> {
    await eventually(async () => {
      await this.read();
      return this.ends.length >= count;
    }, `${count} ends of tasks`);
    return this.ends;
  }
}

/** Sends what the manager sends to a worker; returns the tasks. */
export async function startTasks(
  queue: MessageQueue,
  kind: string,
  count = 1,
  changes: Partial<StartedTask> = {},
): Promise<StartedTask[]> {
  const tasks = Array.from({ length: count }, (): StartedTask => {
    const root = newId();
    const defaults = { name: kind, local_id: null, input: {}, attempt: 1, timeout_secs: 3600, parent_id: root };
    return { id: newId(), kind, ...defaults, ...changes };
  });
  await sendTasks(queue, tasks);
  return tasks;
}

export async function sendTasks(queue: MessageQueue, tasks: readonly StartedTask[]): Promise<void> {
  for (const task of tasks) {
    const body = encodeStartTask({ type: 'StartTask', root_container_id: task.parent_id!, task });
    await queue.send(workerQueueOf(task.kind), [{ body }]);
  }
}

export function workerOf(
  queue: MessageQueue,
  kinds: readonly KindDefinition[],
  changes: Partial<QueueWorkerOptions> = {},
): QueueWorker {
  return new QueueWorker({
    queue,
    kinds,
    worker: 'test',
    control: null,
    results: null,
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
    ...changes,
  });
}

/** A handler's runs, each held until the test ends it. */
export class Held {
  readonly runs: {
    id: string;
    signal: AbortSignal;
    succeed: (result?: unknown) => void;
    fail: (error: Error) => void;
  }[] = [];

  /** The allowed types of a definition's `run`. */
  get run() {
    return (_input: unknown, context: { task: { id: string }; signal: AbortSignal }): Promise<unknown> =>
      new Promise((resolve, reject) => {
        this.runs.push({ id: context.task.id, signal: context.signal, succeed: resolve, fail: reject });
      });
  }

  async untilBegun(count: number): Promise<void> {
    await eventually(() => this.runs.length >= count, `${count} runs have begun`);
  }
}

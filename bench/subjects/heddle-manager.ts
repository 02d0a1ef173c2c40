import { settingsOf } from '@heddle/base/vocabulary/task-fields';
import { ManagerLoop } from 'heddle/internal/app/manager-loop';
import { keepNewSpaceSmall } from '@heddle/base/new-space';
import { MANAGER_QUEUE, workerQueueOf, type StartTaskMessage } from '@heddle/core/domain/message';
import type { NewContainerNode, NewTaskNode } from '@heddle/base/vocabulary/workflow';
import { createEngine, type TransactionalEngine } from '@heddle/core/engine/engine';
import { createManager, type ManagerRun } from '@heddle/core/engine/manager/manager';
import { PostgresQueue } from '@heddle/core/internal/queue/postgres';
import type { MessageQueue, ReceivedMessage, ReceiveOptions } from '@heddle/core/queue/port';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import { openDatabase, type Database } from '@heddle/core/store/database';
import { migrate } from '@heddle/core/store/migrate';
import { chunks } from '../src/graphs.ts';
import { elapsedMs } from '../src/no-op.ts';
import type { Environment, Subject, TransportShape } from '../src/subject.ts';

const KIND = 'bench';
const CONCURRENCY = 1_000_000;
const SEND_SIZE = 1000;
const RECEIVERS = 3;
const BATCH_MAX = 100;
/** Concurrent senders, each with its next set once the last one is stored. */
const SENDERS = 8;
const INBOX_KEEP_MS = 86_400_000;
const NOTHING_DONE: ManagerRun = {
  failed: [],
  deadLettered: [],
  timed_out: 0,
  generators_completed: 0,
  dispatched: 0,
  finalized: 0,
  jobs_started: 0,
  busy: false,
  error: null,
};

function task(): NewTaskNode {
  return {
    type: 'task',
    policy: 'FailOnFailure',
    disabled: false,
    generates: false,
    task: {
      id: newId(),
      local_id: null,
      name: 'no-op',
      kind: KIND,
      ...settingsOf('tree', {}),
      delay_ms: 0,
      metadata: { number: 7 },
      actions: [],
      rules: [],
      dedupe: [],
      retry: null,
      dependencies: [],
    },
  };
}

/** Heartbeats first, then the ends. */
function bodiesOf(starts: readonly StartTaskMessage[]): string[] {
  const beats = starts.map(({ task: { id, attempt } }) => ({ type: 'HeartbeatTask', task_id: id, attempt }));
  const ends = starts.map(({ task: { id, attempt }, root_container_id }) => {
    return { type: 'CompleteTask', task_id: id, attempt, root_container_id, state: 'Succeeded', data: { found: 3 } };
  });
  return [...beats, ...ends].map((message) => JSON.stringify(message));
}

interface QueueWatch {
  received?: (messages: readonly ReceivedMessage[]) => void;
  deleted?: (receipts: readonly string[]) => void;
}

/** A queue that reports what is received from it. */
function watched(queue: MessageQueue, { received, deleted }: QueueWatch): MessageQueue {
  const members: Partial<MessageQueue> = {
    receive: async (name: string, options: ReceiveOptions) => {
      const messages = await queue.receive(name, options);
      received?.(messages);
      return messages;
    },
    delete: async (name: string, receipts: readonly string[]) => {
      await queue.delete(name, receipts);
      deleted?.(receipts);
    },
  };
  return new Proxy(queue, {
    get: (target, name) => {
      const member: unknown = Reflect.get(members, name) ?? Reflect.get(target, name, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}

/** The manager as `heddle server` runs it, on a queue in PostgreSQL. */
class ManagerSubject implements Subject {
  #database!: Database;
  #queue!: MessageQueue;
  #engine!: TransactionalEngine;

  async prepare(environment: Environment): Promise<void> {
    keepNewSpaceSmall();
    const url = environment.database_url!;
    await migrate({ url });
    const common = { clock: systemClock, log: silentLogger };
    this.#database = openDatabase({
      ...common,
      url,
      maxSize: 10,
      minIdle: 5,
      acquireRetries: 3,
      acquireTimeoutMs: 30_000,
      slowQueryMs: 60_000,
    });
    const database = this.#database;
    this.#queue = new PostgresQueue({ ...common, database });
    this.#engine = createEngine({ ...common, database, queue: this.#queue, random: systemRandom });
  }

  /** Tasks go to the queue of their kind only if a worker was seen there within the last minute. */
  async #seeWorker(): Promise<void> {
    await this.#engine.workersSeen([{ worker: 'bench', kinds: [KIND], concurrency: CONCURRENCY }]);
  }

  async close(): Promise<void> {
    await this.#queue.close();
    await this.#engine.close();
    await this.#database.close();
  }

  /** A heartbeat and an end for each of `messages / 2` tasks: waiting when the manager starts, or sent meanwhile. */
  async transport({ messages, batch, arriving = false, queueAlone = false }: TransportShape): Promise<number> {
    const bodies = bodiesOf(await this.#startTasks(messages / 2));
    const handled = Promise.withResolvers<undefined>();
    let left = messages;
    const queue = watched(this.#queue, {
      deleted: ({ length }) => {
        left -= length;
        if (left === 0) handled.resolve(undefined);
      },
    });
    // Arriving messages are requested like in a server: all that wait, up to the size of a batch.
    const loop = this.#loop(arriving ? BATCH_MAX : batch, queue, queueAlone);
    if (!arriving) await this.#send(bodies, SEND_SIZE, 1);
    const ms = await elapsedMs(async () => {
      loop.start();
      if (arriving) await this.#send(bodies, batch, SENDERS);
      await handled.promise;
    });
    await loop.stop();
    return ms;
  }

  async #send(bodies: readonly string[], size: number, senders: number): Promise<void> {
    const sets = chunks(bodies, size);
    const sender = async (): Promise<void> => {
      for (let set = sets.shift(); set !== undefined; set = sets.shift()) {
        await this.#queue.send(
          MANAGER_QUEUE,
          set.map((body) => ({ body })),
        );
      }
    };
    await Promise.all(Array.from({ length: senders }, sender));
  }

  /** One workflow at a time: milliseconds from sending its message until a worker has its StartTask. */
  async latency(samples: number): Promise<number[]> {
    return (await this.#startOneByOne(samples)).map(({ sent_at, started_at }) => started_at - sent_at);
  }

  /** The same, from the time when the manager has the message. */
  async receiveToStart(samples: number): Promise<number[]> {
    return (await this.#startOneByOne(samples)).map(({ received_at, started_at }) => started_at - received_at);
  }

  async #startOneByOne(samples: number): Promise<{ sent_at: number; received_at: number; started_at: number }[]> {
    await this.#seeWorker();
    let receivedAt = 0;
    const queue = watched(this.#queue, {
      received: (messages) => {
        if (messages.length > 0) receivedAt = performance.now();
      },
    });
    const loop = this.#loop(BATCH_MAX, queue);
    loop.start();
    const times: { sent_at: number; received_at: number; started_at: number }[] = [];
    const worker = workerQueueOf(KIND);
    for (let sample = 0; sample < samples; sample += 1) {
      const collection = { root: { mode: 'parallel', children: [{ kind: KIND }] } };
      const received = this.#queue.receive(worker, { max: 1, wait_ms: 20_000, visibility_ms: 60_000 });
      const sent_at = performance.now();
      await this.#queue.send(MANAGER_QUEUE, [{ body: JSON.stringify({ type: 'CreateTaskCollection', collection }) }]);
      const [message] = await received;
      times.push({ sent_at, received_at: receivedAt, started_at: performance.now() });
      await this.#queue.delete(worker, [message!.receipt]);
    }
    await loop.stop();
    return times;
  }

  /** Tasks of one workflow, sent to their worker's queue and received from it. */
  async #startTasks(count: number): Promise<StartTaskMessage[]> {
    const root: NewContainerNode = {
      type: 'container',
      id: newId(),
      local_id: null,
      mode: 'parallel',
      policy: 'FailOnFailure',
      children: Array.from({ length: count }, task),
    };
    await this.#seeWorker();
    await this.#engine.submitWorkflows([{ name: null, root, traceparent: null, idempotency: null, job_run_id: null }]);
    const starts: StartTaskMessage[] = [];
    while (starts.length < count) starts.push(...(await this.#engine.dispatch('bench', 1000)));
    const worker = workerQueueOf(KIND);
    for (let left = count; left > 0;) {
      const taken = await this.#queue.receive(worker, { max: 1000, wait_ms: 1000, visibility_ms: 600_000 });
      await this.#queue.delete(
        worker,
        taken.map(({ receipt }) => receipt),
      );
      left -= taken.length;
    }
    return starts;
  }

  #loop(receiveMax: number, queue = this.#queue, queueAlone = false): ManagerLoop {
    const common = { clock: systemClock, log: silentLogger };
    const [database, engine] = [this.#database, this.#engine];
    const jobs = { database, queue, log: silentLogger, newId, now: () => null };
    const manager = createManager({ ...common, database, engine, jobs, newId, holder: 'bench' });
    return new ManagerLoop({
      ...common,
      manager: queueAlone ? { ...manager, run: () => Promise.resolve(NOTHING_DONE) } : manager,
      queue,
      engine,
      receiveMax,
      receivers: RECEIVERS,
      intervalMs: 1000,
      inboxKeepMs: INBOX_KEEP_MS,
      random: systemRandom,
    });
  }
}

export function createSubject(): Subject {
  return new ManagerSubject();
}

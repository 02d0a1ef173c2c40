import { ManagerLoop } from '../../src/app/manager-loop.ts';
import { MANAGER_QUEUE, workerQueueOf, type StartTaskMessage } from '../../src/domain/message.ts';
import type { NewContainerNode, NewTaskNode } from '../../src/domain/workflow.ts';
import { createEngine, type TransactionalEngine } from '../../src/engine/engine.ts';
import { createManager } from '../../src/engine/manager/manager.ts';
import { PostgresQueue } from '../../src/queue/postgres.ts';
import type { MessageQueue, ReceiveOptions } from '../../src/queue/port.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/log.ts';
import { newId, systemRandom } from '../../src/runtime/random.ts';
import { openDatabase, type Database } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { elapsedMs } from '../src/no-op.ts';
import type { Environment, Subject, TransportShape } from '../src/subject.ts';

const KIND = 'bench';
const CONCURRENCY = 1_000_000;
const SEND_SIZE = 1000;
const RECEIVERS = 3;
const INBOX_KEEP_MS = 86_400_000;

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
      timeout_secs: 3600,
      deadline_basis: 'activity',
      priority: 0,
      delay_ms: 0,
      metadata: { number: 7 },
      expected_count: null,
      actions: [],
      rules: [],
      dedupe: [],
      retry: null,
      dependencies: [],
    },
  };
}

/** The manager as `heddle server` runs it, on a queue in PostgreSQL. */
class ManagerSubject implements Subject {
  #database!: Database;
  #queue!: MessageQueue;
  #engine!: TransactionalEngine;

  async prepare(environment: Environment): Promise<void> {
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

  /** Tasks go to the queue of their kind only while a worker was seen there within the last minute. */
  async #seeWorker(): Promise<void> {
    await this.#engine.workersSeen([{ worker: 'bench', kinds: [KIND], concurrency: CONCURRENCY }]);
  }

  async close(): Promise<void> {
    await this.#queue.close();
    await this.#engine.close();
    await this.#database.close();
  }

  /** A sign of life and an end for each of `messages / 2` tasks, all of them waiting when the manager begins. */
  async transport({ messages, batch }: TransportShape): Promise<number> {
    const starts = await this.#startTasks(messages / 2);
    for (const [type, rest] of [
      ['HeartbeatTask', {}],
      ['CompleteTask', { state: 'Succeeded', data: { found: 3 } }],
    ] as const) {
      for (let at = 0; at < starts.length; at += SEND_SIZE) {
        const bodies = starts.slice(at, at + SEND_SIZE).map(({ task: { id, attempt }, root_container_id }) => {
          const root = type === 'CompleteTask' ? { root_container_id } : {};
          return { body: JSON.stringify({ type, task_id: id, attempt, ...root, ...rest }) };
        });
        await this.#queue.send(MANAGER_QUEUE, bodies);
      }
    }
    const loop = this.#loop(batch);
    const ms = await elapsedMs(async () => {
      loop.start();
      for (;;) {
        const { visible, in_flight } = await this.#queue.depth(MANAGER_QUEUE);
        if (visible + in_flight === 0) return;
        await systemClock.sleep(20);
      }
    });
    await loop.stop();
    return ms;
  }

  /** One workflow at a time: milliseconds from the call that sends its message until a worker has its StartTask. */
  async latency(samples: number): Promise<number[]> {
    return (await this.#startOneByOne(samples)).map(({ sent_at, started_at }) => started_at - sent_at);
  }

  /** The same, from the moment when the manager has the message. */
  async receiveToStart(samples: number): Promise<number[]> {
    return (await this.#startOneByOne(samples)).map(({ received_at, started_at }) => started_at - received_at);
  }

  async #startOneByOne(samples: number): Promise<{ sent_at: number; received_at: number; started_at: number }[]> {
    await this.#seeWorker();
    let receivedAt = 0;
    const queue = Object.create(this.#queue, {
      receive: {
        value: async (name: string, options: ReceiveOptions) => {
          const messages = await this.#queue.receive(name, options);
          if (messages.length > 0) receivedAt = performance.now();
          return messages;
        },
      },
      delete: { value: (name: string, receipts: readonly string[]) => this.#queue.delete(name, receipts) },
    }) as MessageQueue;
    const loop = this.#loop(100, queue);
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

  /** Tasks of one workflow, handed to their worker's queue and taken out of it. */
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

  #loop(batchMax: number, queue = this.#queue): ManagerLoop {
    const common = { clock: systemClock, log: silentLogger };
    const [database, engine] = [this.#database, this.#engine];
    const jobs = { database, queue, log: silentLogger, newId, now: () => null };
    const manager = createManager({ ...common, database, engine, jobs, newId, holder: 'bench' });
    return new ManagerLoop({
      ...common,
      manager,
      queue,
      engine,
      batchMax,
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

import assert from 'node:assert/strict';

import type { JsonObject } from '@heddle/base/json';
import { MANAGER_QUEUE, workerQueueOf, type StartTaskMessage } from '@heddle/core/domain/message';
import type { Manager, ManagerRun } from '@heddle/core/engine/manager/manager';
import type { MessageQueue, ReceivedMessage } from '@heddle/core/queue/port';
import { newId } from '@heddle/base/random';
import type { Database, DatabaseOptions } from '@heddle/core/store/database';
import { createTestDatabase } from '../../postgres.ts';
import { benchOn, type Bench } from './bench.ts';

/** A manager on a database of its own, or on one that wraps it. */
export async function newBench(
  options: Partial<DatabaseOptions> = {},
  wrap: (database: Database) => Database = (database) => database,
): Promise<Bench> {
  const { database: inner, url } = await createTestDatabase(options);
  return { url, ...benchOn(wrap(inner)) };
}

/** A message as a queue hands it out. */
export function message(body: JsonObject | string, extra: Partial<ReceivedMessage> = {}): ReceivedMessage {
  const id = newId();
  return {
    id,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    receipt: id,
    receive_count: 1,
    sent_at: 0,
    ...extra,
  };
}

export function run(manager: Manager, ...bodies: (JsonObject | string)[]): Promise<ManagerRun> {
  return manager.run(
    bodies.map((body) => message(body)),
    Date.now(),
  );
}

/** Runs messages of which none may fail. */
export async function feed(manager: Manager, ...bodies: (JsonObject | string)[]): Promise<ManagerRun> {
  const result = await run(manager, ...bodies);
  assert.deepEqual([result.failed, result.deadLettered, result.error], [[], [], null]);
  return result;
}

export function collection(root: JsonObject, extra: JsonObject = {}): JsonObject {
  return { type: 'CreateTaskCollection', collection: { name: 'test', root }, ...extra };
}

export function workerSeen(...kinds: string[]): JsonObject {
  return { type: 'WorkerSeen', worker: 'w1', kinds, concurrency: 100 };
}

/** What waits in the queue of a kind's workers; it is taken out. */
export async function started(queue: MessageQueue, kind: string): Promise<StartTaskMessage[]> {
  const name = workerQueueOf(kind);
  const messages = await queue.receive(name, { max: 1_000, wait_ms: 0, visibility_ms: 60_000 });
  await queue.delete(
    name,
    messages.map(({ receipt }) => receipt),
  );
  return messages.map(({ body }) => JSON.parse(body) as StartTaskMessage);
}

export function completion(start: StartTaskMessage, extra: JsonObject = {}): JsonObject {
  return {
    type: 'CompleteTask',
    task_id: start.task.id,
    attempt: start.task.attempt,
    root_container_id: start.root_container_id,
    state: 'Succeeded',
    ...extra,
  };
}

export { benchOn, MANAGER_QUEUE, newId, type Bench };

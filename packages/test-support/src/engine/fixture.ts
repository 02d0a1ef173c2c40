import { settingsOf } from '@heddle/base/vocabulary/task-fields';
import { createEngine, type EngineOptions, type TransactionalEngine } from '@heddle/core/engine/engine';
import type { ClaimedTask, Engine, SubmitResult } from '@heddle/core/engine/port';
import type { NewTask } from '@heddle/base/vocabulary/task';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import type { Database } from '@heddle/core/store/database';
import { createTestDatabase } from '../postgres.ts';

export interface Bench {
  engine: TransactionalEngine;
  database: Database;
  url: string;
}

/** An engine on a database of its own, by default on the database's time. */
export async function newBench(options: Partial<EngineOptions> = {}): Promise<Bench> {
  const { database, url } = await createTestDatabase();
  const engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger, ...options });
  return { engine, database, url };
}

export function newTask(extra: Partial<NewTask> = {}): NewTask {
  return {
    id: newId(),
    local_id: null,
    name: 'task',
    kind: 'work',
    ...settingsOf('batch', {}),
    delay_ms: 0,
    metadata: {},
    actions: [],
    rules: [],
    dedupe: [],
    retry: null,
    dependencies: [],
    ...extra,
  };
}

export async function submitTasks(engine: Engine, tasks: readonly NewTask[]): Promise<SubmitResult> {
  const [result] = await engine.submit([
    { workflow_id: newId(), name: null, tasks, traceparent: null, idempotency: null },
  ]);
  return result!;
}

export function claimKind(engine: Engine, kind = 'work', limit = 1_000): Promise<ClaimedTask[]> {
  return engine.claim({ lanes: [`kind:${kind}`], limit, holder: 'test' });
}

export async function succeed(engine: Engine, tasks: readonly { id: string; attempt: number }[]): Promise<void> {
  await engine.report(
    tasks.map((task) => ({ task_id: task.id, attempt: task.attempt, outcome: 'succeeded' as const })),
  );
}

/** Claims and succeeds until nothing is ready; returns how many tasks ran. */
export async function drain(engine: Engine, kind = 'work', limit = 1_000): Promise<number> {
  let ran = 0;
  for (;;) {
    const claimed = await claimKind(engine, kind, limit);
    if (claimed.length === 0) return ran;
    await succeed(engine, claimed);
    ran += claimed.length;
  }
}

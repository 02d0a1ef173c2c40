import { watchAttempts } from 'heddle/internal/app/attempt-watch';
import { loadConfiguration } from 'heddle/internal/app/config';
import { runKinds } from 'heddle/internal/app/kinds';
import { StopSequence } from 'heddle/internal/app/stop-sequence';
import type { JsonObject } from '@heddle/base/json';
import { parseManagerMessage } from '@heddle/core/domain/parse/message';
import type { TaskResult } from '@heddle/base/vocabulary/workflow';
import type { Engine } from '@heddle/core/engine/port';
import type { KindDefinition } from '@heddle/kit';
import { ReconPolicy } from 'heddle/internal/kinds/recon/policy';
import { mergingKinds, scanningKinds, type ReconKindsOptions } from 'heddle/internal/kinds/recon/recon-kinds';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import { modelsOf } from '../../engine/models/seen.ts';
import { newBench, type Bench } from '../../engine/fixture.ts';
import { eventually } from '../../eventually.ts';

export interface ReconBench extends Bench {
  models: ReturnType<typeof modelsOf>;
  kinds: KindDefinition[];
}

/** An engine with models and the nine kinds; only loopback and private networks may be probed. */
export async function newReconBench(extra: Partial<ReconKindsOptions> = {}): Promise<ReconBench> {
  const bench = await newBench();
  const models = modelsOf(bench.database);
  const policy = new ReconPolicy({ scope: [], rate: 100_000, clock: systemClock });
  const watch = watchAttempts(bench.engine);
  const options = { policy, models, clock: systemClock, random: systemRandom, concurrency: 4, watch, ...extra };
  return { ...bench, models, kinds: [...scanningKinds(options), ...mergingKinds(models)] };
}

export interface Outcome {
  state: string;
  tasks: number;
  results: TaskResult[];
  /** Returns the result of the first task of a kind. */
  of: (kind: string) => JsonObject | undefined;
}

/** Runs kinds in this process until it is stopped. */
export function startKinds(engine: Engine, kinds: readonly KindDefinition[]): StopSequence {
  const stopping = new StopSequence(systemClock, silentLogger);
  const environment = { WORKER_LOOP_INTERVAL_MS: '50' };
  const { values: settings } = loadConfiguration({ flags: {}, environment, workingDirectory: '/' });
  runKinds(kinds, { settings, engine, stopping, clock: systemClock, random: systemRandom, log: silentLogger });
  return stopping;
}

export async function submit(engine: Engine, root: object): Promise<string> {
  const text = JSON.stringify({ type: 'CreateTaskCollection', collection: { name: 'recon', root } });
  const parsed = parseManagerMessage(text, newId);
  if (!parsed.ok || parsed.message.type !== 'CreateTaskCollection') throw new Error(JSON.stringify(parsed));
  const [submitted] = await engine.submitWorkflows([
    { ...parsed.message.collection, traceparent: null, idempotency: null, job_run_id: null },
  ]);
  return submitted!.workflow_id;
}

export async function ended(engine: Engine, id: string): Promise<Outcome> {
  await eventually(
    async () => {
      await engine.completeGenerators(100);
      await engine.sweep();
      return (await engine.getWorkflow(id))!.ended_at !== null;
    },
    'the workflow has ended',
    120_000,
  );
  const { root_state, task_count } = (await engine.getWorkflow(id))!;
  const results = await engine.readResults({ workflow_id: id }, null, 10_000);
  const of = (kind: string) => results.find((result) => result.kind === kind)?.data as JsonObject | undefined;
  return { state: String(root_state), tasks: task_count, results, of };
}

/** Runs kinds in this process until their workflow has ended. */
export async function runWorkflow(
  { engine, kinds }: { engine: Engine; kinds: readonly KindDefinition[] },
  ...children: object[]
): Promise<Outcome> {
  const stopping = startKinds(engine, kinds);
  try {
    return await ended(engine, await submit(engine, { mode: 'sequential', children }));
  } finally {
    await stopping.stop();
  }
}

/** A worker of its own process: `node worker-process.ts URL`. What its executors do goes to stdout before they go on. */
import { writeSync } from 'node:fs';

import { LocalWorker } from 'heddle/internal/dispatch/local-worker';
import { ExecutorRegistry, type Executor } from 'heddle/internal/dispatch/executor-registry';
import { createEngine } from '@heddle/core/engine/engine';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import { systemRandom } from '@heddle/base/random';
import { openDatabase } from '@heddle/core/store/database';
import { now } from './work-target.ts';
import { WORKER_KINDS } from './worker-load.ts';

const [url] = process.argv.slice(2) as [string];
process.stdin.resume();
process.stdin.on('end', () => process.exit(1));

const emit = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`);
const common = { clock: systemClock, random: systemRandom, log: silentLogger };
const pool = { maxSize: 6, minIdle: 1, acquireRetries: 3, acquireTimeoutMs: 20_000, slowQueryMs: 60_000 };
const database = openDatabase({ url, ...pool, ...common });
const engine = createEngine({ database, ...common });

const work: Executor = async ({ id, attempt, metadata }) => {
  emit({ event: 'began', task_id: id, attempt, at: now() });
  await systemClock.sleep(Number(metadata['work_ms']));
  if (attempt <= Number(metadata['failing_attempts'])) {
    emit({ event: 'ended', task_id: id, attempt, at: now() });
    throw new Error('not yet');
  }
  emit({ event: 'ended', task_id: id, attempt, at: now() });
  return { attempt };
};
const registry = ExecutorRegistry.of(Object.fromEntries(WORKER_KINDS.map((kind) => [kind, work])));
const holder = `worker-${process.pid}`;
new LocalWorker({ engine, registry, holder, concurrency: 8, maxSet: 20, intervalMs: 100, ...common }).start();
const runOnce = async (): Promise<'again' | 'idle'> => ((await engine.sweep()).more ? 'again' : 'idle');
new Loop({ name: 'sweep', intervalMs: 100, runOnce, ...common }).start();
emit({ event: 'ready' });

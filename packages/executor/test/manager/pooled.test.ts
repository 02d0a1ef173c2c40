import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import type { EventRegistry, ResolvedEvent } from '../../src/events/port.ts';
import { openTier } from '../../src/execution/open-tier.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { Fixture } from '../support/manager/fixture.ts';

const EVENTS = `
  import { defineEvent } from '@heddle/kit/event';
  export const echo = defineEvent({ name: 'Echo', run: (args) => ({ args, pid: process.pid }) });
  export const endless = defineEvent({
    name: 'Endless',
    run: (args, { progress }) => { progress(0.25); return new Promise(() => setInterval(() => 0, 1000)); },
  });
  export const leaves = defineEvent({ name: 'Leaves', run: () => process.exit(3) });
`;

function registryOf(directory: string): EventRegistry {
  const code = { digest: 'e'.repeat(64), directory, entry: 'index.ts' };
  const names = ['Echo', 'Endless', 'Leaves'];
  const unsaid = { timeout_secs: null, memory_mb: null, tier: null, idempotent: false };
  return {
    resolve: (name) =>
      Promise.resolve<ResolvedEvent>({
        name,
        code,
        source: 'local',
        definition: { name, ...unsaid },
        [Symbol.dispose]: () => undefined,
      }),
    has: (name) => names.includes(name),
    names: () => names,
    peek: () => null,
    close: () => Promise.resolve(),
  };
}

test('tasks run in real processes outside the manager: results, cancellation, timeout, a lost process', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'heddle-manager-'));
  try {
    await writeFile(join(directory, 'index.ts'), EVENTS);
    await writeFile(join(directory, 'package.json'), '{"type":"module"}');
    const options = { workers: 2, clock: systemClock, log: silentLogger, directory: tmpdir() };
    const tier = await openTier('pooled', options);
    try {
      await using fixture = await Fixture.open({
        directory: join(directory, 'journal'),
        settings: { tier: 'pooled', workerCount: 2, maxPendingTasks: 1_000 },
        manager: { tiers: [tier], registry: registryOf(directory) },
      });
      const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => fixture.submit({ n })));
      const results = answers.map(({ result }) => result as { args: { n: number }; pid: number });
      assert.deepEqual(
        results.map(({ args }) => args.n).sort((one, other) => one - other),
        [...Array(200).keys()],
      );
      const processes = new Set(results.map(({ pid }) => pid));
      assert.ok(processes.size <= 2 && !processes.has(process.pid));

      const reported = Promise.withResolvers<unknown>();
      const endless = fixture.submit(
        {},
        { event_name: 'Endless', idempotency_key: 'e' },
        { onProgress: () => reported.resolve(null) },
      );
      await reported.promise;
      assert.equal((await fixture.call('cancel', { idempotency_key: 'e' })).code, 'CANCELED');
      assert.equal((await endless).code, 'CANCELED');
      assert.equal((await fixture.submit({}, { event_name: 'Endless', timeout_secs: 0.2 })).code, 'TASK_TIMEOUT');
      assert.equal((await fixture.submit({}, { event_name: 'Leaves' })).code, 'WORKER_LOST');
      const floats = await fixture.submit({ of: [6.02e23, 1e-300] });
      assert.deepEqual((floats.result as { args: unknown }).args, { of: [6.02e23, 1e-300] });
      assert.equal((await fixture.submit({ still: 'served' })).status, 'success');
    } finally {
      await tier.close();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

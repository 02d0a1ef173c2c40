/** The pool of a server as a separate process: `node yard-server.ts ARGUMENTS`. Reports its life as JSON lines. */
import { writeSync } from 'node:fs';
import { join } from 'node:path';

import { PostgresBackend } from '@heddle/core/pool/backends/postgres';
import { Pool } from '@heddle/core/pool/pool';
import { ProcessProvider } from '@heddle/core/pool/providers/process/provider';
import { PostgresRunnerStore } from '@heddle/core/pool/store/postgres';
import { systemClock } from '@heddle/base/clock';
import { createLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import { openTestDatabase } from '@heddle/test-support/postgres';
import { dyingAt, onceOf } from './dying-port.ts';
import { playLife } from './life.ts';
import { INTERVALS, POLICY, type YardArguments } from './yard-settings.ts';

const given = JSON.parse(process.argv[2]!) as YardArguments;
// Must not survive a test that dies.
process.stdin.resume();
process.stdin.on('end', () => process.exit(1));

const emit = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`);
const log = createLogger({ level: 'warn' });
const database = openTestDatabase(given.url, { maxSize: 6 });
const { classes, times, max_uses } = POLICY;
const own = given.point?.process === 'server' ? given.point : null;
const dies = onceOf(given);
const store = dyingAt(
  new PostgresRunnerStore({ database, classes, times, max_uses }),
  own?.port === 'store' ? own : null,
  dies,
);
const runner = given.point?.process === 'runner' ? given : { ...given, point: null };
const provider = dyingAt(
  new ProcessProvider({
    name: 'process@yard',
    directory: given.directory,
    command: [process.execPath, join(import.meta.dirname, 'yard-runner.ts'), JSON.stringify(runner)],
    environment: process.env,
    workingDirectory: given.directory,
    url: 'http://127.0.0.1:9',
    credentialOf: () => Promise.resolve('none'),
    clock: systemClock,
    log,
    onEnded: (id, reason) => void store.terminate([id], reason).catch(() => undefined),
  }),
  own?.port === 'provider' ? own : null,
  dies,
);
const backend = new PostgresBackend(store);
const context = { store, backend, provider, policy: POLICY, clock: systemClock, random: systemRandom, log };
const pool = new Pool(context, { intervals: INTERVALS });
pool.start();
const watch = setInterval(() => provider.watch(), 200);
await database.listen('heddle_pool', () => pool.wake());
emit({ event: 'ready' });

process.on('SIGTERM', () => {
  clearInterval(watch);
  void provider
    .close()
    .then(() => pool.stop())
    .then(() => database.close())
    .then(() => process.exit(0));
});

if (given.plays) {
  await playLife({ pool, store, provider, newId });
  emit({ event: 'done' });
  // It should have died before this.
  if (own !== null) process.exit(3);
}

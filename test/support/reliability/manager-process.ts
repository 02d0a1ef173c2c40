/** One manager until it is killed: `node manager-process.ts URL [POINT]`. At the point, where one is given, by itself. */
import { writeSync } from 'node:fs';

import { ManagerLoop } from 'heddle/internal/app/manager-loop';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { openDatabase } from '@heddle/core/store/database';
import { benchOn } from '@heddle/test-support/engine/manager/bench';
import { CrashingDatabase, type CrashPoint } from '@heddle/test-support/reliability/crashing-database';

const [url, point = 'null'] = process.argv.slice(2) as [string, string?];
// A test that dies must not leave this behind.
process.stdin.resume();
process.stdin.on('end', () => process.exit(1));

const die = (): Promise<never> => {
  process.kill(process.pid, 'SIGKILL');
  return new Promise<never>(() => undefined);
};
const inner = openDatabase({
  url,
  maxSize: 4,
  minIdle: 0,
  acquireRetries: 3,
  acquireTimeoutMs: 20_000,
  slowQueryMs: 60_000,
  clock: systemClock,
  log: silentLogger,
});
const database = new CrashingDatabase(inner, JSON.parse(point) as CrashPoint | null, die);
const loop = new ManagerLoop({
  ...benchOn(database),
  receivers: 2,
  intervalMs: 200,
  batchMax: 20,
  visibilityMs: 1_000,
  inboxKeepMs: 3_600_000,
  clock: systemClock,
  random: systemRandom,
  log: silentLogger,
});
loop.start();
writeSync(1, `${JSON.stringify({ event: 'ready' })}\n`);

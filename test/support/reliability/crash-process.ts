/** Plays the scenario until it dies at the point given: `node crash-process.ts URL RUN POINT`. Its journal goes to stdout. */
import { writeSync } from 'node:fs';

import { createEngine } from '@heddle/core/engine/engine';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { openDatabase } from '@heddle/core/store/database';
import { CrashingDatabase, type CrashPoint } from '@heddle/test-support/reliability/crashing-database';
import { Driver, Scenario } from './crash-scenario.ts';
import { finishedIn } from './crash-verdict.ts';
import { Journal } from './journal.ts';

const [url, run, point] = process.argv.slice(2) as [string, string, string];
// A test that dies must not leave this behind.
process.stdin.resume();
process.stdin.on('end', () => process.exit(1));

const write = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`);
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
const engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger });
const journal = new Journal(write);
await new Driver(engine, journal, new Scenario(run), () => finishedIn(inner, run)).drive();
write({ event: 'done', calls: Object.fromEntries(database.calls) });
process.exit(0);

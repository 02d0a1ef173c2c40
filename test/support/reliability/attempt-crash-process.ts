/** Plays an attempt until it dies at the point given: `node attempt-crash-process.ts URL RUN POINT STORE`. */
import fs, { type FileHandle } from 'node:fs/promises';
import { writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

import { S3Client } from '@aws-sdk/client-s3';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { openDatabase } from '@heddle/core/store/database';
import type { CrashCounter } from '@heddle/test-support/reliability/crash-counter';
import { CrashingDatabase, type CrashPoint } from '@heddle/test-support/reliability/crashing-database';
import { AttemptWorld, type StorePlace } from './attempt-scenario.ts';

const [url, run, point, place] = process.argv.slice(2) as [string, string, string, string];
const store = JSON.parse(place) as StorePlace;
// A test that dies must not leave this behind.
process.stdin.resume();
process.stdin.on('end', () => process.exit(1));

const note = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`);
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
countFiles(database.counter, store.artifactsDir);
countRequests(database.counter);
const aroundReport = <T>(report: () => Promise<T>): Promise<T> => database.counter.around('report', report);
await new AttemptWorld(run, { database, clock: systemClock, store, note, aroundReport }).play();
note({ event: 'done', calls: Object.fromEntries(database.calls) });
process.exit(0);

/** Makes each step in files of a directory a point. */
function countFiles(counter: CrashCounter, directory: string): void {
  const counted = ['mkdir', 'open', 'rename', 'rm', 'readdir'] as const;
  for (const name of counted) {
    const step = fs[name] as (...given: unknown[]) => Promise<unknown>;
    const around = async (...given: unknown[]): Promise<unknown> => {
      if (!String(given[0]).startsWith(directory)) return step(...given);
      const result = await counter.around(`fs.${name}`, () => step(...given));
      if (name === 'open') countWrites(counter, result as FileHandle);
      return result;
    };
    Object.assign(fs, { [name]: around });
  }
  syncBuiltinESMExports();
}

function countWrites(counter: CrashCounter, file: FileHandle): void {
  const [writeFile, sync] = [file.writeFile.bind(file), file.sync.bind(file)];
  file.writeFile = (...given) => counter.around('fs.write', () => writeFile(...given));
  file.sync = () => counter.around('fs.sync', sync);
}

/** Makes each request to a bucket a point. */
function countRequests(counter: CrashCounter): void {
  const send = S3Client.prototype.send as (...given: unknown[]) => Promise<unknown>;
  const counting = function (this: S3Client, ...given: unknown[]): Promise<unknown> {
    const name = (given[0] as object).constructor.name.replace(/Command$/, '');
    return counter.around(`s3.${name}`, () => send.apply(this, given));
  };
  Object.assign(S3Client.prototype, { send: counting });
}

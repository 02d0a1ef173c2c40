/** A process that is killed at every step of an attempt with log lines, a secret and artifacts, in each store. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { systemClock, type Clock } from '@heddle/base/clock';
import { type CheckingS3, startCheckingS3 } from '@heddle/test-support/app/checking-s3';
import type { TestDatabase } from '@heddle/test-support/postgres';
import type { CrashPoint } from '@heddle/test-support/reliability/crashing-database';
import { startChild } from '@heddle/test-support/reliability/processes';
import {
  ATTEMPT_CRASH_CALLS,
  ATTEMPT_SHARED_CALLS,
  STORE_CRASH_CALLS,
} from '../support/reliability/attempt-crash-points.ts';
import { type AttemptLine, AttemptWorld, type StorePlace } from '../support/reliability/attempt-scenario.ts';
import { assertAttempts } from '../support/reliability/attempt-verdict.ts';
import { Lanes } from '../support/reliability/lanes.ts';

const LANES = 3;
const CHILD_DEADLINE_MS = 120_000;
const PROCESS = join(import.meta.dirname, '../support/reliability/attempt-crash-process.ts');
/** All of them take minutes; an ordinary run tries every fourth. */
const EVERY = process.env['HEDDLE_TEST_LONG'] === '1' ? 1 : 4;

/** The second process lives later: what the first one held has expired. */
const LATER_MS = 600_000;
const laterClock: Clock = { ...systemClock, now: () => systemClock.now() + LATER_MS };

function pointsOf(store: 'directory' | 'bucket'): CrashPoint[] {
  const calls = { ...ATTEMPT_CRASH_CALLS, ...ATTEMPT_SHARED_CALLS, ...STORE_CRASH_CALLS[store] };
  const points = Object.entries(calls).flatMap(([statement, numbers]) =>
    numbers.flatMap((call) => (['before', 'during', 'after'] as const).map((when) => ({ statement, call, when }))),
  );
  return points.filter((_, index) => index % EVERY === (store === 'directory' ? 0 : 1));
}

const nameOf = ({ statement, call, when }: CrashPoint): string => `${when} call ${call} of ${statement}`;

let directory: string;
let s3: CheckingS3;
let bucket: S3Client;
const lanes = new Lanes(LANES, 6);
let runs = 0;

before(async () => {
  process.env['AWS_ACCESS_KEY_ID'] = 'test';
  process.env['AWS_SECRET_ACCESS_KEY'] = 'test';
  directory = await mkdtemp(join(tmpdir(), 'heddle-attempt-crashes-'));
  s3 = await startCheckingS3();
  bucket = new S3Client({ endpoint: s3.url, region: 'us-east-1', forcePathStyle: true });
  await bucket.send(new CreateBucketCommand({ Bucket: 'artifacts' }));
  await lanes.open();
});

after(async () => {
  await lanes.close();
  bucket.destroy();
  await s3.close();
  await rm(directory, { recursive: true });
});

function placeOf(store: 'directory' | 'bucket', run: string): StorePlace {
  const artifactsDir = join(directory, run);
  const artifactsS3 = `s3://artifacts/${run}?endpoint=${encodeURIComponent(s3.url)}`;
  return { artifactsDir, artifactsS3: store === 'bucket' ? artifactsS3 : '' };
}

/** Plays the scenario in a process of its own up to the point; resolves with what was reported to it. */
async function playUntil(
  url: string,
  run: string,
  point: CrashPoint | null,
  place: StorePlace,
): Promise<AttemptLine[]> {
  const child = startChild(PROCESS, [url, run, JSON.stringify(point), JSON.stringify(place)]);
  const timeout = AbortSignal.timeout(CHILD_DEADLINE_MS);
  timeout.addEventListener('abort', () => void child.kill());
  const how = await child.ended;
  assert.ok(!timeout.aborted, `the process neither ended nor crashed within ${CHILD_DEADLINE_MS} ms`);
  if (point === null) assert.equal(how, 0, child.errors());
  else assert.equal(how, 'SIGKILL', `${nameOf(point)} was not reached: ${child.errors()}`);
  return child.lines as unknown as AttemptLine[];
}

async function dieAt(lane: TestDatabase, store: 'directory' | 'bucket', point: CrashPoint | null): Promise<void> {
  runs += 1;
  const run = `run${runs}`;
  const place = placeOf(store, run);
  const { database } = lane;
  const told = await playUntil(lane.url, run, point, place);
  const world = new AttemptWorld(run, {
    database,
    clock: laterClock,
    store: place,
    note: (line) => void told.push(line),
  });
  try {
    const id = await world.play();
    await assertAttempts(world, database, id, told);
    const left = await readdir(join(place.artifactsDir, store === 'directory' ? 'unfinished' : '.')).catch(() => []);
    assert.deepEqual(left, [], 'unfinished contents');
  } finally {
    await world.engine.close();
  }
}

for (const store of ['directory', 'bucket'] as const) {
  describe(`a process with artifacts in a ${store} that is killed`, { concurrency: LANES }, () => {
    for (const point of [null, ...pointsOf(store)]) {
      it(point === null ? 'nowhere: the scenario itself' : nameOf(point), () =>
        lanes.on((lane) => dieAt(lane, store, point)),
      );
    }
  });
}

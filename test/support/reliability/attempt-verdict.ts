import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';

import type { Artifact } from '@heddle/core/engine/port';
import type { Database, Statement } from '@heddle/core/store/database';
import { type AttemptLine, type AttemptWorld, CONTENTS, LINES, SECRET } from './attempt-scenario.ts';

const DAY_MS = 86_400_000;

const BLOBS: Statement = {
  name: 'audit.blobs',
  text: `select encode(b.digest, 'hex') as digest from artifact_blob b order by 1`,
};
const USES: Statement = {
  name: 'audit.secret_uses',
  text: `select count(*)::integer as uses from audit_entry where (entry::json) ->> 'actor' = $1
    and (entry::json) ->> 'action' = 'secret use'`,
};

/** Compares what is stored in the end with what the processes had confirmed while they lived. */
export async function assertAttempts(
  world: AttemptWorld,
  database: Database,
  id: string,
  told: readonly AttemptLine[],
): Promise<void> {
  const attempts = await world.engine.listAttempts(id, null, 100);
  const last = attempts[0]!.attempt;
  assert.deepEqual(
    attempts.map(({ attempt }) => attempt),
    Array.from({ length: last }, (_, index) => last - index),
    'every attempt is there once',
  );
  assert.deepEqual(
    attempts.map(({ outcome }) => outcome),
    ['succeeded', ...attempts.slice(1).map(() => 'lost')],
  );
  for (const { attempt } of attempts) await assertLines(world, id, attempt, attempt === last, told);
  await assertArtifacts(world, database, id, last, told);
  const [row] = await database.query<{ uses: number }>(USES, [`task:${id}`]);
  assert.ok(row!.uses >= 1 && row!.uses <= last, `${row!.uses} uses of the secret in ${last} attempts`);
  assert.deepEqual((await world.engine.readResult(id))?.data, { secret_chars: JSON.stringify(SECRET).length });
}

/** The lines of an attempt have no gap and no repeat, and none is lost that was acknowledged. */
async function assertLines(
  { engine }: AttemptWorld,
  id: string,
  attempt: number,
  isLast: boolean,
  told: readonly AttemptLine[],
): Promise<void> {
  const page = await engine.readLogs(id, { attempt, from: 0, tail: null, limit: 10 * LINES });
  const lines = page?.lines.map((line) => line.text) ?? [];
  assert.deepEqual(
    lines,
    lines.map((_, index) => `line ${index + 1}`),
  );
  const acknowledged = told.flatMap((line) =>
    line.event === 'logged' && line.attempt === attempt ? [line.lines] : [],
  );
  assert.ok(lines.length >= Math.max(0, ...acknowledged), 'an acknowledged line is lost');
  if (isLast) assert.equal(lines.length, LINES);
}

/** Every artifact has its content, and no content is left that no artifact has. */
async function assertArtifacts(
  world: AttemptWorld,
  database: Database,
  id: string,
  last: number,
  told: readonly AttemptLine[],
): Promise<void> {
  const before = await world.artifacts().list(id, null);
  for (const artifact of before) await assertContent(world, artifact);
  for (const line of told) {
    if (line.event !== 'stored') continue;
    assert.ok(
      before.some(({ attempt, name }) => attempt === line.attempt && name === line.name) || line.attempt < last,
      `the acknowledged artifact ${line.name} of attempt ${line.attempt} is lost`,
    );
  }
  await world.artifacts(2 * DAY_MS).retain(1_000);
  const after = await world.artifacts().list(id, null);
  assert.deepEqual(
    after.map(({ attempt, name }) => [attempt, name]),
    Object.keys(CONTENTS).map((name) => [last, name]),
    'artifacts of lost attempts are swept, others are not',
  );
  for (const artifact of after) await assertContent(world, artifact);
  const digests = [...new Set(after.map(({ sha256 }) => sha256))];
  const stored: string[] = [];
  for await (const set of world.blobs.list(Infinity)) stored.push(...set.map((digest) => digest.toString('hex')));
  assert.deepEqual(stored, digests, 'contents without an artifact');
  assert.deepEqual(
    (await database.query<{ digest: string }>(BLOBS)).map(({ digest }) => digest),
    digests,
  );
}

async function assertContent(world: AttemptWorld, artifact: Artifact): Promise<void> {
  const content = await text(await world.artifacts().read(artifact));
  assert.equal(createHash('sha256').update(content).digest('hex'), artifact.sha256);
  assert.ok(['first', 'second'].includes(content));
}

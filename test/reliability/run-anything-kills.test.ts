/** Commands whose server is killed while they run: no line, artifact or attempt is lost, and none is there twice. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';

import { HeddleClient } from '@heddle/client';
import { seededRandom } from '@heddle/base/random';
import { systemClock } from '@heddle/base/clock';
import { DataDirectory, type HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { eventually } from '@heddle/test-support/eventually';

const SEED = Number(process.env['HEDDLE_TEST_SEED'] ?? Math.floor(Math.random() * 1e6));
const KILLS = 4;
const TASKS = 6;
const LINES = 400;
const TIER = spawnSync('bwrap', ['--version']).status === 0 ? 'jail' : 'process';

const data = new DataDirectory();
const artifacts = mkdtempSync(join(tmpdir(), 'heddle-killed-artifacts-'));
after(async () => {
  await data.dispose();
  rmSync(artifacts, { recursive: true, force: true });
});

function start(port: number): HeddleProcess {
  return data.up({
    PORT: String(port),
    HEDDLE_COMMANDS: TIER,
    HEDDLE_ARTIFACTS_DIR: artifacts,
    WORKER_LEASE_SECS: '5',
    WORKER_LOOP_INTERVAL_MS: '200',
  });
}

const COMMAND = {
  run: `for i in $(seq 1 ${LINES}); do echo "line $i of attempt"; [ $((i % 20)) = 0 ] && sleep 0.1; done; echo "stored" > out.txt`,
  artifacts: ['out.txt'],
};

test(`commands survive kill -9 of their server (HEDDLE_TEST_SEED=${SEED})`, async () => {
  const random = seededRandom(SEED);
  let run = start(0);
  const { url, port } = await run.ready();
  const client = new HeddleClient({ baseUrl: url });
  const { tasks } = await client.submit(
    Array.from({ length: TASKS }, (_, index) => ({
      name: `command ${index}`,
      kind: 'Command',
      metadata: COMMAND,
      timeout: 120,
      retry: { max_attempts: 20, backoff_secs: 1, max_backoff_secs: 1 },
    })),
  );
  for (let kill = 0; kill < KILLS; kill += 1) {
    await systemClock.sleep(500 + Math.floor(random.next() * 2_500));
    data.kill();
    await run.exited;
    await data.gone();
    run = start(port);
    await run.ready();
  }
  for (const { id } of tasks) {
    await eventually(async () => (await client.getTask(id)).status === 'Success', `task ${id} has succeeded`, 120_000);
  }
  let kept = 0;
  for (const { id, attempt: _ } of tasks) {
    const { attempt: last } = await client.getTask(id);
    const attempts = await client.taskAttempts(id);
    assert.deepEqual(
      attempts.map(({ attempt }) => attempt),
      Array.from({ length: last }, (_, index) => last - index),
      'every attempt is there once',
    );
    assert.deepEqual([attempts[0]!.outcome, attempts[0]!.exit_code], ['succeeded', 0]);
    for (const { outcome } of attempts.slice(1)) assert.notEqual(outcome, 'succeeded');
    for (const { attempt } of attempts) kept += await requireWholePrefix(id, attempt, attempt === last);
    const [artifact, ...others] = (await client.artifacts.list(id)).filter(({ attempt }) => attempt === last);
    assert.deepEqual(others, []);
    assert.equal((await buffer(await client.artifacts.download(artifact!.id))).toString(), 'stored\n');
  }
  assert.ok(kept >= TASKS * LINES, 'lines of killed attempts are kept too');
  assert.equal(await run.end('SIGINT'), 0, run.stderr);
  await data.gone();

  /** Lines of an attempt have no gap and no repeat; those of the last attempt are all there. */
  async function requireWholePrefix(id: string, attempt: number, isLast: boolean): Promise<number> {
    const texts: string[] = [];
    for (let from = 0; ;) {
      const page = await client.taskLogs(id, { attempt, from });
      for (const { number, text } of page.lines) {
        assert.equal(number, texts.length, `attempt ${attempt} of ${id} has a gap`);
        texts.push(text);
      }
      if (page.lines.length === 0) break;
      from = page.next;
    }
    const expected = Array.from({ length: texts.length }, (_, index) => `line ${index + 1} of attempt`);
    assert.deepEqual(texts, expected);
    if (isLast) assert.equal(texts.length, LINES);
    return texts.length;
  }
});

/** Commands that are killed while they run, or whose server or worker is: no line, artifact or attempt is lost or there twice. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';

import { HeddleClient } from '@heddle/client';
import { newId, seededRandom, type Random } from '@heddle/base/random';
import { systemClock } from '@heddle/base/clock';
import { DataDirectory, HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { eventually } from '@heddle/test-support/eventually';

const SEED = Number(process.env['HEDDLE_TEST_SEED'] ?? Math.floor(Math.random() * 1e6));
const KILLS = 4;
const TASKS = 6;
const LINES = 400;
const TIER = spawnSync('bwrap', ['--version']).status === 0 ? 'jail' : 'process';

const directories: { data: DataDirectory; artifacts: string }[] = [];
after(async () => {
  for (const { data, artifacts } of directories) {
    await data.dispose();
    rmSync(artifacts, { recursive: true, force: true });
  }
});

/** What is killed, and what must still run in the end. */
class Fleet {
  readonly data = DataDirectory.prepared();
  readonly artifacts = mkdtempSync(join(tmpdir(), 'heddle-killed-artifacts-'));
  /** In the command lines of its commands. */
  readonly tag = `tag-${newId()}`;
  readonly #victim: 'server' | 'worker' | 'command';
  #server!: HeddleProcess;
  #worker: HeddleProcess | null = null;
  url = '';

  constructor(victim: 'server' | 'worker' | 'command') {
    this.#victim = victim;
    directories.push(this);
  }

  async start(port = 0): Promise<void> {
    this.#server = this.data.up({
      PORT: String(port),
      HEDDLE_COMMANDS: this.#victim === 'worker' ? 'off' : TIER,
      HEDDLE_ARTIFACTS_DIR: this.artifacts,
      WORKER_LEASE_SECS: '5',
      WORKER_LOOP_INTERVAL_MS: '200',
    });
    this.url = (await this.#server.ready()).url;
    if (this.#victim === 'worker') await this.#startWorker();
  }

  /** A worker without a database. */
  async #startWorker(): Promise<void> {
    const environment = {
      HEDDLE_DATA_DIR: join(this.data.path, 'none'),
      HEDDLE_COMMANDS: TIER,
      WORKER_LEASE_SECS: '5',
    };
    this.#worker = new HeddleProcess(['worker', '--url', this.url, '--json'], environment);
    await this.#worker.ready();
  }

  async kill(random: Random): Promise<void> {
    if (this.#victim === 'server') {
      this.data.kill();
      await this.#server.exited;
      await this.data.gone();
      await this.start(Number(new URL(this.url).port));
    } else if (this.#victim === 'worker') {
      this.#worker!.child.kill('SIGKILL');
      await this.#worker!.exited;
      await this.#startWorker();
    } else {
      const shells = await eventually(() => {
        const found = this.#shells();
        return found.length > 0 && found;
      }, 'a command runs');
      process.kill(shells[Math.floor(random.next() * shells.length)]!, 'SIGKILL');
    }
  }

  /** Process ids of its commands. */
  #shells(): number[] {
    const read = (path: string): string => {
      try {
        return readFileSync(path, 'utf8');
      } catch {
        return '';
      }
    };
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    const shells = pids.filter((pid) => read(`/proc/${pid}/comm`) === 'bash\n');
    return shells.filter((pid) => read(`/proc/${pid}/cmdline`).includes(this.tag)).map(Number);
  }

  async end(): Promise<void> {
    await this.#worker?.end('SIGINT');
    assert.equal(await this.#server.end('SIGINT'), 0, this.#server.stderr);
    await this.data.gone();
  }
}

// No line comes from a subshell, which has the tag too: a kill of it would leave lines out and go unnoticed.
const LOOP = `for ((i = 1; i <= ${LINES}; i++)); do echo "line $i of attempt"; [ $((i % 20)) = 0 ] && sleep 0.1; done; echo "stored" > out.txt`;

for (const victim of ['server', 'worker', 'command'] as const) {
  test(`commands survive kill -9 of their ${victim} (HEDDLE_TEST_SEED=${SEED})`, () => surviveKills(victim));
}

async function surviveKills(victim: 'server' | 'worker' | 'command'): Promise<void> {
  const random = seededRandom(SEED);
  const fleet = new Fleet(victim);
  await fleet.start();
  const client = new HeddleClient({ baseUrl: fleet.url });
  const { tasks } = await client.submit(
    Array.from({ length: TASKS }, (_, index) => ({
      name: `command ${index}`,
      kind: 'Command',
      metadata: { run: `: ${fleet.tag}; ${LOOP}`, artifacts: ['out.txt'] },
      timeout: 120,
      retry: { max_attempts: 20, backoff_secs: 1, max_backoff_secs: 1 },
    })),
  );
  for (let kill = 0; kill < KILLS; kill += 1) {
    await systemClock.sleep(500 + Math.floor(random.next() * 2_500));
    await fleet.kill(random);
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
  await fleet.end();

  /** Lines of an attempt have no gap and no repeat; those of the last attempt are all there. */
  async function requireWholePrefix(id: string, attempt: number, isLast: boolean): Promise<number> {
    const texts: string[] = [];
    let count = 0;
    for (let from = 0; ;) {
      const page = await client.taskLogs(id, { attempt, from });
      for (const { number, stream, text } of page.lines) {
        assert.equal(number, count, `attempt ${attempt} of ${id} has a gap`);
        count += 1;
        // A killed command has none of the files that are its artifacts, which the worker logs.
        if (stream === 'stdout') texts.push(text);
      }
      if (page.lines.length === 0) break;
      from = page.next;
    }
    const expected = Array.from({ length: texts.length }, (_, index) => `line ${index + 1} of attempt`);
    assert.deepEqual(texts, expected);
    if (isLast) assert.equal(texts.length, LINES);
    return texts.length;
  }
}

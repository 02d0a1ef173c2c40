import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { seededRandom } from '@heddle/base/random';
import type { ScanSummary } from '../src/result.ts';
import { optionsFor, places, scan, temporaryFolder, write } from './support/scan-fixture.ts';

const KILLS = process.env['HEDDLE_TEST_LONG'] === '1' ? 100 : 5;
const SEED = Number(process.env['HEDDLE_PROPERTY_SEED'] ?? 20_260_101);
const FILES = 1200;

/** Maximum objects in progress: two batches for each of two threads, which fill the frontier. */
const IN_WORK = 64;

function writeTree(folder: string): string[] {
  const keys: string[] = [];
  for (let i = 0; i < FILES; i++) {
    const name = `d${String(Math.floor(i / 40)).padStart(3, '0')}/f${String(i).padStart(5, '0')}`;
    const key = `MADEUP-${String(100_000 + i)}`;
    write(join(folder, name), `${'some text\n'.repeat(40)}${i % 3 === 0 ? `key = ${key}\n` : ''}`);
    if (i % 3 === 0) keys.push(`${name}:${key}`);
  }
  return keys;
}

interface Run {
  lines: unknown[];
  summary: ScanSummary | null;
}

/** Scans in a separate process, and kills it after `killAfter` printed lines. */
async function runUntil(folder: string, state: string, log: string, killAfter: number): Promise<Run> {
  const script = join(import.meta.dirname, 'support/scan-process.ts');
  const child = spawn(process.execPath, [script, folder, state], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ODD_WORKER_LOG: log },
  });
  const exited = once(child, 'exit');
  const lines: unknown[] = [];
  let summary: ScanSummary | null = null;
  for await (const text of createInterface({ input: child.stdout })) {
    const line: unknown = JSON.parse(text);
    if (typeof line === 'object' && line !== null && 'summary' in line) summary = line.summary as ScanSummary;
    else lines.push(line);
    if (lines.length === killAfter) child.kill('SIGKILL');
  }
  await exited;
  return { lines, summary };
}

test(`killed at ${KILLS} points, a scan loses and duplicates nothing, and rescans only objects in progress`, async (t) => {
  const random = seededRandom(SEED);
  t.diagnostic(`seed ${SEED}`);
  const folder = temporaryFolder(t);
  const tree = join(folder, 'tree');
  const keys = writeTree(tree).map((place) => `${tree}/${place}`);
  const [state, log] = [join(folder, 'state'), join(folder, 'opened')];
  for (let kills = 0; kills < KILLS;) {
    rmSync(state, { force: true });
    writeFileSync(log, '');
    let killsHere = 0;
    let reached = 0;
    for (;;) {
      const killAfter = reached + 1 + Math.floor((random.next() * keys.length) / 4);
      const { lines, summary } = await runUntil(tree, state, log, killAfter);
      assert.deepEqual(lines.slice(0, keys.length), keys.slice(0, lines.length), 'in order, none left out');
      if (summary !== null) {
        assert.deepEqual(lines, keys);
        assert.equal(summary.outcome, 'complete');
        assert.equal(summary.findings, keys.length);
        assert.equal(summary.metrics.objects_discovered, FILES);
        assert.equal(summary.metrics.objects_completed, FILES);
        break;
      }
      killsHere += 1;
      reached = Math.max(reached, killAfter);
    }
    kills += killsHere;
    const opened = readFileSync(log, 'utf8').trim().split('\n');
    assert.equal(new Set(opened).size, FILES);
    const again = opened.length - FILES;
    assert.ok(again <= killsHere * IN_WORK, `${again} objects were scanned again after ${killsHere} kills`);
  }
});

test('a stopped scan resumes, and a completed one starts over', async (t) => {
  const folder = temporaryFolder(t);
  const tree = join(folder, 'tree');
  const keys = writeTree(tree);
  const statePath = join(folder, 'state');
  const stopping = new AbortController();
  const options = optionsFor(tree, { frontierCapacity: 16 });
  const log = { objects: 0 };
  const { startScan } = await import('../src/scan.ts');
  const { systemClock } = await import('@heddle/base/clock');
  const stopped = await startScan(
    options,
    { onFinding: () => ((log.objects += 1) === 100 ? stopping.abort() : undefined), onProblem: () => undefined },
    { clock: systemClock, statePath, signal: stopping.signal },
  );
  assert.equal(stopped.outcome, 'aborted');
  assert.equal(statSync(statePath).mode & 0o077, 0, 'readable by its owner only');
  const other = optionsFor(tree, { exclude: ['x'] });
  await assert.rejects(scan(other, { statePath }), /other sources, rules or options/);
  const resumed = await scan(options, { statePath });
  assert.deepEqual(places(resumed.findings, tree), keys);
  assert.equal(resumed.summary.metrics.objects_completed, FILES);
  write(join(tree, 'new'), 'MADEUP-999999');
  const anew = await scan(options, { statePath });
  assert.deepEqual(places(anew.findings, tree), [...keys, 'new:MADEUP-999999']);
});

test('a file that is not a state file is left unchanged', async (t) => {
  const folder = temporaryFolder(t);
  const statePath = join(folder, 'notes.txt');
  writeFileSync(statePath, 'my notes\n');
  await assert.rejects(scan(optionsFor(folder), { statePath }), /not a scan state file/);
  assert.equal(readFileSync(statePath, 'utf8'), 'my notes\n');
  assert.ok(existsSync(statePath));
});

test('a thread that exits or hangs costs only its current object', async (t) => {
  const folder = temporaryFolder(t);
  const names = Array.from({ length: 60 }, (_, i) => `f${String(i).padStart(2, '0')}`);
  for (const name of names) write(join(folder, name), `MADEUP-1234${name.slice(1)}`);
  write(join(folder, 'f20-crash'), 'MADEUP-555555');
  write(join(folder, 'f40-hang'), 'MADEUP-666666');
  const options = optionsFor(folder);
  // The limit of a step is ten rules and five seconds; no rule reaches its own, however busy the machine is.
  const workerEntry = new URL('./support/odd-worker.ts', import.meta.url);
  const { summary, findings, problems } = await scan({ ...options, ruleTimeoutMs: 300 }, { workerEntry });
  assert.deepEqual(
    places(findings, folder),
    names.map((name) => `${name}:MADEUP-1234${name.slice(1)}`),
  );
  assert.deepEqual(
    problems.map(({ code, path }) => `${code} ${path.slice(folder.length + 1)}`),
    ['unreadable f20-crash', 'rule_timed_out f40-hang'],
  );
  assert.equal(summary.outcome, 'incomplete');
});

/** A whole scan in the engine's process, with a generator that is interrupted. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { loadConfiguration } from '../../../src/app/config.ts';
import { runKinds } from '../../../src/app/kinds.ts';
import { StopSequence } from '../../../src/app/stop-sequence.ts';
import { parseManagerMessage } from '@heddle/core/domain/parse/message';
import type { Engine } from '@heddle/core/engine/port';
import { defineKind, type KindDefinition } from '@heddle/kit';
import type { ScanTaskResult } from '../../../src/kinds/object-scan/task-result.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import { emptyMetrics } from '@heddle/scan/graph/metrics';
import { newBench } from '@heddle/test-support/engine/fixture';
import { findingsOf, reported } from '@heddle/test-support/engine/findings/reported';
import { eventually } from '@heddle/test-support/eventually';
import { scanKinds } from '../../support/kinds/object-scan/kinds.ts';
import { madeUpToken, Tree } from '../../support/kinds/object-scan/planted.ts';

interface Outcome {
  state: string;
  tasks: number;
  merged: Record<string, unknown> | undefined;
}

/** Runs the kinds in this process until their workflow has ended. */
async function runWorkflow(engine: Engine, kinds: readonly KindDefinition[], input: object): Promise<Outcome> {
  const stopping = new StopSequence(systemClock, silentLogger);
  const { values: settings } = loadConfiguration({ flags: {}, environment: {}, workingDirectory: '/' });
  runKinds(kinds, { settings, engine, stopping, clock: systemClock, random: systemRandom, log: silentLogger });
  const policy = 'ContinueOnPartialFailure';
  const looking = {
    mode: 'parallel',
    policy,
    children: [
      { kind: 'ObjectScanGenerator', input, retry: { max_attempts: 2, backoff_secs: 0 } },
      { id: 'scans', mode: 'parallel', policy, children: [] },
    ],
  };
  const aggregator = { kind: 'ObjectScanAggregator', input: { target: 'tree' } };
  const root = { mode: 'sequential', children: [looking, aggregator] };
  const parsed = parseManagerMessage(
    JSON.stringify({ type: 'CreateTaskCollection', collection: { name: 'scan', root } }),
    newId,
  );
  assert.ok(parsed.ok && parsed.message.type === 'CreateTaskCollection');
  const [submitted] = await engine.submitWorkflows([
    { ...parsed.message.collection, traceparent: null, idempotency: null, job_run_id: null },
  ]);
  const id = submitted!.workflow_id;
  await eventually(
    async () => {
      await engine.completeGenerators(100);
      await engine.sweep();
      return (await engine.getWorkflow(id))!.ended_at !== null;
    },
    'the workflow has ended',
    120_000,
  );
  await stopping.stop();
  const { root_state, task_count } = (await engine.getWorkflow(id))!;
  const results = await engine.readResults({ workflow_id: id }, null, 10_000);
  const merged = results.find(({ kind }) => kind === 'ObjectScanAggregator')?.data as Record<string, unknown>;
  return { state: String(root_state), tasks: task_count, merged };
}

describe('a scan in the process of the engine', () => {
  it('finds secrets in parts, and reports in a second run what is gone', async () => {
    const { engine, database } = await newBench();
    const books = findingsOf(database);
    const tree = new Tree(Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`d${n % 3}/f${n}`, `plain ${n}`])));
    tree.write('d1/x.env', `A=${madeUpToken(1)}\n`);
    tree.write('z.env', `A=${madeUpToken(2)}\n`);
    const input = { sources: [{ type: 'path', path: tree.root }], partition: { objects_max: 5 }, into: 'scans' };
    const { all } = scanKinds(tree.root, books);
    const first = await runWorkflow(engine, all, input);
    assert.deepEqual([first.state, first.tasks], ['succeeded', 5]);
    assert.deepEqual([first.merged!['new'], first.merged!['complete'], first.merged!['objects']], [2, true, 14]);
    tree.delete('z.env');
    const { merged } = await runWorkflow(engine, all, input);
    assert.deepEqual([merged!['new'], merged!['known'], merged!['gone']], [0, 1, 1]);
    tree.remove();
    await engine.close();
  });

  it('creates each task once if its generator is interrupted and runs again', async () => {
    const { engine, database } = await newBench();
    const files = Array.from({ length: 2300 }, (_, n) => [`d${n % 20}/f${n}`, ''] as const);
    const tree = new Tree(Object.fromEntries(files));
    let calls = 0;
    const dying: Engine = Object.create(engine) as Engine;
    dying.createNodes = async (creations) => {
      calls += 1;
      // Stored, but the generator never sees the confirmation.
      const results = await engine.createNodes(creations);
      if (calls === 2) throw new Error('the connection is lost');
      return results;
    };
    const scanned: string[] = [];
    const scan = defineKind({
      name: 'ObjectScan',
      run: (_input, { task }): ScanTaskResult => {
        scanned.push(task.id);
        const findings = [reported(scanned.length)];
        const counts = { finding_count: 1, findings_lost: 0, objects: 1, bytes: 0, problem_count: 0, duration_ms: 0 };
        return {
          outcome: 'complete',
          findings,
          chunks: 0,
          attempt: 1,
          problems: [],
          metrics: emptyMetrics(),
          ...counts,
        };
      },
    });
    const { generator, all } = scanKinds(tree.root, findingsOf(database));
    const input = {
      sources: [{ type: 'path', path: tree.root }],
      partition: { objects_max: 1, tasks_max: 5000 },
      into: 'scans',
    };
    const { state, tasks, merged } = await runWorkflow(dying, [generator, scan, all[2]!], input);
    assert.deepEqual([state, tasks], ['succeeded', 2302]);
    assert.ok(calls >= 4, 'there were two attempts');
    assert.equal(new Set(scanned).size, 2300);
    assert.equal(scanned.length, 2300, 'no task ran twice');
    assert.deepEqual([merged!['new'], merged!['complete']], [2300, true]);
    tree.remove();
    await engine.close();
  });
});

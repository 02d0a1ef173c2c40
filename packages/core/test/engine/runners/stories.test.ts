import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import * as fc from 'fast-check';

import type { NewTask } from '@heddle/base/vocabulary/task';
import type { ClaimedTask } from '../../../src/engine/port.ts';
import { newId } from '@heddle/base/random';
import { submitTasks } from '@heddle/test-support/engine/fixture';
import {
  claimAt,
  grant,
  needy,
  newRunnerBench,
  pass,
  releaseOver,
  type RunnerBench,
  type TestRunner,
} from '@heddle/test-support/engine/runners/fixture';

/** Events of tasks that need runners, in any order; numbers choose their objects. */
type Step =
  | { do: 'pass' | 'sweep' | 'claim' }
  | { do: 'grant' | 'succeed' | 'fail' | 'lose' | 'interrupt' | 'cancel' | 'pause' | 'resume' | 'retry'; at: number };

const pick = fc.nat({ max: 50 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom<Step>({ do: 'pass' }, { do: 'sweep' }, { do: 'claim' }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('grant' as const), at: pick }) },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'succeed' as const,
        'fail' as const,
        'lose' as const,
        'interrupt' as const,
        'cancel' as const,
        'pause' as const,
        'resume' as const,
        'retry' as const,
      ),
      at: pick,
    }),
  },
);

interface Shape {
  ruled: boolean;
  parent: boolean;
  retried: boolean;
  spot: boolean;
  count: number;
}

const shape: fc.Arbitrary<Shape> = fc.record({
  ruled: fc.boolean(),
  parent: fc.boolean(),
  retried: fc.boolean(),
  spot: fc.boolean(),
  count: fc.integer({ min: 1, max: 2 }),
});

const LIMIT = 2;
const TERMINAL = ['succeeded', 'failed', 'timed_out', 'partially_failed', 'canceled', 'disabled'];

/** One story on its own kind. */
class Story {
  readonly #bench: RunnerBench;
  readonly #kind = `story-${newId()}`;
  readonly #held: TestRunner[] = [];
  readonly #claims = new Map<string, ClaimedTask & { runner: TestRunner }>();
  readonly #attempts = new Set<string>();
  ids: string[] = [];

  constructor(bench: RunnerBench) {
    this.#bench = bench;
  }

  async submit(shapes: readonly Shape[]): Promise<void> {
    const { tasks } = await submitTasks(
      this.#bench.engine,
      shapes.map((one, index) => this.#task(one, index)),
    );
    this.ids = tasks.map(({ id }) => id);
  }

  #task({ ruled, parent, retried, spot, count }: Shape, index: number): NewTask {
    const plain = needy().requirements!;
    return needy({
      kind: this.#kind,
      requirements: { ...plain, count, usage_class: spot ? 'spot' : 'on-demand' },
      rules: ruled ? [{ type: 'concurrency', matcher: { kind: this.#kind, fields: [] }, max: LIMIT }] : [],
      retry: retried ? { max_attempts: 2, base_ms: 0, factor: 1, max_ms: 0, jitter: 0 } : null,
      dependencies: parent && index > 0 ? [{ index: index - 1, requires_success: false }] : [],
    });
  }

  async run(one: Step): Promise<void> {
    const { engine } = this.#bench;
    switch (one.do) {
      case 'pass':
        return pass(this.#bench);
      case 'sweep':
        await engine.sweep();
        return releaseOver(this.#bench);
      case 'claim':
        return this.#claimAll();
      case 'grant':
        return this.#grant(one.at);
      case 'succeed':
      case 'fail':
        return this.#report(one.at, one.do === 'succeed');
      case 'lose':
      case 'interrupt':
        return this.#lose(one.at, one.do === 'lose');
      case 'cancel':
      case 'pause':
      case 'resume':
      case 'retry':
        await engine[one.do]([this.ids[one.at % this.ids.length]!]);
    }
  }

  async #waiting(): Promise<string[]> {
    const rows = await this.#bench.rows<{ task_id: string }>(
      'select task_id from runner_request where state = 0 and task_id = any($1::uuid[]) order by rank, id',
      [this.ids],
    );
    return rows.map(({ task_id }) => task_id);
  }

  async #grant(at: number): Promise<void> {
    const waiting = await this.#waiting();
    if (waiting.length > 0) this.#held.push(...(await grant(this.#bench, waiting[at % waiting.length]!)));
  }

  /** Confirms runners that were released and granted to tasks of this story. */
  async #meetHandedOver(): Promise<void> {
    const handed = await this.#bench.rows<TestRunner & { epoch: number }>(
      `select r.id, r.number, r.epoch from runner r join runner_request q on q.id = r.request_id
        where q.task_id = any($1::uuid[]) and r.state = 2 order by r.number`,
      [this.ids],
    );
    for (const { id, number, epoch } of handed) {
      assert.ok(await this.#bench.store.confirm(id, epoch));
      if (!this.#held.some((runner) => runner.id === id)) this.#held.push({ id, number });
    }
  }

  async #claimAll(): Promise<void> {
    await this.#meetHandedOver();
    for (const runner of this.#held) {
      for (const task of await claimAt(this.#bench.engine, runner)) {
        const attempt = `${task.id} ${task.attempt}`;
        assert.ok(!this.#attempts.has(attempt), `${attempt} was claimed twice`);
        this.#attempts.add(attempt);
        this.#claims.set(task.id, { ...task, runner });
      }
    }
    const [row] = await this.#bench.rows<{ n: number }>(
      `select count(*) as n from task where id = any($1::uuid[]) and state = 3 and rule_slots is not null`,
      [this.ids],
    );
    const [all] = await this.#bench.rows<{ n: number }>(
      `select count(*) as n from task where id = any($1::uuid[]) and state = 3`,
      [this.ids],
    );
    // Tasks without a rule may exceed the limit; those with one never do.
    assert.ok(row!.n <= LIMIT || all!.n > row!.n, `${row!.n} of ${all!.n} run`);
  }

  async #report(at: number, succeeds: boolean): Promise<void> {
    const claims = [...this.#claims.values()];
    const claim = claims[at % claims.length];
    if (claim === undefined) return;
    this.#claims.delete(claim.id);
    await this.#bench.engine.report([
      { task_id: claim.id, attempt: claim.attempt, outcome: succeeds ? 'succeeded' : 'failed' },
    ]);
    await this.#bench.store.release(claim.runner.id, null);
  }

  async #lose(at: number, wholly: boolean): Promise<void> {
    const runner = this.#held[at % Math.max(1, this.#held.length)];
    if (runner === undefined) return;
    if (wholly) await this.#bench.store.terminate([runner.id], 'lost');
    else await this.#bench.store.drain([runner.id], 'interrupted');
    // Its agent makes no more calls.
    for (const [id, claim] of this.#claims) if (claim.runner.id === runner.id) this.#claims.delete(id);
  }

  /** Lets everything continue until all tasks have ended. */
  async finish(): Promise<void> {
    const { engine, store } = this.#bench;
    await engine.resume(this.ids);
    for (let round = 0; round < 40; round += 1) {
      await engine.sweep();
      await pass(this.#bench);
      await releaseOver(this.#bench);
      await pass(this.#bench);
      for (const id of await this.#waiting()) this.#held.push(...(await grant(this.#bench, id)));
      await this.#claimAll();
      for (const claim of [...this.#claims.values()]) await this.#report(0, claim.attempt > 0);
      const states = await this.states();
      if (states.every((state) => TERMINAL.includes(state))) break;
    }
    await store.sweep(1_000, []);
    // The next pass removes hints of tasks that have ended.
    await pass(this.#bench);
    for (const [index, state] of (await this.states()).entries()) {
      const explanation = await engine.explain(this.ids[index]!);
      assert.ok(TERMINAL.includes(state), `task ${index} is ${state}: ${explanation?.summary}`);
    }
    const left = await this.#bench.rows(
      `select r.lane, r.task_id from ready r where r.task_id = any($1::uuid[])
        union all select b.lane, b.task_id from blocked b where b.task_id = any($1::uuid[]) and b.lane < -1
        union all select 0, q.task_id from runner_request q where q.task_id = any($1::uuid[]) and q.state < 2`,
      [this.ids],
    );
    assert.deepEqual(left, []);
    const [used] = await this.#bench.rows<{ n: number }>(
      `select coalesce(sum(s.used), 0)::integer as n from slot s join shape h on h.id = s.shape_id
        join kind k on k.id = h.kind_id where k.name = $1`,
      [this.#kind],
    );
    assert.equal(used!.n, 0);
  }

  async states(): Promise<string[]> {
    return Promise.all(this.ids.map(async (id) => (await this.#bench.engine.getTask(id))!.state));
  }
}

let bench: RunnerBench;
before(async () => {
  bench = await newRunnerBench();
});
after(() => bench.engine.close());

test('whatever happens to tasks that need runners, each attempt runs once and all tasks end', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(shape, { minLength: 1, maxLength: 5 }),
      fc.array(step, { maxLength: 30 }),
      async (shapes, steps) => {
        const story = new Story(bench);
        await story.submit(shapes);
        for (const one of steps) await story.run(one);
        await story.finish();
      },
    ),
    { numRuns: 25 },
  );
});

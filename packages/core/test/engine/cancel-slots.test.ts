import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { Action } from '@heddle/base/vocabulary/task';
import type { Engine } from '../../src/engine/port.ts';
import { newBench, newTask, submitTasks } from '@heddle/test-support/engine/fixture';

const RULES = [{ type: 'concurrency' as const, matcher: { kind: 'work', fields: [] }, max: 1 }];

function action(trigger: Action['trigger'], path: string = trigger): Action {
  return { trigger, params: { url: `http://127.0.0.1:9/${path}`, verb: 'Post' } };
}

/** The one delivery that is due, as it is answered. */
async function answer(engine: Engine, trigger: string, outcome: 'delivered' | 'dead', status = 200): Promise<void> {
  const request = { holder: 'test', limit: 1, limit_per_origin: 1, saturated_origins: [], lease_ms: 1_000 };
  const [delivery] = await engine.claimDeliveries(request);
  assert.equal(delivery?.trigger, trigger);
  const result = { id: delivery.id, tries: delivery.tries, status };
  await engine.settleDeliveries([
    outcome === 'delivered' ? { ...result, outcome } : { ...result, outcome, error: `HTTP ${status}` },
  ]);
}

/** A started task, canceled, in the only slot; and one that waits for it. */
async function canceledHolder(engine: Engine, cancelActions: Action[]): Promise<{ holder: string; waiting: string }> {
  const { tasks } = await submitTasks(engine, [
    newTask({ name: 'holder', rules: RULES, actions: [action('start'), ...cancelActions] }),
    newTask({ name: 'waiting', rules: RULES, actions: [action('start')] }),
  ]);
  const [holder, waiting] = tasks.map(({ id }) => id) as [string, string];
  await engine.claimForDelivery('test', 1);
  await answer(engine, 'start', 'delivered');
  assert.equal((await engine.getTask(holder))?.state, 'running');
  await engine.cancel([holder]);
  return { holder, waiting };
}

async function isReady(engine: Engine): Promise<boolean> {
  return (await engine.claimForDelivery('test', 1)) === 1;
}

describe('the slot of a canceled webhook task', () => {
  it('is free as soon as its target confirms the cancel action', async () => {
    const { engine } = await newBench();
    const { holder } = await canceledHolder(engine, [action('cancel')]);
    assert.equal(await isReady(engine), false);
    await answer(engine, 'cancel', 'delivered');
    assert.equal(await isReady(engine), true);
    assert.equal((await engine.getTask(holder))?.state, 'canceled');
    assert.deepEqual((await engine.releaseCanceled([holder]))[0]?.result, 'unchanged');
  });

  it('stays taken where the cancel action was abandoned, or one of several is not confirmed', async () => {
    const { engine } = await newBench();
    await canceledHolder(engine, [action('cancel')]);
    await answer(engine, 'cancel', 'dead', 404);
    assert.equal(await isReady(engine), false);

    const { engine: other } = await newBench();
    await canceledHolder(other, [action('cancel', 'one'), action('cancel', 'two')]);
    await answer(other, 'cancel', 'delivered');
    assert.equal(await isReady(other), false);
    await answer(other, 'cancel', 'delivered');
    assert.equal(await isReady(other), true);
  });

  it('is named to those that wait, with the command that releases it', async () => {
    const { engine } = await newBench();
    const { holder, waiting } = await canceledHolder(engine, []);
    assert.equal(await isReady(engine), false);
    const { summary, obstacles } = (await engine.explain(waiting))!;
    assert.match(
      summary,
      new RegExp(`One of them, "holder", is canceled.*"heddle task release ${holder}" frees its slot`),
    );
    assert.ok(obstacles[0]?.type === 'rule');
    assert.deepEqual(obstacles[0].holders, [{ id: holder, name: 'holder', state: 'canceled' }]);

    const results = async (id: string) => (await engine.releaseCanceled([id]))[0]!.result;
    assert.equal(await results(waiting), 'conflict');
    assert.equal(await results('00000000-0000-7000-8000-000000000000'), 'not_found');
    assert.equal(await results(holder), 'applied');
    assert.equal(await results(holder), 'unchanged');
    assert.equal(await isReady(engine), true);
  });
});

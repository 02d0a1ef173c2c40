import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Bench } from '@heddle/test-support/engine/manager/fixture';
import { patience } from '@heddle/test-support/patience';
import { hasEnded } from './manager-verdict.ts';
import type { ManagerWorld } from './manager-world.ts';

const DRIVE_MS = 60_000;

/** Lets the world work until it has come to completion (true), or until the manager is dead (false). */
export async function drive(
  { database, queue }: Pick<Bench, 'database' | 'queue'>,
  world: ManagerWorld,
  isDead: () => boolean = () => false,
): Promise<boolean> {
  const deadline = performance.now() + DRIVE_MS * patience();
  while (!isDead()) {
    if (await hasEnded(database, queue, world)) return true;
    assert.ok(performance.now() < deadline, 'the workflows do not come to their end');
    // fixed wait: the pace of workers that found nothing to do
    if ((await world.work(queue)) === 0) await sleep(5);
  }
  return false;
}

/** Behavior at the deadline: the task's process and descendants are killed before the outcome is reported. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import type { Tier } from '../../src/protocol/messages.ts';
import { type Clock, systemClock } from '@heddle/base/clock';
import { eventually } from '@heddle/test-support/eventually';
import { AttackCode, run, tryTier } from '../support/execution/fixture.ts';
import { tasksOf } from '@heddle/test-support/executor/execution/traces';

/** Unique durations, so that these timers can be identified. */
const TIMEOUT_MS = 86_399_001;
const GRACE_MS = 86_399_002;
/** Unique memory size, so that its processes can be identified by their arguments. */
const MEMORY_MB = 91;

/** A clock whose deadline and grace timers fire on command; everything else is unchanged. */
class HeldClock {
  readonly #held = new Map<number, () => void>();
  readonly clock: Clock = {
    ...systemClock,
    after: (ms, onTime) => {
      if (ms !== TIMEOUT_MS && ms !== GRACE_MS) return systemClock.after(ms, onTime);
      this.#held.set(ms, onTime);
      return () => this.#held.delete(ms);
    },
  };

  isHeld(ms: number): boolean {
    return this.#held.has(ms);
  }

  pass(ms: number): void {
    const onTime = this.#held.get(ms);
    this.#held.delete(ms);
    onTime?.();
  }
}

for (const name of ['pooled', 'process', 'jail'] as const) {
  for (const event of ['time.endless-loop', 'time.ignores-signals']) {
    test(`${name}, ${event}: aborted at the deadline, killed after the grace, nothing left when it is reported`, (t) =>
      check(t, name, event));
  }
}

async function check(t: { skip(message: string): void }, name: Tier, event: string): Promise<void> {
  const held = new HeldClock();
  const tier = await tryTier(name, { workers: 1, graceMs: GRACE_MS, clock: held.clock });
  if (typeof tier === 'string') {
    t.skip(`NOT RUN, the tier ${name} is not available here: ${tier}`);
    return;
  }
  await using code = await AttackCode.make();
  try {
    const running = run(tier, code.module('time'), event, { timeout_ms: TIMEOUT_MS, memory_mb: MEMORY_MB });
    await eventually(() => held.isHeld(TIMEOUT_MS), 'the start of the task');
    const tree = tasksOf(process.pid).filter(isOfTask);
    assert.ok(tree.length > 0 && tree.every(isRunning), 'the task has a process');
    held.pass(TIMEOUT_MS);
    assert.ok(held.isHeld(GRACE_MS), 'the grace begins at the deadline');
    assert.ok(tree.every(isRunning), 'nothing is killed before the grace has ended');
    held.pass(GRACE_MS);
    const outcome = await running;
    // Checked immediately: failures are reported only after all processes are gone.
    assert.deepEqual(tree.filter(isRunning), []);
    assert.equal(outcome.status === 'error' && outcome.code, 'TASK_TIMEOUT');
  } finally {
    await tier.close();
  }
}

function isOfTask(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`--max-old-space-size=${MEMORY_MB}`);
  } catch {
    return false;
  }
}

/** Returns whether a process is running; zombies are not. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

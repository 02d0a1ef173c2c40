import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { TaskQueue } from '../../src/dispatch/task-queue.ts';
import type { ClaimedTask } from '@heddle/core/engine/port';

test('keeps the order, even if tasks are removed out of order', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ push: fc.integer({ min: 0, max: 4 }) }),
      fc.constant({ shift: true }),
      fc.record({ remove: fc.nat(20) }),
    ),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(steps, (taken) => {
      const queue = new TaskQueue();
      const model: ClaimedTask[] = [];
      const made: ClaimedTask[] = [];
      for (const step of taken) {
        if ('push' in step) {
          const set = Array.from({ length: step.push }, (_, n) => ({ id: `${made.length + n}` }) as ClaimedTask);
          made.push(...set);
          model.push(...set);
          queue.push(set);
        } else if ('shift' in step) {
          assert.equal(queue.shift(), model.shift());
        } else {
          const task = made[step.remove];
          if (task === undefined) continue;
          const at = model.indexOf(task);
          assert.equal(queue.remove(task), at >= 0);
          if (at >= 0) model.splice(at, 1);
        }
        assert.equal(queue.size, model.length);
        assert.deepEqual([...queue], model);
      }
    }),
  );
});

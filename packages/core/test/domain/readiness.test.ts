import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countOpenGates, gateOf, restingState } from '@heddle/test-support/model';
import { isTerminal, TASK_STATES } from '@heddle/base/vocabulary/task-state';

test('a gate is open until its parent ends, and only a required success can break it', () => {
  for (const state of TASK_STATES) {
    assert.equal(gateOf(state, false), isTerminal(state) ? 'closed' : 'open', state);
  }
  const required = (gate: string): string[] => TASK_STATES.filter((state) => gateOf(state, true) === gate);
  assert.deepEqual(required('open'), ['waiting', 'pending', 'claimed', 'running', 'expanding', 'paused']);
  assert.deepEqual(required('closed'), ['succeeded', 'disabled']);
  assert.deepEqual(required('broken'), ['failed', 'timed_out', 'partially_failed', 'canceled']);
});

test('open gates are the parents that have not ended', () => {
  assert.equal(countOpenGates([]), 0);
  assert.equal(countOpenGates(['running', 'failed', 'paused', 'succeeded', 'waiting']), 3);
  assert.equal(restingState(0), 'pending');
  assert.equal(restingState(2), 'waiting');
});

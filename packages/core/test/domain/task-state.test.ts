import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BATCH_WIRE_STATE,
  BATCH_WIRE_STATES,
  isTerminal,
  satisfiesRequiredSuccess,
  statesOfBatchWire,
  TASK_STATE_CODE,
  TASK_STATES,
  taskStateOf,
  TERMINAL_STATES,
} from '@heddle/base/vocabulary/task-state';

test('codes are distinct, read back, and put terminal states at 10 and above', () => {
  assert.equal(new Set(Object.values(TASK_STATE_CODE)).size, TASK_STATES.length);
  for (const state of TASK_STATES) {
    assert.equal(taskStateOf(TASK_STATE_CODE[state]), state);
    assert.equal(isTerminal(state), (TERMINAL_STATES as readonly string[]).includes(state), state);
  }
  assert.throws(() => taskStateOf(6), /unknown task state code 6/);
});

test('the wire map and its inverse are total and disjoint', () => {
  const covered = BATCH_WIRE_STATES.flatMap(statesOfBatchWire);
  assert.deepEqual([...covered].sort(), [...TASK_STATES].sort());
  for (const wire of BATCH_WIRE_STATES) {
    for (const state of statesOfBatchWire(wire)) assert.equal(BATCH_WIRE_STATE[state], wire);
  }
  const eight = ['Canceled', 'Claimed', 'Failure', 'Paused', 'Pending', 'Running', 'Success', 'Waiting'];
  assert.deepEqual([...BATCH_WIRE_STATES].sort(), eight);
});

test('a wire state never mixes ended tasks with open ones', () => {
  for (const wire of BATCH_WIRE_STATES) assert.equal(new Set(statesOfBatchWire(wire).map(isTerminal)).size, 1, wire);
});

test('only success and disabled satisfy a child that requires success', () => {
  assert.deepEqual(TERMINAL_STATES.filter(satisfiesRequiredSuccess), ['succeeded', 'disabled']);
});

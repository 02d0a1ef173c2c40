import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeddleError } from '../src/errors.ts';
import { abortErrorOf, detailedMessageOf, errorOf, messageOf } from '../src/thrown.ts';

test('anything thrown has a message', () => {
  assert.equal(messageOf(new Error('no paper')), 'no paper');
  assert.equal(messageOf(new TypeError('')), 'TypeError');
  assert.equal(messageOf('no ink'), 'no ink');
  assert.equal(messageOf(undefined), 'undefined');
});

test('the failures of several addresses are one message', () => {
  const attempts = [new Error('connect ECONNREFUSED ::1:1'), new Error('connect ECONNREFUSED 127.0.0.1:1')];
  const text = 'connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1';
  assert.equal(messageOf(new AggregateError(attempts)), text);
  assert.equal(messageOf(new AggregateError(attempts, 'all failed')), 'all failed');
});

test('the details of an error follow its message where they are asked for', () => {
  const error = new HeddleError('CONFLICT', 'it is running', { details: ['state: Running'] });
  assert.equal(messageOf(error), 'it is running');
  assert.equal(detailedMessageOf(error), 'it is running; state: Running');
  assert.equal(detailedMessageOf(new Error('plain')), 'plain');
});

test('whatever is thrown or given as a reason becomes an error, and an error stays the same', () => {
  const error = new Error('no paper');
  assert.equal(errorOf(error), error);
  assert.equal(errorOf(7).message, '7');
  assert.equal(abortErrorOf(AbortSignal.abort(error)), error);
  assert.equal(abortErrorOf(AbortSignal.abort('stop')).cause, 'stop');
});

import assert from 'node:assert/strict';
import { afterEach } from 'node:test';
import { live } from '../../../src/graph/live.ts';

/** Checks that every test of the file leaves no context, reference or buffer behind. */
export function checkLeaks(): void {
  afterEach(() => assert.deepEqual({ ...live }, { contexts: 0, references: 0, buffers: 0 }));
}

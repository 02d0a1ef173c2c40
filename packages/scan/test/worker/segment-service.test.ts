import assert from 'node:assert/strict';
import { test } from 'node:test';

import { divisionMemory } from '../../src/worker/division.ts';
import type { WorkerInit } from '../../src/worker/protocol.ts';
import { SegmentService } from '../../src/worker/segment-service.ts';

test('a thread looks whether it can close once it has ended a scan ahead, which may outlast the object', async () => {
  const ready = Promise.withResolvers<boolean>();
  const service: SegmentService = new SegmentService({ threads: 2, chunkBytes: 4096 } as WorkerInit, {
    detector: {} as never,
    pool: {} as never,
    openers: {} as never,
    mark: () => undefined,
    post: () => undefined,
    isAborted: () => true,
    hasObjects: () => false,
    onReady: () => ready.resolve(service.isBusy),
  });
  const memory = divisionMemory(1e6, 65_536);
  const object = { index: 0, source: 0, path: 'a', locator: 'a', commit: undefined, size: 1e6, version: '1' };
  service.scanAhead({ ...object, segmentBytes: 65_536, aheadMax: 4, memory });
  assert.ok(service.isBusy);
  assert.equal(await ready.promise, false);
});

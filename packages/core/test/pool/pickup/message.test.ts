import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import fc from 'fast-check';

import { USAGE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import type { RunnerMessage } from '../../../src/domain/runner/runner.ts';
import { readRunnerMessage, writeRunnerMessage } from '../../../src/pool/pickup/message.ts';
import { MALFORMED, UNUSABLE } from '../../support/pool/pickup/bad-messages.ts';

const TEXT = fc.string({ minLength: 1, maxLength: 64, unit: 'grapheme-ascii' });

const MESSAGES: fc.Arbitrary<RunnerMessage> = fc.record(
  {
    id: fc.uuid(),
    resource_class: TEXT,
    instance_type: TEXT,
    cpu: fc.integer({ min: 1, max: 4_096 }),
    memory_mib: fc.integer({ min: 1, max: 67_108_864 }),
    usage_class: fc.constantFrom(...USAGE_CLASSES),
    threshold: fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) }),
  },
  { noNullPrototype: true },
);

describe('the message of an idle runner', () => {
  test('is written with the member names of the pool', () => {
    const message: RunnerMessage = {
      id: '018bcfe5-6800-7000-8000-000000000001',
      resource_class: 'large',
      instance_type: 'm7i.large',
      cpu: 2,
      memory_mib: 4_096,
      usage_class: 'on-demand',
      threshold: 1_700_000_000_000,
    };
    assert.deepEqual(JSON.parse(writeRunnerMessage(message)), {
      id: '018bcfe5-6800-7000-8000-000000000001',
      resourceClass: 'large',
      instanceType: 'm7i.large',
      cpu: 2,
      mmem: 4_096,
      usageClass: 'on-demand',
      threshold: '2023-11-14T22:13:20.000Z',
    });
  });

  test('reads what was written', () => {
    fc.assert(
      fc.property(MESSAGES, (message) => {
        assert.deepEqual(readRunnerMessage(writeRunnerMessage(message)), { message });
      }),
    );
  });

  test('may contain an upper-case id and a time with an offset', () => {
    const body =
      '{"id":"018BCFE5-6800-7000-8000-00000000000A","resourceClass":"large","instanceType":"m7i.large","cpu":2,' +
      '"mmem":4096,"usageClass":"spot","threshold":"2023-11-14T23:13:20+01:00"}';
    const read = readRunnerMessage(body);
    assert.ok('message' in read);
    assert.equal(read.message.id, '018bcfe5-6800-7000-8000-00000000000a');
    assert.equal(read.message.threshold, 1_700_000_000_000);
  });

  test('may contain an EC2 instance, flat or in an envelope, and is written in the same form', () => {
    const id = 'i-0123456789abcdef0';
    const rest = { resourceClass: 'large', instanceType: 'm7i.large', cpu: 2, mmem: 4_096, usageClass: 'spot' };
    const nameless = { ...rest, threshold: '2023-11-14T22:13:20.000Z' };
    const payload = { id, ...nameless };
    for (const body of [payload, { instance_id: id, payload }].map((each) => JSON.stringify(each))) {
      const read = readRunnerMessage(body);
      assert.ok('message' in read, JSON.stringify(read));
      assert.deepEqual([read.message.id, read.message.threshold], [id, 1_700_000_000_000]);
      assert.equal(writeRunnerMessage(read.message), body);
    }
    assert.ok('message' in readRunnerMessage(JSON.stringify({ instance_id: id, payload: nameless })));
    const faults = [
      { instance_id: 'i-0123456789abcdef1', payload },
      { instance_id: id, payload: 1 },
      { payload },
      { instance_id: 'i-x', payload: nameless },
    ];
    for (const fault of faults) assert.ok('fault' in readRunnerMessage(JSON.stringify(fault)), JSON.stringify(fault));
  });

  test('of a runner that never expires has a time that can be written', () => {
    const [message] = fc.sample(MESSAGES, { numRuns: 1, seed: 1 });
    const read = readRunnerMessage(writeRunnerMessage({ ...message!, threshold: Number.POSITIVE_INFINITY }));
    assert.ok('message' in read && read.message.threshold > Date.UTC(9998));
  });

  for (const { name, body, fault } of MALFORMED) {
    test(`is refused: ${name}`, () => {
      const read = readRunnerMessage(body);
      assert.ok('fault' in read, 'it was read');
      assert.ok(read.fault.includes(fault), read.fault);
      assert.ok(read.fault.length <= 2_000, 'the fault is short');
    });
  }

  for (const { name, body } of UNUSABLE) {
    test(`is well formed: ${name}`, () => assert.ok('message' in readRunnerMessage(body)));
  }

  test('never throws, whatever the input', () => {
    const bodies = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.json(),
      fc.tuple(MESSAGES, fc.nat(), fc.string({ maxLength: 3 })).map(([message, at, text]) => {
        const body = writeRunnerMessage(message);
        return body.slice(0, at % body.length) + text + body.slice((at % body.length) + 1);
      }),
    );
    fc.assert(
      fc.property(bodies, (body) => {
        const read = readRunnerMessage(body);
        assert.ok('fault' in read ? read.fault.length > 0 : read.message.cpu >= 1);
      }),
    );
  });
});

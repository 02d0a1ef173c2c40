import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { parseSqsAddress, sqsDeadNameOf, sqsNameOf } from '../../src/queue/sqs-address.ts';

const address = parseSqsAddress('sqs://eu-central-1/123456789012/heddle');

test('reads the parts of an address', () => {
  assert.deepEqual(
    parseSqsAddress('sqs://us-east-1/000000000000/p_1?endpoint=http%3A%2F%2F127.0.0.1%3A4566&fifo=1&create=1'),
    {
      region: 'us-east-1',
      account: '000000000000',
      prefix: 'p_1',
      endpoint: 'http://127.0.0.1:4566',
      fifo: true,
      create: true,
    },
  );
  assert.deepEqual([address.endpoint, address.fifo, address.create], [null, false, false]);
});

for (const [what, text, message] of [
  ['another scheme', 'https://sqs.us-east-1.amazonaws.com/1/q', /sqs:\/\//],
  ['no account', 'sqs://us-east-1/heddle', /account/],
  ['no prefix', 'sqs://us-east-1/000000000000', /prefix/],
  ['a prefix with a dot', 'sqs://us-east-1/000000000000/a.b', /prefix/],
  ['an unknown option', 'sqs://us-east-1/000000000000/a?fife=1', /"fife"/],
  ['a flag that is none', 'sqs://us-east-1/000000000000/a?fifo=yes', /fifo=yes/],
  ['an endpoint that is none', 'sqs://us-east-1/000000000000/a?endpoint=localhost', /endpoint/],
] as const) {
  test(`refuses ${what}, and says so`, () => assert.throws(() => parseSqsAddress(text), { message }));
}

test('names queues as people expect', () => {
  assert.equal(sqsNameOf(address, 'manager'), 'heddle-manager');
  assert.equal(sqsNameOf(address, 'worker:TcpSyn'), 'heddle-worker-TcpSyn');
  assert.equal(sqsNameOf({ ...address, fifo: true }, 'worker:a-b'), 'heddle-worker-a_2db.fifo');
  assert.equal(sqsDeadNameOf(address), 'heddle-dead');
});

test('gives each queue a legal name of its own', () => {
  const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 120 });
  fc.assert(
    fc.property(name, name, fc.boolean(), (one, other, fifo) => {
      fc.pre(one !== other && one.isWellFormed() && other.isWellFormed());
      const names = [one, other].map((queue) => sqsNameOf({ ...address, fifo }, queue));
      assert.notEqual(names[0], names[1]);
      for (const sqsName of names) {
        assert.match(sqsName, fifo ? /^[A-Za-z0-9_-]{1,75}\.fifo$/ : /^[A-Za-z0-9_-]{1,80}$/);
        assert.notEqual(sqsName, sqsDeadNameOf({ ...address, fifo }));
      }
    }),
  );
});

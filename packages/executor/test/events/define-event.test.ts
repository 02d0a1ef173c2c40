import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { z } from 'zod';

import { defineEvent, eventsOf, isEventDefinition } from '@heddle/kit/event';
import { TIERS } from '../../src/protocol/messages.ts';

test('an event has the given values, and defaults', () => {
  const args = z.object({ threshold: z.coerce.number() });
  const run = ({ threshold }: { threshold: number }): number => threshold * 2;
  const event = defineEvent({
    name: 'Double',
    args,
    run,
    timeout_secs: 5,
    memory_mb: 64,
    tier: 'jail',
    idempotent: true,
  });
  assert.ok(isEventDefinition(event));
  assert.ok(Object.isFrozen(event));
  assert.equal((event as unknown as Record<symbol, unknown>)[Symbol.for('heddle.event')], true);
  const { name, schema, timeout_secs, memory_mb, tier, idempotent } = event;
  assert.deepEqual(
    { name, schema, timeout_secs, memory_mb, tier, idempotent },
    { name: 'Double', schema: args, timeout_secs: 5, memory_mb: 64, tier: 'jail', idempotent: true },
  );
  const plain = defineEvent({ name: 'Plain', run: () => null });
  assert.deepEqual(
    [plain.schema, plain.timeout_secs, plain.memory_mb, plain.tier, plain.idempotent],
    [null, null, null, null, false],
  );
});

test('accepts any Standard Schema', () => {
  const standard: StandardSchemaV1<{ x: string }, { x: number }> = {
    '~standard': { version: 1, vendor: 'test', validate: () => ({ value: { x: 1 } }) },
  };
  const event = defineEvent({ name: 'E', args: standard, run: (args) => args.x + 1 });
  assert.equal(event.schema, standard);
});

test('accepts every tier of the protocol', () => {
  for (const tier of TIERS) assert.equal(defineEvent({ name: 'E', tier, run: () => 1 }).tier, tier);
});

const REFUSED: readonly [object, RegExp][] = [
  [{ name: '' }, /name must have 1 to 200/],
  [{ name: 'a b' }, /name must have/],
  [{ name: 'Еvent' }, /name must have/],
  [{ name: 'x\n' }, /name must have/],
  [{ name: 'x'.repeat(201) }, /name must have/],
  [{ name: 7 }, /name must have/],
  [{ run: 'no' }, /run must be a function/],
  [{ args: { type: 'object' } }, /args must be a Standard Schema/],
  [{ args: null }, /args must be a Standard Schema/],
  [{ timeout_secs: 0 }, /timeout_secs must be a whole number between 1 and 86400/],
  [{ timeout_secs: 1.5 }, /timeout_secs must be/],
  [{ memory_mb: 8 }, /memory_mb must be a whole number between 16 and 65536/],
  [{ tier: 'vm' }, /tier must be one of pooled, process, jail, container/],
  [{ idempotent: 'yes' }, /idempotent must be true or false/],
];

for (const [option, refused] of REFUSED) {
  test(`rejects ${JSON.stringify(option).slice(0, 60)}`, () => {
    const options = { name: 'E', run: () => 1, ...option };
    assert.throws(
      () => defineEvent(options as Parameters<typeof defineEvent>[0]),
      (error: unknown) => {
        assert.ok(error instanceof TypeError);
        assert.match(error.message, refused);
        return true;
      },
    );
  });
}

test('finds the events of a module: default and named exports, single and in arrays, each once', () => {
  const a = defineEvent({ name: 'a', run: () => 1 });
  const b = defineEvent({ name: 'b', run: () => 1 });
  const found = eventsOf({ default: [a, b], a, other: { name: 'x' }, nothing: null, text: 'b' });
  assert.deepEqual(found, [a, b]);
  const second = defineEvent({ name: 'a', run: () => 2 });
  assert.throws(() => eventsOf({ a, second }), /defines the event a twice/);
});

test('imports only types from outside the folder, because it is loaded next to untrusted code', () => {
  const folder = join(import.meta.dirname, '../../../kit/src/event');
  for (const file of readdirSync(folder)) {
    const imports = readFileSync(join(folder, file), 'utf8').matchAll(
      /^(import|export) (?!type)[^;]* from '([^']+)'/gm,
    );
    for (const [statement, , specifier] of imports) assert.match(specifier!, /^\.\/[^/]+$/, `${file}: ${statement}`);
  }
});

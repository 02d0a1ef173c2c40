import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { HeddleError } from '@heddle/base/errors';
import { Faults } from '@heddle/base/parse/faults';
import { Members } from '@heddle/base/parse/members';
import { encodeDemand, parseDemand, readRequirements } from '../../../src/domain/runner/parse-requirements.ts';
import type { Demand } from '@heddle/base/vocabulary/requirements';
import { DEFAULT_RESOURCE_CLASSES, USAGE_CLASSES } from '@heddle/base/vocabulary/resource-class';

const CLASSES = DEFAULT_RESOURCE_CLASSES;

function faultsOf(value: unknown, classes: typeof CLASSES | null = CLASSES): readonly string[] {
  try {
    parseDemand(value, classes);
  } catch (error) {
    assert.ok(error instanceof HeddleError, String(error));
    assert.equal(error.code, 'VALIDATION_FAILED');
    return error.details;
  }
  return assert.fail('it was accepted');
}

test('only the class is required; what is left out takes its default', () => {
  assert.deepEqual(parseDemand({ resource_class: 'large' }, CLASSES), {
    resource_class: 'large',
    usage_class: 'on-demand',
    allowed_instance_types: [],
    cpu: null,
    memory_mib: null,
    count: 1,
  });
});

test('patterns are kept in one form, whatever their case, order and repetition', () => {
  const demand = parseDemand(
    { resource_class: 'large', allowed_instance_types: ['M7i.*', 'c5.large', 'm7I.*'] },
    CLASSES,
  );
  assert.deepEqual(demand.allowed_instance_types, ['c5.large', 'm7i.*']);
});

for (const [memory, mib] of [
  ['4GiB', 4_096],
  ['4 gib', 4_096],
  ['4Gi', 4_096],
  ['1.5GiB', 1_536],
  ['512MiB', 512],
  ['1TiB', 1_048_576],
  ['4GB', 3_815],
  ['0.1MiB', 1],
  [4_096, 4_096],
  [null, null],
] as const) {
  test(`memory with its unit is kept in whole MiB, upwards: ${memory}`, () => {
    assert.equal(parseDemand({ resource_class: 'large', memory }, CLASSES).memory_mib, mib);
  });
}

const REFUSED: readonly { value: unknown; fault: RegExp }[] = [
  { value: null, fault: /^requirements: must be an object with at least resource_class, not null$/ },
  { value: [], fault: /^requirements: must be an object .* not an array$/ },
  { value: {}, fault: /^requirements\.resource_class: is required$/ },
  {
    value: { resource_class: 'gigantic' },
    fault: /^requirements\.resource_class: .*"gigantic"; known classes: large, xlarge, 2xl, 4xl, 8xl, 12xl, 16xl$/,
  },
  { value: { resource_class: 'xlrage' }, fault: /known classes: large, .*; did you mean "xlarge"\?$/ },
  { value: { resource_class: 7 }, fault: /resource_class: must be a string, not 7$/ },
  { value: { resource_class: 'large', usage_class: 'Spot' }, fault: /usage_class: .*did you mean "spot"\?$/ },
  { value: { resource_class: 'large', cpus: 2 }, fault: /cpus: is not a known member; did you mean "cpu"\?$/ },
  { value: { resource_class: 'large', cpu: 3 }, fault: /cpu: must be at most 2, not 3: .*name a larger class$/ },
  { value: { resource_class: 'large', cpu: 0 }, fault: /cpu: must be between 1 and 4096, not 0$/ },
  { value: { resource_class: 'large', cpu: 1.5 }, fault: /cpu: must be a whole number, not 1.5$/ },
  { value: { resource_class: 'large', memory_mib: '4' }, fault: /memory_mib: must be a number.*leave out the quotes$/ },
  {
    value: { resource_class: 'large', memory: '4' },
    fault:
      /memory: must be an amount such as "4GiB" or "4096MiB", or a whole number of MiB, not "4"; units are MiB, GiB/,
  },
  {
    value: { resource_class: 'large', memory: '4 lots' },
    fault: /memory: must be an amount .* not "4 lots"; units are/,
  },
  { value: { resource_class: 'large', memory: '-4GiB' }, fault: /memory: must be an amount .* not "-4GiB"/ },
  { value: { resource_class: 'large', memory: '0MiB' }, fault: /memory: must be between 1MiB and 64TiB, not "0MiB"$/ },
  { value: { resource_class: 'large', memory: '65TiB' }, fault: /memory: must be between 1MiB and 64TiB/ },
  { value: { resource_class: 'large', memory: 0 }, fault: /memory: must be between 1 and 67108864, not 0$/ },
  { value: { resource_class: 'large', memory: 1.5 }, fault: /memory: must be an amount .* not 1.5$/ },
  { value: { resource_class: 'large', memory: true }, fault: /memory: must be an amount .* not true$/ },
  {
    value: { resource_class: 'large', memory: '4GiB', memory_mib: 4096 },
    fault: /memory: must not be combined with memory_mib; remove one of the two$/,
  },
  { value: { resource_class: 'large', count: 0 }, fault: /count: must be between 1 and 1000, not 0$/ },
  { value: { resource_class: 'large', count: 1001 }, fault: /count: must be between 1 and 1000, not 1001$/ },
  {
    value: { resource_class: 'large', allowed_instance_types: 'm7i.*' },
    fault: /allowed_instance_types: must be an array of at most 50 patterns, not "m7i\.\*"$/,
  },
  {
    value: { resource_class: 'large', allowed_instance_types: Array.from({ length: 51 }, (_, at) => `m${at}`) },
    fault: /allowed_instance_types: must be an array of at most 50 patterns, not an array of 51$/,
  },
  { value: { resource_class: 'large', allowed_instance_types: ['m7i.*', ''] }, fault: /allowed_instance_types\[1\]: / },
  { value: { resource_class: 'large', allowed_instance_types: ['a b'] }, fault: /\[0\]: must be a pattern .*"a b"$/ },
  { value: { resource_class: 'large', allowed_instance_types: ['a'.repeat(65)] }, fault: /\[0\]: must be a pattern/ },
  { value: { resource_class: 'large', allowed_instance_types: [null] }, fault: /\[0\]: .*not null$/ },
  { value: { resource_class: 'large', allowed_instance_types: ['a\0'] }, fault: /\[0\]: must be a pattern/ },
];

for (const { value, fault } of REFUSED) {
  test(`refused with one fault that names the field: ${JSON.stringify(value).slice(0, 80)}`, () => {
    const faults = faultsOf(value);
    assert.equal(faults.length, 1, faults.join('\n'));
    assert.match(faults[0]!, fault);
  });
}

test('every fault is named in one answer', () => {
  const faults = faultsOf({
    resource_class: 'no such one',
    usage_class: 1,
    cpu: -1,
    count: 'x',
    allowed_instance_types: [1],
  });
  assert.equal(faults.length, 5, faults.join('\n'));
});

test('where the classes are not known, any name is taken', () => {
  assert.equal(parseDemand({ resource_class: 'gigantic', cpu: 3 }, null).resource_class, 'gigantic');
});

test('of a task: absent is null, and faults name the place in the task', () => {
  const faults = new Faults();
  const task = (value: object): Members => new Members({ ...value }, { above: null, step: 'tasks' }, faults);
  assert.equal(readRequirements(task({}), CLASSES), null);
  assert.equal(readRequirements(task({ requirements: null }), CLASSES), null);
  assert.deepEqual(faults.list, []);
  readRequirements(task({ requirements: 'large' }), CLASSES);
  readRequirements(task({ requirements: { resource_class: 'large', count: 0 } }), CLASSES);
  assert.deepEqual(faults.list, [
    'tasks.requirements: must be an object, not "large"',
    'tasks.requirements.count: must be between 1 and 1000, not 0',
  ]);
});

const demands: fc.Arbitrary<Demand> = fc.record(
  {
    resource_class: fc.constantFrom(...CLASSES.map(({ name }) => name)),
    usage_class: fc.constantFrom(...USAGE_CLASSES),
    allowed_instance_types: fc
      .uniqueArray(fc.stringMatching(/^[a-z0-9.*_-]{1,64}$/), { maxLength: 50 })
      .map((patterns) => patterns.sort()),
    cpu: fc.option(fc.integer({ min: 1, max: 2 })),
    memory_mib: fc.option(fc.integer({ min: 1, max: 67_108_864 })),
    count: fc.integer({ min: 1, max: 1_000 }),
  },
  { noNullPrototype: true },
);

test('what is written out is read as the same', () => {
  fc.assert(
    fc.property(demands, (demand) => {
      assert.deepEqual(parseDemand(JSON.parse(JSON.stringify(encodeDemand(demand))), CLASSES), demand);
    }),
  );
});

test('no value makes it throw anything but a list of faults, and none is accepted out of bounds', () => {
  const members = fc.constantFrom(
    'resource_class',
    'usage_class',
    'allowed_instance_types',
    'cpu',
    'memory_mib',
    'memory',
    'count',
    '__proto__',
    'x',
  );
  const values = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('large', 'spot', 1, 'm7i.*', '4GiB'));
  fc.assert(
    fc.property(fc.oneof(fc.dictionary(members, values), fc.anything()), (value) => {
      try {
        const demand = parseDemand(value, CLASSES);
        assert.ok(demand.count >= 1 && demand.count <= 1_000);
        assert.ok(CLASSES.some(({ name }) => name === demand.resource_class));
        assert.ok(demand.allowed_instance_types.length <= 50);
      } catch (error) {
        assert.ok(error instanceof HeddleError, String(error));
        assert.ok(error.details.length > 0);
      }
    }),
  );
});

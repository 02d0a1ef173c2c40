import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkLeaks } from '../support/graph/no-leaks.ts';
import type { MadeUpObject } from '../support/worker/made-up-objects.ts';
import { type Outcome, type Scenario, simulate } from '../support/worker/simulation.ts';

/** HEDDLE_PROPERTY_RUNS multiplies the effort; HEDDLE_PROPERTY_SEED replays a printed failure. */
const SEED = process.env['HEDDLE_PROPERTY_SEED'];
const parameters = {
  numRuns: Number(process.env['HEDDLE_PROPERTY_RUNS'] ?? 150),
  ...(SEED === undefined ? {} : { seed: Number(SEED) }),
};

checkLeaks();

function scenario(policies: Scenario['policy'][], abort: boolean): fc.Arbitrary<Scenario> {
  return fc.record({
    seed: fc.integer({ min: 1, max: 2 ** 31 }),
    objects: fc.integer({ min: 0, max: 40 }),
    scanners: fc.integer({ min: 1, max: 4 }),
    spare_permits: fc.constantFrom(0, 0, 1, 3, 20),
    buffers: fc.constantFrom(1, 1, 2, 8),
    depth: fc.integer({ min: 0, max: 3 }),
    policy: fc.constantFrom(...policies),
    abort_after: abort ? fc.integer({ min: 0, max: 600 }) : fc.constant(-1),
  });
}

/** Asserts that each object was scanned once, completely, or is reported, or is inside one that is. */
function checkConserved({ tree, ended, scanned, problems }: Outcome): void {
  const named = new Set(problems.map(({ path }) => path));
  const check = (object: MadeUpObject, path: string): void => {
    if (named.has(path)) return;
    if (object.entries === null || object.size === 0) {
      assert.ok(ended.has(path), `${path} was neither scanned nor named`);
      assert.equal(scanned.get(path), object.size);
      return;
    }
    assert.ok(!ended.has(path), `${path} is an archive, its bytes are not scanned`);
    for (const entry of object.entries) check(entry, `${path}!${entry.name}`);
  };
  for (const object of tree) check(object, object.name);
}

test('scans or reports every object once, returns permits once, respects the frontier, never waits forever', () =>
  fc.assert(
    fc.asyncProperty(scenario(['partial', 'skip'], false), async (given) => {
      const outcome = await simulate(given);
      assert.equal(outcome.completed.length, given.objects);
      assert.equal(new Set(outcome.completed).size, given.objects);
      assert.ok(outcome.peak <= outcome.capacity);
      checkConserved(outcome);
    }),
    parameters,
  ));

test('object ids are unique and independent of the number of threads', () =>
  fc.assert(
    fc.asyncProperty(scenario(['partial', 'skip'], false), async (given) => {
      const { ids } = await simulate(given);
      assert.equal(new Set(ids.values()).size, ids.size);
      const alone = await simulate({ ...given, scanners: 1 });
      assert.deepEqual(new Map([...ids].sort()), new Map([...alone.ids].sort()));
    }),
    { ...parameters, numRuns: Math.ceil(parameters.numRuns / 3) },
  ));

test('an abort at any time leaves no permit, reference, buffer or reader behind', () =>
  fc.assert(
    fc.asyncProperty(scenario(['partial', 'skip', 'fail-run'], true), async (given) => {
      const outcome = await simulate(given);
      assert.ok(outcome.peak <= outcome.capacity);
    }),
    parameters,
  ));

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import type { ReportedFinding } from '../../src/report/report.ts';
import { secretsInPlaces, SecretCount } from '../../src/report/secret-count.ts';
import { type SecretGroup, SecretGroups } from '../../src/report/secret-groups.ts';
import { finding } from '../support/report/fixture.ts';

function grouped(findings: readonly ReportedFinding[]): SecretGroup[] {
  const groups = new SecretGroups();
  for (const each of findings) groups.add(each);
  const found: SecretGroup[] = [];
  groups.drain((group) => found.push(group));
  return found;
}

const idOf = (number: number): string => String(number).padStart(32, '0');
const placeOf = ({ path, line }: { path: string; line: number }): string => `${path}:${line}`;

test('every place is in exactly one entry, that of its secret, whose lead is the first of the surest', () => {
  const any = fc.record({
    secret: fc.option(fc.nat(5)),
    confidence: fc.constantFrom('low' as const, 'medium' as const, 'high' as const),
  });
  fc.assert(
    fc.property(fc.array(any, { maxLength: 40 }), (given) => {
      const findings = given.map(({ secret, confidence }, line) =>
        finding({ line, confidence, secret_id: secret === null ? null : idOf(secret) }),
      );
      const groups = grouped(findings);
      const places = groups.flatMap(({ lead, others }) => [lead, ...others].map(placeOf));
      assert.deepEqual(places.toSorted(), findings.map(placeOf).toSorted());
      for (const { lead, count, others } of groups) {
        assert.equal(count, 1 + others.length);
        if (lead.secret_id === null) assert.equal(count, 1);
        const own = findings.filter(({ secret_id }) => lead.secret_id !== null && secret_id === lead.secret_id);
        const surest = ['high', 'medium', 'low'].find((level) => own.some(({ confidence }) => confidence === level));
        if (own.length > 0)
          assert.deepEqual(
            lead,
            own.find(({ confidence }) => confidence === surest),
          );
      }
      const leads = groups.map(({ lead }) => lead.line);
      assert.deepEqual(
        leads,
        leads.toSorted((left, right) => left - right),
      );
    }),
  );
});

test('the memory is bounded: of many places the first 20 are kept, and of many secrets the first are united', () => {
  const [one] = grouped(Array.from({ length: 500 }, (_, line) => finding({ line, secret_id: idOf(1) })));
  assert.deepEqual([one!.count, one!.others.length, one!.others[19]!.line], [500, 20, 20]);
  const many = Array.from({ length: 12_000 }, (_, number) => finding({ line: number, secret_id: idOf(number) }));
  const groups = grouped([...many, ...many]);
  assert.equal(groups.length, 10_000 + 2 * 2000);
  assert.equal(
    groups.reduce((sum, { count }) => sum + count, 0),
    24_000,
  );
});

test('secrets are counted once, up to a bound that the text names', () => {
  const count = new SecretCount();
  const ids = Array.from({ length: 100_500 }, (_, number) => number.toString(16).padStart(12, '0').padEnd(32, 'f'));
  for (const id of [...ids.slice(0, 3), ...ids.slice(0, 3)]) count.add(id);
  assert.equal(count.value, 3);
  assert.equal(secretsInPlaces({ secrets: 3, reported: 6 }), '3 secrets in 6 places');
  assert.equal(secretsInPlaces({ secrets: 1, reported: 1 }, 'new secret'), '1 new secret');
  for (const id of ids) count.add(id);
  assert.equal(count.value, 100_000);
  assert.equal(
    secretsInPlaces({ secrets: count.value, reported: 200_000 }),
    'at least 100,000 secrets in 200,000 places',
  );
});

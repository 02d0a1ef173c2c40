import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { StateJournal } from '../../src/coordinator/state-journal.ts';
import { emptyMetrics, METRIC_COUNT } from '../../src/graph/metrics.ts';
import type { Finding } from '../../src/result.ts';
import { optionsFor, temporaryFolder } from '../support/scan-fixture.ts';

const finding = (secret: string): Finding => ({ secret }) as Finding;
const metrics = new Float64Array(METRIC_COUNT).fill(1);
const options = optionsFor('/tree');

function boundary(end: number): Parameters<StateJournal['boundary']>[0] {
  const discovered = { ...emptyMetrics(), objects_discovered: 2 };
  return { end, source: 0, cursor: { type: 'offset', offset: end }, metrics: discovered };
}

/** Objects 0 to 4; 0, 1 and 3 are done, the first two of them before a boundary. */
function writeState(t: TestContext): string {
  const path = join(temporaryFolder(t), 'state');
  const journal = StateJournal.open(path, options);
  journal.boundary(boundary(2));
  journal.boundary(boundary(4));
  journal.part(1, [finding('b')], []);
  journal.completed(1, 'one', metrics);
  journal.part(3, [finding('d')], []);
  journal.part(3, [finding('e')], []);
  journal.completed(3, 'three', metrics);
  journal.part(2, [finding('lost')], []);
  journal.part(0, [finding('a')], []);
  journal.completed(0, 'zero', metrics);
  journal.advanced(2);
  journal.close();
  return path;
}

const secrets = (parts: Iterable<{ findings: readonly Finding[] }>): string[] =>
  [...parts].flatMap(({ findings }) => findings.map(({ secret }) => secret));

test('results before the last boundary are replayed in order; later ones are known', (t) => {
  const path = writeState(t);
  const journal = StateJournal.open(path, options);
  const { position, next_index, metrics: before } = journal.checkpoint;
  assert.deepEqual(position, { source: 0, cursor: { type: 'offset', offset: 2 } });
  assert.equal(next_index, 2);
  assert.equal(before.objects_completed, 2);
  assert.equal(before.objects_discovered, 4, 'from the boundary and both objects');
  assert.deepEqual(secrets(journal.replay()), ['a', 'b']);
  assert.equal(journal.known(2, 'two'), null);
  assert.deepEqual(secrets([journal.known(3, 'three')!]), ['d', 'e']);
  journal.close();
});

test('an object with a different path than before is not known', (t) => {
  const journal = StateJournal.open(writeState(t), options);
  assert.equal(journal.known(3, 'another'), null);
  journal.close();
});

test('parts left behind by a killed run or a lost thread do not count', (t) => {
  const path = writeState(t);
  const second = StateJournal.open(path, options);
  second.part(2, [finding('c')], []);
  second.restart(2);
  second.part(2, [finding('c')], []);
  second.completed(2, 'two', metrics);
  second.close();
  const third = StateJournal.open(path, options);
  assert.deepEqual(secrets([third.known(2, 'two')!]), ['c']);
  third.close();
});

test('an incomplete line is truncated, wherever it was cut', (t) => {
  const path = writeState(t);
  const whole = readFileSync(path);
  const header = whole.indexOf('\n') + 1;
  for (let size = whole.length; size > header; size -= 3) {
    truncateSync(path, size);
    appendFileSync(path, size % 2 === 0 ? '' : '{"i":9,"f":[');
    const journal = StateJournal.open(path, options);
    assert.ok(journal.checkpoint.next_index === 0 || journal.checkpoint.next_index === 2);
    journal.close();
    assert.match(readFileSync(path, 'utf8'), /"run":\d+\}\n$/);
    truncateSync(path, header);
    appendFileSync(path, whole.subarray(header));
  }
});

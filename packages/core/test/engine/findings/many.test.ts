/** Many findings: pages that cost the same wherever they stand. HEDDLE_TEST_FINDINGS says how many; 30,000 by default. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import type { FindingFilter } from '../../../src/domain/finding.ts';
import { systemClock } from '@heddle/base/clock';
import { newId } from '@heddle/base/random';
import type { Database, Statement } from '../../../src/store/database.ts';
import { listFindings } from '../../../src/store/finding-reads.ts';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { findingsOf, reported, runOf } from '@heddle/test-support/engine/findings/reported';

const COUNT = Number(process.env['HEDDLE_TEST_FINDINGS'] ?? 30_000);

const FILL_ROWS = 20_000;

const FILL: Statement = {
  name: 'test.fill',
  text: `insert into recon.findings (id, target_id, fingerprint, rule_id, description, tags, path, redacted, place, occurrences,
      state, first_run, last_run, runs, first_seen, last_seen)
    select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, t.id, decode('e' || lpad(to_hex(n), 31, '0'), 'hex'),
      'rule-' || n % 100, 'd', '[]', 'src/' || n % 1000 || '/file-' || n, 'x***', '{"line": 1}', 1, 'new', 1, 1, 1, now(), now()
    from generate_series($1::integer, $2::integer) n, recon.scan_target t where t.name = $3`,
};

describe(`${COUNT} findings`, () => {
  let database: Database;

  before(async () => {
    ({ database } = await createTestDatabase());
    await runOf(findingsOf(database), 'large', []);
    await runOf(findingsOf(database), 'small', [reported(1), reported(2)]);
    for (let from = 1; from <= COUNT; from += FILL_ROWS) {
      await database.query(FILL, [from, Math.min(COUNT, from + FILL_ROWS - 1), 'large']);
    }
    await database.query({ name: 'test.analyze', text: 'analyze recon.findings' });
  });

  /** The nodes of the plan of a listing, as the server runs it. */
  async function planOf(filter: FindingFilter, after: string | null): Promise<string> {
    let plan = '';
    const explaining = {
      query: async <Row>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> => {
        const rows = await database.query<Record<string, unknown>>(
          { name: `explain.${statement.name}`, text: `explain ${statement.text}` },
          values,
        );
        plan = rows.map((row) => String(row['QUERY PLAN'])).join('\n');
        return [];
      },
    };
    await listFindings(explaining, filter, after, 50);
    return plan;
  }

  it('are listed by index, whatever is asked for', async () => {
    const middle = `01900000-0000-7000-8000-${Math.floor(COUNT / 2)
      .toString(16)
      .padStart(12, '0')}`;
    const filters: FindingFilter[] = [
      {},
      { target: 'large' },
      { target: 'small' },
      { states: ['gone'] },
      { rule_id: 'rule-7' },
      { target: 'large', states: ['new'], triage: 'open' },
      { target: 'large', path_prefix: 'src/77/' },
    ];
    for (const filter of filters) {
      for (const after of [null, middle]) {
        const plan = await planOf(filter, after);
        assert.match(plan, /Index/, `${JSON.stringify(filter)}\n${plan}`);
        assert.doesNotMatch(plan, /Seq Scan on findings/, `${JSON.stringify(filter)}\n${plan}`);
      }
    }
  });

  it('are read to the end, each once', async () => {
    const findings = findingsOf(database);
    let after: string | null = null;
    let read = 0;
    let slowest = 0;
    for (;;) {
      const begun = systemClock.monotonic();
      const page = await findings.list({ target: 'large' }, { after, limit: 1000 });
      slowest = Math.max(slowest, systemClock.monotonic() - begun);
      for (const { id } of page) {
        assert.ok(after === null || id < after);
        after = id;
      }
      read += page.length;
      if (page.length < 1000) break;
    }
    assert.equal(read, COUNT);
    console.log(`the slowest of ${Math.ceil(COUNT / 1000)} pages of 1,000 took ${slowest.toFixed(0)} ms`);
  });

  it('are gone in steps, when a run finds none of them', async () => {
    const begun = systemClock.monotonic();
    const run = await runOf(findingsOf(database), 'large', [reported(1)], { id: newId() });
    assert.deepEqual([run.new, run.gone], [1, COUNT]);
    console.log(`${COUNT} findings were gone after ${(systemClock.monotonic() - begun).toFixed(0)} ms`);
  });
});

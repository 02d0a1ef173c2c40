/** Many models: merged, changed, gone in steps, and found by index. HEDDLE_TEST_MODELS says how many; 20,000 by default. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import type { ModelFilter } from '../../../src/domain/model-record.ts';
import { systemClock } from '@heddle/base/clock';
import { newId } from '@heddle/base/random';
import type { Database, Statement } from '../../../src/store/database.ts';
import { listModels } from '../../../src/store/model-reads.ts';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { modelsOf, runOf } from '@heddle/test-support/engine/models/seen';

const COUNT = Number(process.env['HEDDLE_TEST_MODELS'] ?? 20_000);
const PAGE = 1000;

/** A page of services, as scans report them. */
function services(from: number, banner: string) {
  return Array.from({ length: PAGE }, (_, index) => {
    const number = from + index;
    const ip = `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
    const data = { ip, port: 443, protocol: 'tcp', host: ip, names: [ip], banner: number % 10 === 0 ? banner : 'same' };
    return { model: 'service', key: `${ip}:443/tcp`, data };
  });
}

describe(`${COUNT} models`, () => {
  let database: Database;

  before(async () => {
    ({ database } = await createTestDatabase());
    await runOf(modelsOf(database), 'small', services(0, 'x').slice(0, 10), { covers: ['service'] });
  });

  async function timed(what: string, work: () => Promise<void>): Promise<void> {
    const begun = systemClock.monotonic();
    await work();
    console.log(`${COUNT} models: ${what} took ${(systemClock.monotonic() - begun).toFixed(0)} ms`);
  }

  async function runOfAll(banner: string) {
    const models = modelsOf(database);
    const id = newId();
    await models.beginRun(id, 'large');
    for (let from = 0; from < COUNT; from += PAGE) await models.merge(id, services(from, banner));
    return models.finishRun(id, { complete: true, covers: ['service'] });
  }

  it('are new, then partly changed, then gone in steps', async () => {
    await timed('a first run', async () => {
      assert.equal((await runOfAll('one')).new, COUNT);
    });
    await timed('a run that changes a tenth', async () => {
      const run = await runOfAll('two');
      assert.deepEqual([run.changed, run.known], [COUNT / 10, COUNT - COUNT / 10]);
    });
    await timed('reading them to the end', async () => {
      let read = 0;
      for (let after: string | null = null; ;) {
        const page = await modelsOf(database).list({ target: 'large', model: 'service' }, { after, limit: PAGE });
        read += page.length;
        if (page.length < PAGE) break;
        after = page.at(-1)!.id;
      }
      assert.equal(read, COUNT);
    });
    await timed('a run that finds none', async () => {
      assert.equal((await runOf(modelsOf(database), 'large', [], { covers: ['service'] })).gone, COUNT);
    });
  });

  it('are listed by index, whatever is asked for', async () => {
    await database.query({ name: 'test.analyze', text: 'analyze recon.models' });
    const filters: ModelFilter[] = [
      {},
      { target: 'large' },
      { target: 'small' },
      { target: 'small', model: 'service' },
      { states: ['new'] },
      { model: 'nothing' },
      { target: 'large', key_prefix: '10.0.7.' },
      { changed_since: Date.now() + 1000 },
      { target: 'large', search: 'one' },
    ];
    for (const filter of filters) {
      for (const after of [null, newId()]) {
        const plan = await planOf(filter, after);
        assert.match(plan, /Index/, `${JSON.stringify(filter)}\n${plan}`);
        assert.doesNotMatch(plan, /Seq Scan on models/, `${JSON.stringify(filter)}\n${plan}`);
      }
    }
  });

  /** The nodes of the plan of a listing, as the server runs it. */
  async function planOf(filter: ModelFilter, after: string | null): Promise<string> {
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
    await listModels(explaining, filter, after, 50);
    return plan;
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Statement } from '@heddle/core/store/database';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { HeddleProcess } from '@heddle/test-support/app/heddle-process';

const statement = (name: string, text: string): Statement => ({ name: `test.${name}`, text });

const FILL = statement(
  'fill',
  `insert into ready select 1, 0, gen_random_uuid(), null from generate_series(1, 100000)`,
);
const EMPTY = statement('empty', 'delete from ready where lane = 1');
const VACUUM = statement('vacuum', 'vacuum (analyze) ready');
const SIZE = statement('size', `select pg_indexes_size('ready') as bytes`);

test('a server gives back the index space that a long transaction has left behind', async (t) => {
  const made = await createTestDatabase();
  const { url, database } = made;
  t.after(() => made.drop());
  for (const each of [FILL, EMPTY, VACUUM]) await database.query(each);
  const bytes = async (): Promise<number> => (await database.query<{ bytes: number }>(SIZE))[0]!.bytes;
  assert.ok((await bytes()) > 4_000_000);
  const server = new HeddleProcess(['server', '--json'], {
    DATABASE_URL: url,
    PORT: '0',
    HEDDLE_DATA_DIR: '/nonexistent/heddle',
  });
  try {
    await server.ready();
    await eventually(async () => (await bytes()) < 100_000, 'the index to be small again');
  } finally {
    assert.equal(await server.end('SIGTERM'), 0, server.stderr);
  }
});

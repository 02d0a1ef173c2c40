import type { Database, Queryable, Statement } from '../../../src/store/database.ts';

interface Plan {
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
}

/** Calls a read with a database that explains each of its statements; returns the pages that all of them touched. */
export async function blocksRead(
  database: Database,
  read: (queryable: Queryable) => Promise<unknown>,
): Promise<number> {
  let blocks = 0;
  const explaining: Queryable = {
    async query<Row>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
      const text = `explain (analyze, buffers, timing off, summary off, format json) ${statement.text}`;
      const explained = { name: `explain.${statement.name}`, text };
      const [row] = await database.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(explained, values);
      const { Plan: plan } = row!['QUERY PLAN'][0];
      blocks += plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
      return database.query<Row>(statement, values);
    },
  };
  await read(explaining);
  return blocks;
}

import type { Database, Queryable, Statement } from '../../../src/store/database.ts';

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: Plan[];
}

type Read = (queryable: Queryable) => Promise<unknown>;

/** Calls a read with a database that explains each of its statements; returns their plans. */
async function plansOf(database: Database, read: Read): Promise<Plan[]> {
  const plans: Plan[] = [];
  const explaining: Queryable = {
    async query<Row>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
      const text = `explain (analyze, buffers, timing off, summary off, format json) ${statement.text}`;
      const explained = { name: `explain.${statement.name}`, text };
      const [row] = await database.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(explained, values);
      plans.push(row!['QUERY PLAN'][0].Plan);
      return database.query<Row>(statement, values);
    },
  };
  await read(explaining);
  return plans;
}

/** Returns the pages that all statements of a read touched. */
export async function blocksRead(database: Database, read: Read): Promise<number> {
  const plans = await plansOf(database, read);
  return plans.reduce((sum, plan) => sum + plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], 0);
}

/** Returns the rows that all statements of a read took from these tables, rather than from their indexes alone. */
export async function rowsRead(database: Database, tables: readonly string[], read: Read): Promise<number> {
  let rows = 0;
  const visit = (plan: Plan): void => {
    const isOfTable = tables.includes(plan['Relation Name'] ?? '') && plan['Node Type'] !== 'Index Only Scan';
    if (isOfTable) rows += plan['Actual Rows'] * plan['Actual Loops'];
    plan.Plans?.forEach(visit);
  };
  (await plansOf(database, read)).forEach(visit);
  return rows;
}

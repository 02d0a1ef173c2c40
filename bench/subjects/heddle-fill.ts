import pg from 'pg';

/** Where finished tasks are: among those of runs that ended within the last hour, or where retention has moved them. */
export type FilledPlace = 'live' | 'archive';

const TABLES: Readonly<Record<FilledPlace, readonly [workflows: string, tasks: string]>> = {
  live: ['workflow', 'task'],
  archive: ['archive_workflow', 'archive_task'],
};

/** Time between two copies, within which the first tasks ran. */
const STEP_MS = 1000;
const COPIES_PER_STATEMENT = 100;

/** The time in a UUIDv7, moved back by `n` steps; all other digits stay. */
const movedId = (column: string): string => `(
    select left(h.hex, 8) || '-' || right(h.hex, 4) || substr(t.${column}::text, 14) from (
      select lpad(to_hex(('x0000' || left(t.${column}::text, 8) || substr(t.${column}::text, 10, 4))::bit(64)::bigint
        - ${STEP_MS} * n), 12, '0') as hex) h)::uuid`;

const MOVED: Readonly<Record<string, (column: string) => string>> = {
  uuid: movedId,
  timestamptz: (column) => `t.${column} - ${STEP_MS} * n * interval '1 millisecond'`,
};

/** Copies all rows of a table as if they had been stored earlier, `from` to `to` steps ago. */
async function copyStatement(client: pg.Client, table: string): Promise<string> {
  const { rows } = await client.query<{ name: string; type: string }>(
    `select attname as name, atttypid::regtype::text as type from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [`heddle.${table}`],
  );
  const types: Readonly<Record<string, string>> = { uuid: 'uuid', 'timestamp with time zone': 'timestamptz' };
  const columns = rows.map(({ name }) => `"${name}"`);
  const values = rows.map(({ name, type }) => (MOVED[types[type] ?? ''] ?? ((column) => `t.${column}`))(`"${name}"`));
  return `insert into heddle.${table} (${columns.join(', ')})
    select ${values.join(', ')} from generate_series($1::bigint, $2::bigint, -1) n
    cross join lateral (select * from first_${table} f where n is not null order by f.id offset 0) t`;
}

/**
 * How full the pages of a table are, per cent. A task grows between its submission and its end, and the pages of copies
 * must have no more room for new tasks than those of the first ones: else these would go there, all over the table.
 */
async function filledPercent(client: pg.Client, table: string): Promise<number> {
  const { rows } = await client.query<{ percent: number }>(
    `select ceil(100.0 * sum(pg_column_size(t) + 4) / (8192 * count(distinct (t.ctid::text::point)[0])))::int as percent
      from heddle.${table} t`,
  );
  return Math.min(100, Math.max(10, rows[0]!.percent));
}

/** Fills a table and vacuums it once, as autovacuum would have done bit by bit before the measurement. */
async function fillTable(client: pg.Client, table: string, percent: number, fill: () => Promise<void>): Promise<void> {
  const { rows } = await client.query<{ options: string[] | null }>(
    `select reloptions as options from pg_class where oid = $1::regclass`,
    [`heddle.${table}`],
  );
  const usual = /fillfactor=(\d+)/.exec(rows[0]!.options?.join(' ') ?? '')?.[1] ?? '100';
  await client.query(`alter table heddle.${table} set (fillfactor = ${percent}, autovacuum_enabled = off)`);
  await fill();
  await client.query(`vacuum (analyze) heddle.${table}`);
  await client.query(`alter table heddle.${table} set (fillfactor = ${usual})`);
  await client.query(`alter table heddle.${table} reset (autovacuum_enabled)`);
}

/**
 * Makes `total` tasks of those that have just run, one after the other: each copy is what the engine, or its retention,
 * left of them, with other ids and times. The oldest are stored first, as they would have been.
 */
export async function copyFinished(url: string, place: FilledPlace, total: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    if (place === 'archive') await client.query(`select heddle.archive_workflows(now(), 1000000, null)`);
    const [workflows, tasks] = TABLES[place];
    const first = await client.query<{ n: string }>(`select count(*) as n from heddle.${tasks}`);
    const copies = Math.ceil(total / Number(first.rows[0]!.n));
    for (const table of [workflows, tasks]) {
      await client.query(`create temporary table first_${table} as select * from heddle.${table}`);
      const percent = await filledPercent(client, table);
      await client.query(`delete from heddle.${table}`);
      const copy = await copyStatement(client, table);
      await fillTable(client, table, percent, async () => {
        for (let n = copies - 1; n >= 0; n -= COPIES_PER_STATEMENT) {
          await client.query(copy, [n, Math.max(0, n - COPIES_PER_STATEMENT + 1)]);
        }
      });
    }
  } finally {
    await client.end();
  }
}

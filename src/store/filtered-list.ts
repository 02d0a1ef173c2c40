import type { Queryable, Statement } from './database.ts';

export interface FilteredListTables<Condition extends string> {
  /** Of the statements. */
  name: string;
  /** The table and what its rows are called: `recon.models m`. */
  table: string;
  alias: string;
  columns: string;
  /** The table of targets, which are called `t`. */
  targets: string;
  /** What each filter adds, so that what is not asked for does not keep an index from being used. */
  conditions: Readonly<Record<Condition, (parameter: string) => string>>;
}

/** Rows of targets by any of some filters, newest first: as many statements as there are sets of filters in use. */
export class FilteredList<Condition extends string> {
  readonly #tables: FilteredListTables<Condition>;
  readonly #statements = new Map<string, Statement>();

  constructor(tables: FilteredListTables<Condition>) {
    this.#tables = tables;
  }

  /** @param given what is undefined or null filters nothing */
  read<Row extends object>(
    queryable: Queryable,
    given: Readonly<Record<Condition, unknown>>,
    limit: number,
  ): Promise<Row[]> {
    const present = (Object.keys(this.#tables.conditions) as Condition[]).filter(
      (each) => (given[each] ?? null) !== null,
    );
    return queryable.query<Row>(this.#statementOf(present), [limit, ...present.map((each) => given[each])]);
  }

  #statementOf(present: readonly Condition[]): Statement {
    const { name, table, alias, columns, targets, conditions } = this.#tables;
    const key = [name, ...present].join('.');
    const known = this.#statements.get(key);
    if (known !== undefined) return known;
    const where = present.map((each, index) => conditions[each](`$${index + 2}`)).join(' and ');
    const text = `select ${columns} from (
        select * from ${table} ${alias} ${where === '' ? '' : `where ${where}`} order by ${alias}.id desc limit $1) ${alias}
      join ${targets} t on t.id = ${alias}.target_id order by ${alias}.id desc`;
    const statement = { name: key, text };
    this.#statements.set(key, statement);
    return statement;
  }
}

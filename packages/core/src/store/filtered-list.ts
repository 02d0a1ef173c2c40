import type { Queryable, Statement } from './database.ts';

export interface FilteredListTables<Condition extends string> {
  /** Name prefix of the statements. */
  name: string;
  /** Table and alias of the rows: `recon.models m`. */
  table: string;
  alias: string;
  columns: string;
  /** Table of targets, with the alias `t`. */
  targets: string;
  /** Condition of each filter, added only if used, so that absent filters do not prevent the use of an index. */
  conditions: Readonly<Record<Condition, (parameter: string) => string>>;
}

/** Lists rows of targets by any combination of filters, newest first: one statement per combination in use. */
export class FilteredList<Condition extends string> {
  readonly #tables: FilteredListTables<Condition>;
  readonly #statements = new Map<string, Statement>();

  constructor(tables: FilteredListTables<Condition>) {
    this.#tables = tables;
  }

  /** @param given undefined or null filters nothing */
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

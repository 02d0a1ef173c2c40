import type { Rule } from '@heddle/base/vocabulary/task';
import type { Queryable, Statement } from './database.ts';

const ADD_KINDS: Statement = {
  name: 'kinds.add',
  text: `insert into kind (name) select unnest($1::text[]) on conflict (name) do nothing`,
};

const FIND_KINDS: Statement = {
  name: 'kinds.find',
  text: `select id, name from kind where name = any($1::text[])`,
};

const NAME_KINDS: Statement = {
  name: 'kinds.name',
  text: `select id, name from kind where id = any($1::integer[])`,
};

const FIND_KIND: Statement = { name: 'kinds.find_one', text: `select id from kind where name = $1` };

const FIND_KINDS_LIKE: Statement = {
  name: 'kinds.find_like',
  text: `select id, name from kind where position(lower($1) in lower(name)) > 0`,
};

/** Beside the requested kinds the latest thousand, one of which may have been meant. */
const FIND_TAKEN: Statement = {
  name: 'kinds.find_taken',
  text: `select name, name = any($1::text[]) as asked from kind
    where taken and (name = any($1::text[]) or id in (select id from kind where taken order by id desc limit 1000))`,
};

const REGISTER_SHAPE: Statement = {
  name: 'kinds.register_shape',
  text: `select register_shape($1, $2::smallint, $3::text[]) as id`,
};

const REGISTER_DEDUPE_SHAPE: Statement = {
  name: 'kinds.register_dedupe_shape',
  text: `select register_dedupe_shape($1, $2::text[]) as id`,
};

const ADD_RULE_SETS: Statement = {
  name: 'kinds.rule_sets',
  text: `select rule_sets_of($1::jsonb, $2) as ids`,
};

/** Lists of rules that tasks share; a task with any other stores its own. */
const RULE_SETS_MAX = 10_000;

/** A rule as its shape and its limit. */
export type RuleLimit = [shape: number, max: number];

/** A list of rules with its number; null: it has none, since there are too many. */
export interface RuleSet {
  id: number | null;
  limits: RuleLimit[];
}

/** A list of rules whose number is looked up. `text`: the list as a key. */
export interface RuleList {
  text: string;
  list: readonly Rule[];
  limits: RuleLimit[];
}

interface KindRow {
  id: number;
  name: string;
}

/** Returns the id of a kind; null if no task ever had it. */
export async function findKind(queryable: Queryable, name: string): Promise<number | null> {
  return (await queryable.query<{ id: number }>(FIND_KIND, [name]))[0]?.id ?? null;
}

/** Which of the kinds a worker has ever asked for, and other kinds that workers asked for. */
export async function findTakenKinds(
  queryable: Queryable,
  kinds: readonly string[],
): Promise<{ taken: Set<string>; names: string[] }> {
  const rows = await queryable.query<{ name: string; asked: boolean }>(FIND_TAKEN, [kinds]);
  return { taken: new Set(rows.flatMap((row) => (row.asked ? [row.name] : []))), names: rows.map((row) => row.name) };
}

/**
 * Maps kinds, rule shapes and lists of rules to the small numbers that tables and locks use. None are ever removed, so
 * cached entries stay valid; the caches are bounded and cleared when full.
 */
export class Kinds {
  static readonly cacheMax = 10_000;
  readonly #database: Queryable;
  readonly #ids = new Map<string, number>();
  readonly #names = new Map<number, string>();
  readonly #shapes = new Map<string, number>();
  readonly #rules = new Map<string, RuleSet>();
  #outer: Kinds | undefined;

  constructor(database: Queryable) {
    this.#database = database;
  }

  /** Returns a view for a transaction: what it adds is known here only once it is adopted. */
  on(tx: Queryable): Kinds {
    const inner = new Kinds(tx);
    inner.#outer = this;
    return inner;
  }

  /** Adopts what the view of a committed transaction has learned. */
  adopt(inner: Kinds): void {
    const rows = [...inner.#ids].filter(([name]) => !this.#ids.has(name)).map(([name, id]) => ({ id, name }));
    if (this.#ids.size + rows.length <= Kinds.cacheMax) this.#learn(rows, []);
  }

  /** Returns the id of each kind, in the order of the names; adds unknown ones. */
  async ids(names: readonly string[]): Promise<number[]> {
    for (const name of names) this.#inherit(this.#outer === undefined ? undefined : this.#outer.#ids.get(name), name);
    const missing = [...new Set(names)].filter((name) => !this.#ids.has(name));
    if (missing.length > 0) {
      await this.#database.query(ADD_KINDS, [missing]);
      this.#learn(await this.#database.query<KindRow>(FIND_KINDS, [missing]), names);
    }
    return names.map((name) => this.#ids.get(name)!);
  }

  /** Returns the name of each id; unknown ids are absent. */
  async names(ids: readonly number[]): Promise<Map<number, string>> {
    for (const id of ids) this.#inherit(id, this.#outer?.knownName(id));
    const missing = [...new Set(ids)].filter((id) => !this.#names.has(id));
    if (missing.length > 0) this.#learn(await this.#database.query<KindRow>(NAME_KINDS, [missing]), []);
    const found = new Map<number, string>();
    for (const id of ids) {
      const name = this.#names.get(id);
      if (name !== undefined) found.set(id, name);
    }
    return found;
  }

  /** Returns the name if this process has seen the kind. */
  knownName(id: number): string | undefined {
    return this.#names.get(id);
  }

  async idsContaining(text: string): Promise<number[]> {
    return (await this.#database.query<KindRow>(FIND_KINDS_LIKE, [text])).map((row) => row.id);
  }

  /** Returns the id of a rule shape: type 1 counts open attempts, type 2 remaining work. `fields` are sorted. */
  shape(kindId: number, type: 1 | 2, fields: readonly string[]): Promise<number> {
    return this.#register(`${kindId}:${type}:${JSON.stringify(fields)}`, REGISTER_SHAPE, [kindId, type, fields]);
  }

  /** Returns the id of a dedupe shape. `fields` are sorted. */
  dedupeShape(kindId: number, fields: readonly string[]): Promise<number> {
    return this.#register(`${kindId}:d:${JSON.stringify(fields)}`, REGISTER_DEDUPE_SHAPE, [kindId, fields]);
  }

  /** Returns a list of rules, named by its text, if this process has seen it. */
  knownRules(text: string): RuleSet | undefined {
    return this.#rules.get(text) ?? (this.#outer === undefined ? undefined : this.#outer.#rules.get(text));
  }

  /** Returns the numbers of lists of rules by their texts, and adds new ones. */
  async addRules(lists: readonly RuleList[]): Promise<Map<string, RuleSet>> {
    const rows = lists.map(({ list, limits }) => ({
      list,
      shapes: limits.map(([shape]) => shape),
      maxima: limits.map(([, max]) => max),
    }));
    const [row] = await this.#database.query<{ ids: (number | null)[] }>(ADD_RULE_SETS, [
      JSON.stringify(rows),
      RULE_SETS_MAX,
    ]);
    const added = new Map(lists.map(({ text, limits }, at) => [text, { id: row!.ids[at]!, limits }]));
    if (this.#rules.size + added.size > Kinds.cacheMax) this.#rules.clear();
    if (added.size <= Kinds.cacheMax) for (const [text, set] of added) this.#rules.set(text, set);
    return added;
  }

  async #register(key: string, statement: Statement, values: readonly unknown[]): Promise<number> {
    const known = this.#shapes.get(key) ?? (this.#outer === undefined ? undefined : this.#outer.#shapes.get(key));
    if (known !== undefined) return known;
    const [row] = await this.#database.query<{ id: number }>(statement, values);
    if (this.#shapes.size >= Kinds.cacheMax) this.#shapes.clear();
    this.#shapes.set(key, row!.id);
    return row!.id;
  }

  #learn(rows: readonly KindRow[], keep: readonly string[]): void {
    if (this.#ids.size + rows.length > Kinds.cacheMax) {
      const kept = keep.flatMap((name) => (this.#ids.has(name) ? [{ id: this.#ids.get(name)!, name }] : []));
      this.#ids.clear();
      this.#names.clear();
      for (const row of kept) this.#remember(row);
    }
    for (const row of rows) this.#remember(row);
  }

  /** Copies the cached kinds from outside of the transaction. */
  #inherit(id: number | undefined, name: string | undefined): void {
    if (id !== undefined && name !== undefined && !this.#ids.has(name)) this.#remember({ id, name });
  }

  #remember(row: KindRow): void {
    this.#ids.set(row.name, row.id);
    this.#names.set(row.id, row.name);
  }
}

import type { Clock } from '@heddle/base/clock';
import type { Queryable, Statement } from './database.ts';

export type DefinitionType = 'rule' | 'action';

/** Rule or action that tasks reference by name, in its original form. */
export interface Definition {
  name: string;
  body: unknown;
  /** Milliseconds since the epoch. */
  updated_at: number;
}

const FIND_DEFINITIONS: Statement = {
  name: 'definitions.find',
  text: `select name, body, updated_at from definition where type = $1 and name = any($2::text[])`,
};

const LIST_DEFINITIONS: Statement = {
  name: 'definitions.list',
  text: `select name, body, updated_at from definition where type = $1 order by name`,
};

const PUT_DEFINITION: Statement = {
  name: 'definitions.put',
  text: `insert into definition (type, name, body, updated_at) values ($1, $2, $3::jsonb, $4)
    on conflict (type, name) do update set body = excluded.body, updated_at = excluded.updated_at
    returning name, body, updated_at`,
};

const REMOVE_DEFINITION: Statement = {
  name: 'definitions.remove',
  text: `delete from definition where type = $1 and name = $2 returning name`,
};

export class DefinitionStore {
  readonly #database: Queryable;
  readonly #clock: Clock;

  constructor({ database, clock }: { database: Queryable; clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Returns the existing definitions among these names, by name. */
  async find(type: DefinitionType, names: readonly string[]): Promise<Map<string, Definition>> {
    const found = await this.#database.query<Definition>(FIND_DEFINITIONS, [type, [...names]]);
    return new Map(found.map((definition) => [definition.name, definition]));
  }

  list(type: DefinitionType): Promise<Definition[]> {
    return this.#database.query<Definition>(LIST_DEFINITIONS, [type]);
  }

  /** Stores or replaces it. */
  async put(type: DefinitionType, name: string, body: unknown): Promise<Definition> {
    const [stored] = await this.#database.query<Definition>(PUT_DEFINITION, [
      type,
      name,
      JSON.stringify(body),
      new Date(this.#clock.now()).toISOString(),
    ]);
    return stored!;
  }

  /** Returns whether there was one. */
  async remove(type: DefinitionType, name: string): Promise<boolean> {
    const removed = await this.#database.query(REMOVE_DEFINITION, [type, name]);
    return removed.length > 0;
  }
}

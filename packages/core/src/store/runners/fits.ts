import { faultOf, mismatchOf } from '../../domain/runner/classify.ts';
import { patternsOf, shapeKeyOf, type Requirements } from '@heddle/base/vocabulary/requirements';
import { USAGE_CLASS_CODES, USAGE_CLASSES, type ResourceClass } from '@heddle/base/vocabulary/resource-class';
import type { RunnerType } from '../../domain/runner/runner.ts';
import type { Queryable, Statement } from '../database.ts';
import { withCodes } from '../sql-names.ts';
import { numberArray } from '../transitions.ts';
import { readClasses } from './policy.ts';

/** Held until the transaction ends, so that of a shape and a type added concurrently, the later one sees the other. */
const LOCK: Statement = { name: 'runners.lock_fits', text: `select pg_advisory_xact_lock(7302, 1)` };

/** Held until the transaction ends, so that the shapes and types it uses are not deleted. */
const KEEP: Statement = { name: 'runners.keep_kinds', text: `select pg_advisory_xact_lock_shared(7302, 2)` };

const FIND_SHAPES: Statement = {
  name: 'runners.find_shapes',
  text: `select id, key, requirements from runner_shape where key = any($1::text[])`,
};

const ADD_SHAPES: Statement = {
  name: 'runners.add_shapes',
  text: `insert into runner_shape (key, resource_class, usage_class, requirements)
    select u.key, u.resource_class, u.usage_class, u.requirements
    from jsonb_to_recordset($1::jsonb) u(key text, resource_class text, usage_class smallint, requirements jsonb)
    order by u.key on conflict (key) do nothing returning id, key, requirements`,
};

const TYPE_COLUMNS = 'resource_class, usage_class, instance_type, cpu, memory_mib';

const FIND_TYPES: Statement = {
  name: 'runners.find_types',
  text: `select t.id, ${TYPE_COLUMNS}
    from jsonb_to_recordset($1::jsonb) u(resource_class text, usage_class smallint, instance_type text, cpu integer,
      memory_mib integer)
    join runner_type t using (${TYPE_COLUMNS})`,
};

const ADD_TYPES: Statement = {
  name: 'runners.add_types',
  text: `insert into runner_type (${TYPE_COLUMNS})
    select ${TYPE_COLUMNS}
    from jsonb_to_recordset($1::jsonb) u(resource_class text, usage_class smallint, instance_type text, cpu integer,
      memory_mib integer)
    order by ${TYPE_COLUMNS} on conflict do nothing returning id, ${TYPE_COLUMNS}`,
};

const TYPES_OF_CLASSES: Statement = {
  name: 'runners.types_of_classes',
  text: `select id, ${TYPE_COLUMNS} from runner_type where resource_class = any($1::text[])`,
};

const SHAPES_OF_CLASSES: Statement = {
  name: 'runners.shapes_of_classes',
  text: `select id, key, requirements from runner_shape where resource_class = any($1::text[])`,
};

const ADD_FITS: Statement = {
  name: 'runners.add_fits',
  text: `insert into runner_fit (shape_id, type_id)
    select u.shape_id, u.type_id from unnest($1::integer[], $2::integer[]) u(shape_id, type_id)
    order by u.shape_id, u.type_id on conflict do nothing`,
};

const ALL_TYPES: Statement = {
  name: 'runners.all_types',
  text: `select t.id, ${TYPE_COLUMNS}, exists (select 1 from runner_fit f where f.type_id = t.id) as fits from runner_type t`,
};

/** Deletes the fits of these types and returns their live runners. */
const UNFIT: Statement = {
  name: 'runners.unfit',
  text: withCodes(`with gone as (delete from runner_fit where type_id = any($1::integer[]))
    select id from runner where type_id = any($1::integer[]) and state < :runner_terminated order by id`),
};

interface ShapeRow {
  readonly id: number;
  readonly key: string;
  readonly requirements: Requirements;
}

interface TypeRow extends Omit<RunnerType, 'usage_class'> {
  readonly id: number;
  readonly usage_class: number;
}

/**
 * Maps requirements to shape IDs and runner types to type IDs, and records which types fit which shapes. Fits are
 * computed when a shape or type is first seen, so claims never match patterns. The caches hold only committed rows, are
 * bounded, and are cleared when full.
 */
export class FitCache {
  static readonly cacheMax = 10_000;
  readonly #classes: Classes | null;
  readonly #shapes = new Map<string, number>();
  readonly #types = new Map<string, number>();
  /** Transactions that wrote rows, which may still be rolled back. */
  readonly #writers = new WeakSet<Queryable>();

  /** @param classes absent: the classes of the policy in the database */
  constructor(classes?: readonly ResourceClass[]) {
    this.#classes = classes === undefined ? null : byName(classes);
  }

  /** Returns one ID per item, in order, if all are cached; otherwise null. */
  knownShapeIds(requirements: readonly Requirements[]): number[] | null {
    const ids = requirements.flatMap((each) => this.#shapes.get(shapeKeyOf(each)) ?? []);
    return ids.length === requirements.length ? ids : null;
  }

  /**
   * Returns one ID per item, in order. Adding a new one blocks other writers of new ones until the transaction ends.
   */
  async shapeIds(tx: Queryable, requirements: readonly Requirements[]): Promise<number[]> {
    const keys = requirements.map(shapeKeyOf);
    const byKey = new Map(requirements.map((each, index) => [keys[index]!, each]));
    const find = async (missing: readonly string[]): Promise<Map<string, number>> => {
      const rows = await tx.query<ShapeRow>(FIND_SHAPES, [[...missing]]);
      return new Map(rows.map(({ key, id }) => [key, id]));
    };
    const ids = await this.#idsOf(tx, this.#shapes, new Set(keys), find, async (missing) => {
      await addShapes(
        tx,
        missing.map((key) => [key, byKey.get(key)!]),
        await this.#classesIn(tx),
      );
    });
    return keys.map((key) => ids.get(key)!);
  }

  /**
   * Returns one ID per item, in order. Adding a new one blocks other writers of new ones until the transaction ends.
   */
  async typeIds(tx: Queryable, types: readonly RunnerType[]): Promise<number[]> {
    const keys = types.map(typeKeyOf);
    const byKey = new Map(types.map((type, index) => [keys[index]!, type]));
    const find = async (missing: readonly string[]): Promise<Map<string, number>> => {
      const wanted = JSON.stringify(missing.map((key) => rowOf(byKey.get(key)!)));
      const rows = await tx.query<TypeRow>(FIND_TYPES, [wanted]);
      return new Map(rows.map((row) => [typeKeyOf(typeOf(row)), row.id]));
    };
    const ids = await this.#idsOf(tx, this.#types, new Set(keys), find, async (missing) => {
      await addTypes(
        tx,
        missing.map((key) => byKey.get(key)!),
        await this.#classesIn(tx),
      );
    });
    return keys.map((key) => ids.get(key)!);
  }

  async #idsOf(
    tx: Queryable,
    cache: Map<string, number>,
    keys: ReadonlySet<string>,
    find: (missing: readonly string[]) => Promise<Map<string, number>>,
    add: (missing: readonly string[]) => Promise<void>,
  ): Promise<Map<string, number>> {
    // Reads the table, since another process may have deleted a cached row.
    await tx.query(KEEP);
    const ids = new Map<string, number>();
    const missing = (): string[] => [...keys].filter((key) => !ids.has(key));
    for (const [key, id] of await find(missing())) ids.set(key, id);
    if (!this.#writers.has(tx)) this.#remember(cache, ids);
    if (ids.size === keys.size) return ids;
    this.#writers.add(tx);
    await tx.query(LOCK);
    // The previous holder of the lock may have added the same rows.
    for (const [key, id] of await find(missing())) ids.set(key, id);
    if (ids.size === keys.size) return ids;
    const unknown = missing();
    await add(unknown);
    for (const [key, id] of await find(unknown)) ids.set(key, id);
    return ids;
  }

  /** Clears the caches after a cached row was deleted. */
  clear(): void {
    this.#shapes.clear();
    this.#types.clear();
  }

  /**
   * Compares all types with the current classes. Types that no longer match their class lose their fits, and types that
   * match again regain them. Returns the live runners of mismatching types.
   */
  async refit(tx: Queryable): Promise<{ mismatched: string[] }> {
    await tx.query(LOCK);
    const classes = await this.#classesIn(tx);
    const rows = await tx.query<TypeRow & { fits: boolean }>(ALL_TYPES);
    const matchesClass = (row: TypeRow): boolean => faultOf(typeOf(row), classes.get(row.resource_class)) === null;
    const back = rows.filter((row) => !row.fits && matchesClass(row));
    if (back.length > 0) {
      const shapes = await tx.query<ShapeRow>(SHAPES_OF_CLASSES, [classesOf(back)]);
      await addFits(tx, shapes, back, classes);
    }
    const mismatched = rows.filter((row) => !matchesClass(row)).map(({ id }) => id);
    const runners = mismatched.length === 0 ? [] : await tx.query<{ id: string }>(UNFIT, [numberArray(mismatched)]);
    return { mismatched: runners.map(({ id }) => id) };
  }

  async #classesIn(tx: Queryable): Promise<Classes> {
    return this.#classes ?? byName(await readClasses(tx));
  }

  #remember(cache: Map<string, number>, ids: ReadonlyMap<string, number>): void {
    if (cache.size + ids.size > FitCache.cacheMax) cache.clear();
    for (const [key, id] of ids) if (cache.size < FitCache.cacheMax) cache.set(key, id);
  }
}

type Classes = ReadonlyMap<string, ResourceClass>;

async function addShapes(
  tx: Queryable,
  shapes: readonly (readonly [string, Requirements])[],
  classes: Classes,
): Promise<void> {
  const rows = shapes.map(([key, { allowed_instance_types, ...requirements }]) => ({
    key,
    resource_class: requirements.resource_class,
    usage_class: USAGE_CLASS_CODES[requirements.usage_class],
    requirements: plainOf({ ...requirements, allowed_instance_types: patternsOf(allowed_instance_types) }),
  }));
  const added = await tx.query<ShapeRow>(ADD_SHAPES, [JSON.stringify(rows)]);
  const types = await tx.query<TypeRow>(TYPES_OF_CLASSES, [classesOf(added.map(({ requirements }) => requirements))]);
  await addFits(tx, added, types, classes);
}

async function addTypes(tx: Queryable, types: readonly RunnerType[], classes: Classes): Promise<void> {
  const added = await tx.query<TypeRow>(ADD_TYPES, [JSON.stringify(types.map(rowOf))]);
  const shapes = await tx.query<ShapeRow>(SHAPES_OF_CLASSES, [classesOf(added)]);
  await addFits(tx, shapes, added, classes);
}

async function addFits(
  tx: Queryable,
  shapes: readonly ShapeRow[],
  rows: readonly TypeRow[],
  classes: Classes,
): Promise<void> {
  const types = rows.map((row) => ({ id: row.id, type: typeOf(row) }));
  const matching = types.filter(({ type }) => faultOf(type, classes.get(type.resource_class)) === null);
  const pairs = shapes.flatMap((shape) =>
    matching.flatMap(({ id, type }) =>
      mismatchOf(type, shape.requirements) === null ? [[shape.id, id] as const] : [],
    ),
  );
  if (pairs.length === 0) return;
  await tx.query(ADD_FITS, [numberArray(pairs.map(([shape]) => shape)), numberArray(pairs.map(([, type]) => type))]);
}

function byName(classes: readonly ResourceClass[]): Classes {
  return new Map(classes.map((resourceClass) => [resourceClass.name, resourceClass]));
}

function classesOf(of: readonly { readonly resource_class: string }[]): string[] {
  return [...new Set(of.map(({ resource_class }) => resource_class))];
}

/** Copies only the members of `Requirements`. */
function plainOf({ resource_class, usage_class, allowed_instance_types, cpu, memory_mib }: Requirements): Requirements {
  return { resource_class, usage_class, allowed_instance_types, cpu, memory_mib };
}

function rowOf({ resource_class, usage_class, instance_type, cpu, memory_mib }: RunnerType): Omit<TypeRow, 'id'> {
  return { resource_class, usage_class: USAGE_CLASS_CODES[usage_class], instance_type, cpu, memory_mib };
}

function typeOf({ resource_class, usage_class, instance_type, cpu, memory_mib }: TypeRow): RunnerType {
  return { resource_class, usage_class: USAGE_CLASSES[usage_class]!, instance_type, cpu, memory_mib };
}

function typeKeyOf({ resource_class, usage_class, instance_type, cpu, memory_mib }: RunnerType): string {
  return JSON.stringify([resource_class, usage_class, instance_type, cpu, memory_mib]);
}

import type { Queryable, Statement } from './database.ts';
import { withCodes } from './sql-names.ts';

/** Tasks that are counted; each takes a look at an index. */
export const DEPENDENTS_COUNTED = 1000;
const DEPENDENTS_SHOWN = 20;

/**
 * Walks of one task through the tables that hold its run, the nearest tasks first. Each ends once enough are found: the
 * rows of a recursive union arrive as they are made. `offset 0` keeps the planner, which cannot know how far a walk
 * goes, from reading whole tables.
 *
 * @param prefix of those tables: `archive_` for an archived run
 */
const walks = (prefix: string): string => `
  reached as (
    select e.child_id as id from ${prefix}edge e where e.parent_id = $1
    union
    select e.child_id from reached r
    cross join lateral (select e.child_id from ${prefix}edge e where e.parent_id = r.id offset 0) e
  ), above as (
    select t.container_id as id, t.position as after from ${prefix}task t where t.id = $1 and t.container_id is not null
    union all
    select c.parent_id, c.position from above a
    cross join lateral (select c.parent_id, c.position from ${prefix}container c
      where c.id = a.id and c.parent_id is not null offset 0) c
  ), turn as (
    select a.id, a.after from above a
    cross join lateral (select 1 from ${prefix}container c where c.id = a.id and c.mode = :sequential offset 0) c
  ), later as (
    select k.id from turn u
    cross join lateral (select k.id from ${prefix}container k
      where k.parent_id = u.id and k.position > u.after offset 0) k
    union all
    select k.id from later l
    cross join lateral (select k.id from ${prefix}container k where k.parent_id = l.id offset 0) k
  ), found as materialized (
    select x.id, row_number() over () as nth from (
      select id from reached
      union all
      select t.id from turn u
      cross join lateral (select t.id from ${prefix}task t
        where t.container_id = u.id and t.position > u.after offset 0) t
      union all
      select t.id from later l
      cross join lateral (select t.id from ${prefix}task t where t.container_id = l.id offset 0) t) x
    limit ${DEPENDENTS_COUNTED + 1}
  )
  select t.id, t.name, t.state,
    count(*) over () as total,
    count(*) filter (where t.state < :terminal or t.cause is not null) over () as held_up
  from found f
  cross join lateral (select t.id, t.name, t.state, t.cause from ${prefix}task t where t.id = f.id offset 0) t
  order by f.nth limit ${DEPENDENTS_SHOWN}`;

const FIND: Statement = { name: 'explain.dependents', text: withCodes(`with recursive ${walks('')}`) };
const FIND_ARCHIVED: Statement = {
  name: 'explain.archived_dependents',
  text: withCodes(`with recursive ${walks('archive_')}`),
};

export interface DependentRow {
  id: string;
  name: string;
  state: number;
  /** Of all that were counted. */
  total: number;
  held_up: number;
}

/** Returns the first tasks after a task; each row has the numbers of all. */
export function findDependents(queryable: Queryable, id: string, isArchived: boolean): Promise<DependentRow[]> {
  return queryable.query(isArchived ? FIND_ARCHIVED : FIND, [id]);
}

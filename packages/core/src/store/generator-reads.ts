import type { Queryable, Statement } from './database.ts';

const EXPANSION: Statement = {
  name: 'generators.expansion',
  text: `select g.expected, case when g.attempt = t.attempt then g.created else 0 end as created, array(
      select n.id from (
        select a.id from task_all a
          where a.workflow_id = t.workflow_id and a.generator_id = t.id and a.generator_attempt = t.attempt
        union all
        select c.id from container_all c
          where c.workflow_id = t.workflow_id and c.generator_id = t.id and c.generator_attempt = t.attempt) n
      order by n.id limit $2) as created_ids
    from task_all t join (
      select task_id, expected, created, attempt from generator
      union all select task_id, expected, created, attempt from archive_generator) g on g.task_id = t.id
    where t.id = $1`,
};

/** Bodies may be any text: only those that contain the generator's id are read, and the caller parses them. */
const DEAD_LETTERS: Statement = {
  name: 'generators.dead_letters',
  text: `select d.body, d.reason from queue_dead d
    where d.queue = $1 and strpos(lower(d.body), $2) > 0 order by d.dead_lettered_at, d.id limit $3`,
};

export interface ExpansionRow {
  /** Number of announced nodes; null until announced. */
  expected: number | null;
  /** Number of nodes created by its current attempt. */
  created: number;
  created_ids: string[];
}

/** Returns what a generator announced and created; null for a task that did neither. */
export async function findExpansion(queryable: Queryable, id: string, limit: number): Promise<ExpansionRow | null> {
  return (await queryable.query<ExpansionRow>(EXPANSION, [id, limit]))[0] ?? null;
}

/** Returns dead letters of a queue that name a task, oldest first. */
export function findDeadLettersNaming(
  queryable: Queryable,
  queue: string,
  id: string,
  limit: number,
): Promise<{ body: string; reason: string }[]> {
  return queryable.query(DEAD_LETTERS, [queue, id, limit]);
}

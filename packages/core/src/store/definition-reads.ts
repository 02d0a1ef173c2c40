import type { JsonObject } from '@heddle/base/json';
import { TASK_FIELD_NAMES, type SettingColumns } from '@heddle/base/vocabulary/task-fields';
import type { WorkflowNotification } from '../domain/notification/notification.ts';
import type { Queryable, Statement } from './database.ts';
import { withCodes } from './sql-names.ts';
import type { TaskSpecRecord } from './task-reads.ts';
import { uuidArray } from './transitions.ts';

/** The tables of one run: those of live ones, or the archive. */
interface Tables {
  task: string;
  spec: string;
  edge: string;
  container: string;
}

const LIVE: Tables = { task: 'task', spec: 'task_spec', edge: 'edge', container: 'container' };
const ARCHIVE: Tables = {
  task: 'archive_task',
  spec: 'archive_task_spec',
  edge: 'archive_edge',
  container: 'archive_container',
};

const COLUMNS = `t.id, t.container_id, t.position, t.local_id, t.name, k.name as kind, t.metadata, t.policy, t.generates,
  (t.state = :disabled and t.cause is null) as disabled, ${TASK_FIELD_NAMES.map((name) => `t.${name}`).join(', ')},
  s.actions, coalesce(r.list, s.rules -> 'list') as rules, s.dedupe, s.retry, s.requirements`;

const joinsOf = ({ spec }: Tables): string => `join kind k on k.id = t.kind_id
  left join ${spec} s on s.task_id = t.id left join rule_set r on r.id = t.rule_set_id`;

const tasksOf = (name: string, tables: Tables): Statement => ({
  name,
  text: withCodes(`select ${COLUMNS} from ${tables.task} t ${joinsOf(tables)} where t.workflow_id = $1 order by t.id`),
});

const dependenciesOf = (name: string, { task, edge }: Tables): Statement => ({
  name,
  text: `select e.parent_id, e.child_id, e.requires_success from ${task} t join ${edge} e on e.child_id = t.id
    where t.workflow_id = $1 and not e.crosses order by e.child_id, e.parent_id`,
});

const outsideOf = (name: string, { task, edge }: Tables): Statement => ({
  name,
  text: `select count(*) as n from ${task} t join ${edge} e on e.child_id = t.id where t.workflow_id = $1 and e.crosses`,
});

/** A generator creates its nodes again, with everything below them. */
const containersOf = (name: string, { container }: Tables): Statement => ({
  name,
  text: `with recursive tree as (
      select c.* from ${container} c where c.id = $1
      union all
      select c.* from tree join ${container} c on c.parent_id = tree.id where c.generator_id is null)
    select id, parent_id, position, local_id, mode, policy from tree`,
});

const tasksInOf = (name: string, tables: Tables): Statement => ({
  name,
  text: withCodes(`select ${COLUMNS} from unnest($1::uuid[]) c(id) join ${tables.task} t on t.container_id = c.id
    ${joinsOf(tables)} where t.generator_id is null`),
});

const OF_LIVE = {
  tasks: tasksOf('definitions.tasks', LIVE),
  dependencies: dependenciesOf('definitions.dependencies', LIVE),
  outside: outsideOf('definitions.outside', LIVE),
  containers: containersOf('definitions.containers', LIVE),
  tasksIn: tasksInOf('definitions.tasks_in', LIVE),
};

const OF_ARCHIVED: typeof OF_LIVE = {
  tasks: tasksOf('definitions.archived_tasks', ARCHIVE),
  dependencies: dependenciesOf('definitions.archived_dependencies', ARCHIVE),
  outside: outsideOf('definitions.archived_outside', ARCHIVE),
  containers: containersOf('definitions.archived_containers', ARCHIVE),
  tasksIn: tasksInOf('definitions.archived_tasks_in', ARCHIVE),
};

const NOTIFY: Statement = {
  name: 'definitions.notify',
  text: `select entries from workflow_notice where workflow_id = $1`,
};

/** A task as it was submitted, as far as that is stored. */
export interface DefinedTaskRow extends SettingColumns, TaskSpecRecord {
  id: string;
  container_id: string | null;
  position: number | null;
  local_id: string | null;
  name: string;
  kind: string;
  metadata: JsonObject;
  policy: number;
  generates: boolean;
  disabled: boolean;
}

export interface DefinedContainerRow {
  id: string;
  parent_id: string | null;
  position: number;
  local_id: string | null;
  mode: number;
  policy: number;
}

export interface DefinedEdgeRow {
  parent_id: string;
  child_id: string;
  requires_success: boolean;
}

/** Where the rows of a run are. */
interface Run {
  id: string;
  archived: boolean;
}

function of({ archived }: Run): typeof OF_LIVE {
  return archived ? OF_ARCHIVED : OF_LIVE;
}

/** Returns the tasks of a batch in the order of their submission, and its dependencies. */
export async function readBatchRows(
  queryable: Queryable,
  run: Run,
): Promise<{ tasks: DefinedTaskRow[]; edges: DefinedEdgeRow[]; outside: number }> {
  const { tasks, dependencies, outside } = of(run);
  const [counted] = await queryable.query<{ n: number }>(outside, [run.id]);
  return {
    tasks: await queryable.query<DefinedTaskRow>(tasks, [run.id]),
    edges: await queryable.query<DefinedEdgeRow>(dependencies, [run.id]),
    outside: counted!.n,
  };
}

/** Returns the nodes of a tree that were submitted with it, in no particular order. */
export async function readTreeRows(
  queryable: Queryable,
  run: Run,
): Promise<{ containers: DefinedContainerRow[]; tasks: DefinedTaskRow[] }> {
  const { containers, tasksIn } = of(run);
  const found = await queryable.query<DefinedContainerRow>(containers, [run.id]);
  const ids = uuidArray(found.map(({ id }) => id));
  return { containers: found, tasks: await queryable.query<DefinedTaskRow>(tasksIn, [ids]) };
}

/** Returns the notifications that a workflow asked for. */
export async function readNotifyEntries(queryable: Queryable, id: string): Promise<readonly WorkflowNotification[]> {
  const [row] = await queryable.query<{ entries: readonly WorkflowNotification[] | null }>(NOTIFY, [id]);
  return row?.entries ?? [];
}

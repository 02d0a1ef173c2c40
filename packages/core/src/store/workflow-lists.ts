import type { WorkflowSummary } from '@heddle/base/vocabulary/task';
import { TASK_STATE_CODE, type ContainerState } from '@heddle/base/vocabulary/task-state';
import type { Queryable, Statement } from './database.ts';
import { WORKFLOW_COLUMNS, workflowOf, type WorkflowRecord } from './task-reads.ts';
import { numberArray } from './transitions.ts';

const EXAMINED_WORKFLOWS_MAX = 5_000;

export interface WorkflowQuery {
  /** Only workflows with open tasks, or only those without; null: both. */
  open: boolean | null;
  /** Only trees, or only batches; null: both. */
  trees: boolean | null;
  /** Only trees whose root is in one of these states; null: any. */
  rootStates: readonly ContainerState[] | null;
  /** Only workflows with lower ids. */
  after: string | null;
  limit: number;
  offset: number;
  /** Runs that one page examines beside those it skips, if no index leads to those wanted. */
  examinedMax?: number;
}

/** A condition on `w`. `examines`: no index leads to what it is true for. */
interface Condition {
  key: string;
  text: (parameter: string) => string;
  value?: unknown;
  examines?: true;
}

function conditionsOf({ open, trees, rootStates, after }: WorkflowQuery): Condition[] {
  const given: Condition[] = [];
  if (after !== null) given.push({ key: 'after', text: (at) => `w.id < ${at}::uuid`, value: after });
  if (open === true) given.push({ key: 'open', text: () => 'w.ended_at is null' });
  if (open === false) given.push({ key: 'ended', text: () => 'w.ended_at is not null', examines: true });
  // Trees have an index of their own, however many batches there are; two indexes cannot be combined in this order.
  if (trees === true)
    given.push({ key: 'trees', text: () => 'w.is_tree', ...(open === true ? { examines: true } : {}) });
  if (trees === false) given.push({ key: 'batches', text: () => 'not w.is_tree', examines: true });
  if (rootStates !== null) {
    given.push({
      key: 'root',
      text: (at) => `(select c.state from container_all c where c.id = w.id) = any(${at}::smallint[])`,
      value: numberArray(rootStates.map((state) => TASK_STATE_CODE[state])),
      examines: true,
    });
  }
  return given;
}

const statement = (name: string, key: string, text: string): Statement => ({ name: `${name}.${key}`, text });

/** The conditions that examine come last, so that the others can be a statement of their own. */
function statementOf(conditions: readonly Condition[]): { statement: Statement; values: unknown[] } {
  const values: unknown[] = [];
  const texts = (chosen: boolean): string[] =>
    conditions
      .filter(({ examines }) => (examines ?? false) === chosen)
      .map(({ text, value }) => text(value === undefined ? '' : `$${values.push(value) + 3}`));
  const leading = texts(false);
  const examining = texts(true);
  const isOpen = conditions.some(({ key }) => key === 'open');
  const table = isOpen ? '(select *, false as archived from workflow) w' : 'workflow_all w';
  const newest = `${table} ${whereAll(leading)} order by w.id desc`;
  const page = `select * from (select * from ${newest} limit $3::bigint + $2) w ${whereAll(examining)}
      order by w.id desc limit $1 offset $2`;
  const last = `case when (select count(*) from page) < $1 then (
        select w.id from ${newest} offset $3::bigint + $2 - 1 limit 1) end`;
  const text = `with page as materialized (${page}), examined as (select ${last} as last_id)
    select ${WORKFLOW_COLUMNS}, e.last_id from examined e left join page w on true order by w.id desc`;
  const key = conditions.map((condition) => condition.key).join('.');
  return { statement: statement('workflows.list', key, text), values };
}

function whereAll(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
}

/** Returns one page of workflows, newest first, and the id after which the next one begins, if there may be one. */
export async function findWorkflows(
  queryable: Queryable,
  query: WorkflowQuery,
): Promise<{ rows: WorkflowSummary[]; next: string | null }> {
  const { statement, values } = statementOf(conditionsOf(query));
  type Row = Omit<WorkflowRecord, 'id'> & { id: string | null; last_id: string | null };
  const examinedMax = query.examinedMax ?? EXAMINED_WORKFLOWS_MAX;
  const read = await queryable.query<Row>(statement, [query.limit + 1, query.offset, examinedMax, ...values]);
  const lastExamined = read[0]?.last_id ?? null;
  const found = read.filter((row): row is Row & WorkflowRecord => row.id !== null).map(plain);
  if (found.length > query.limit) {
    const rows = found.slice(0, query.limit);
    return { rows, next: rows.at(-1)!.id };
  }
  return { rows: found, next: lastExamined };
}

function plain({ last_id: _examined, ...row }: WorkflowRecord & { last_id: string | null }): WorkflowSummary {
  return workflowOf(row);
}

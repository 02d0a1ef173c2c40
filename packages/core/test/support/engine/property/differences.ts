import type { TaskId, WorkflowId } from '@heddle/base/ids';
import { canonicalJson } from '@heddle/base/json';
import type { JsonValue } from '@heddle/base/json';
import {
  type Model,
  type ModelTask,
  type WaitingForSlots,
  equalInFields,
  openGates,
  remainingWork,
  outcomeOf,
  runCounts,
} from '@heddle/test-support/model';
import type { Task } from '@heddle/base/vocabulary/task';
import { isTerminal, taskStateOf } from '@heddle/base/vocabulary/task-state';
import type { Dag, Engine } from '../../../../src/engine/port.ts';
import type { Database, Statement } from '../../../../src/store/database.ts';
import { runOf } from '../../../../src/store/run-columns.ts';
import { findRun } from '../../../../src/store/run-lists.ts';
import { withCodes } from '../../../../src/store/sql-names.ts';

const READ_SLOTS: Statement = {
  name: 'property_slots',
  text: `select s.used, s.key, sh.type, sh.fields, k.name as kind,
           (select count(*) from heddle.ready r, unnest(r.slots) g(slot) where g.slot = s.id) as granted
         from heddle.slot s join heddle.shape sh on sh.id = s.shape_id join heddle.kind k on k.id = sh.kind_id`,
};

const READ_CLAIMABLE: Statement = {
  name: 'property_claimable',
  text: `select task_id from heddle.ready union all select task_id from heddle.blocked
         union all select task_id from heddle.delayed`,
};

const READ_WAITING: Statement = {
  name: 'property_waiting_for_slots',
  text: `select task_id, true as promised from heddle.ready where slots is not null
         union all select task_id, false from heddle.blocked`,
};

const READ_INCOMPLETE_ATTEMPTS: Statement = {
  name: 'property_attempts',
  text: withCodes(`select t.id, t.attempt, a.numbers, a.open from heddle.task t cross join lateral (
      select coalesce(array_agg(k.attempt order by k.attempt), '{}') as numbers,
        coalesce(array_agg(k.attempt) filter (where k.outcome is null), '{}') as open
      from heddle.attempts_of(t.id, null, 1000) k) a
    where a.numbers is distinct from array(select generate_series(1, t.attempt))
      or a.open is distinct from case when coalesce(t.paused_from, t.state) between :claimed and :expanding
        then array[t.attempt] else '{}' end`),
};

/** Each attempt of a task is known, with its outcome unless it is open. */
export async function incompleteAttempts(database: Database): Promise<string[]> {
  const rows = await database.query<{ id: TaskId; attempt: number; numbers: number[]; open: number[] }>(
    READ_INCOMPLETE_ATTEMPTS,
  );
  return rows.map(
    ({ id, attempt, numbers, open }) =>
      `${id} is at attempt ${attempt}, but those are known: ${numbers.join()}, open: ${open.join()}`,
  );
}

/** Whom the engine keeps slots for, and whom it has set aside until a slot is returned. */
export async function waitingForSlots(database: Database): Promise<WaitingForSlots> {
  const rows = await database.query<{ task_id: TaskId; promised: boolean }>(READ_WAITING);
  const idsOf = (promised: boolean): TaskId[] =>
    rows.filter((row) => row.promised === promised).map((row) => row.task_id);
  return { promised: idsOf(true), aside: idsOf(false) };
}

/** Where the database says otherwise than the model, one line each; empty where they agree. */
export async function differences(engine: Engine, database: Database, model: Model): Promise<string[]> {
  const found: string[] = [];
  const workflows = new Set([...model.tasks.values()].map((task) => task.workflow_id));
  for (const id of workflows) {
    const dag = await engine.getDag(id);
    if (dag === null) found.push(`workflow ${id} is missing`);
    else found.push(...workflowDifferences(model, dag), ...(await runDifferences(database, model, id)));
  }
  found.push(...(await slotDifferences(database, model)));
  found.push(...(await lostTasks(database, model)), ...(await incompleteAttempts(database)));
  return found;
}

/** What is kept of a run is what its tasks add up to. */
export async function runDifferences(database: Database, model: Model, id: WorkflowId): Promise<string[]> {
  const run = await findRun(database, id);
  if (run === null) return [`run ${id} is missing`];
  const counts = runCounts(model, id);
  const outcome = outcomeOf(model, id);
  const isFailed = (task: string): boolean => {
    const state = model.tasks.get(task)?.state;
    return state === 'failed' || state === 'timed_out' || state === 'partially_failed';
  };
  const pairs: [string, JsonValue, JsonValue][] = [
    ['counts', { ...runOf(run).counts }, { ...counts }],
    ['outcome', run.outcome === null ? null : taskStateOf(run.outcome), outcome],
    ['a failed task', run.failed_task !== null && isFailed(run.failed_task), counts.failed > 0],
    ['kinds', [...run.kinds].sort(), [...kindsOf(model, id)].sort()],
  ];
  return pairs
    .filter(([, left, right]) => canonicalJson(left) !== canonicalJson(right))
    .map(([field, left, right]) => `run ${id}: ${field} ${canonicalJson(left)}, expected ${canonicalJson(right)}`);
}

function kindsOf(model: Model, id: WorkflowId): Set<string> {
  const tasks = [...model.tasks.values()].filter((task) => task.workflow_id === id);
  return new Set(tasks.map((task) => task.definition.kind));
}

function workflowDifferences(model: Model, dag: Dag): string[] {
  const found: string[] = [];
  const expected = runCounts(model, dag.workflow.id);
  const { task_count, remaining } = dag.workflow;
  if (task_count !== expected.total) found.push(`task_count ${task_count}, expected ${expected.total}`);
  if (remaining !== expected.remaining) found.push(`remaining ${remaining}, expected ${expected.remaining}`);
  if ((dag.workflow.ended_at !== null) !== (expected.remaining === 0)) {
    found.push(`ended_at ${dag.workflow.ended_at} with ${expected.remaining} remaining`);
  }
  if (dag.tasks.length !== expected.total) found.push(`${dag.tasks.length} tasks, expected ${expected.total}`);
  for (const task of dag.tasks) {
    const modelled = model.tasks.get(task.id);
    if (modelled === undefined) found.push(`unknown task ${task.id}`);
    else found.push(...taskDifferences(model, modelled, task));
  }
  const edges = [...model.tasks.values()]
    .filter((task) => task.workflow_id === dag.workflow.id)
    .reduce((sum, task) => sum + task.parents.length, 0);
  if (dag.dependencies.length < edges) found.push(`${dag.dependencies.length} dependencies, expected ${edges}`);
  return found;
}

function taskDifferences(model: Model, expected: ModelTask, actual: Task): string[] {
  const pairs: [string, JsonValue, JsonValue][] = [
    ['state', actual.state, expected.state],
    ['attempt', actual.attempt, expected.attempt],
    ['open_gates', actual.open_gates, openGates(model, expected)],
    ['success_count', actual.success_count, expected.success_count],
    ['failure_count', actual.failure_count, expected.failure_count],
    ['metadata', actual.metadata, expected.metadata],
    ['ended', actual.ended_at !== null, isTerminal(expected.state)],
  ];
  const found = pairs
    .filter(([, left, right]) => canonicalJson(left) !== canonicalJson(right))
    .map(([field, left, right]) => `${field} ${canonicalJson(left)}, expected ${canonicalJson(right)}`);
  if (expected.failed_by !== null && actual.failure_reason?.includes(expected.failed_by) !== true) {
    found.push(`reason ${JSON.stringify(actual.failure_reason)} does not name ${expected.failed_by}`);
  }
  return found.map((line) => `${actual.name} (${actual.id}): ${line}`);
}

interface SlotRow {
  used: number;
  key: JsonValue[];
  type: number;
  fields: string[];
  kind: string;
  granted: number;
}

/** Every slot row is what a recount of the open attempts gives, and what is promised to ready tasks. */
async function slotDifferences(database: Database, model: Model): Promise<string[]> {
  const found: string[] = [];
  for (const slot of await database.query<SlotRow>(READ_SLOTS)) {
    const wanted = Object.fromEntries(slot.fields.map((field, at) => [field, slot.key[at]!]));
    const holders = [...model.tasks.values()].filter(
      (task) =>
        task.attempt_open && task.definition.kind === slot.kind && equalInFields(task.metadata, wanted, slot.fields),
    );
    const held = slot.type === 1 ? holders.length : holders.reduce((sum, task) => sum + remainingWork(task), 0);
    if (slot.used !== held + slot.granted) {
      const name = `${slot.type === 1 ? 'concurrency' : 'capacity'} of ${slot.kind} ${JSON.stringify(wanted)}`;
      found.push(`slot ${name}: ${slot.used} used, expected ${held} held and ${slot.granted} promised`);
    }
  }
  return found;
}

/** A pending task that no claim can ever meet is lost. */
export async function lostTasks(database: Database, model: Model): Promise<string[]> {
  const rows = await database.query<{ task_id: string }>(READ_CLAIMABLE);
  const reachable = new Set(rows.map((row) => row.task_id));
  return [...model.tasks.values()]
    .filter((task) => task.state === 'pending' && !reachable.has(task.definition.id))
    .map((task) => `${task.definition.name} (${task.definition.id}) is pending, but nowhere to be claimed`);
}

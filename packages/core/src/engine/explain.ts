import type { JsonObject, JsonValue } from '@heddle/base/json';
import type { TaskAttempt } from '@heddle/base/vocabulary/attempt';
import type { TaskDetail } from '@heddle/base/vocabulary/task';
import { isTerminal, taskStateOf } from '@heddle/base/vocabulary/task-state';
import { findAttempts } from '../store/attempts.ts';
import { DEPENDENTS_COUNTED, findDependents } from '../store/dependents.ts';
import * as obstacles from '../store/obstacles.ts';
import { databaseNow } from '../store/task-reads.ts';
import { containerStateOf } from '../store/tree-reads.ts';
import type { EngineContext } from './context.ts';
import { expansionOf } from './explain-expansion.ts';
import type { Dependents, Expansion, Explanation, Obstacle } from './explanation.ts';
import { kindsForWorkers } from './known-kinds.ts';
import { getTask } from './read.ts';
import { runnerObstacle } from './runners/explain.ts';
import { runningSentence, summaryOf } from './explain-summary.ts';

/** A lane without a claim for this long has no worker. */
export const CLAIMER_GONE_MS = 60_000;
const ATTEMPTS_SHOWN = 5;

/** Explains why a task is not running: all obstacles, most important first. */
export async function explain(context: EngineContext, id: string): Promise<Explanation | null> {
  const task = await getTask(context, id);
  if (task === null) return null;
  const expansion = await expansionOf(context, id);
  const found = await obstaclesOf(context, task, expansion);
  const running = task.state === 'running' ? await obstacles.findRunning(context.database, id) : null;
  return {
    task,
    summary: running === null ? summaryOf(task, found) : runningSentence(task, running),
    obstacles: found,
    dependents: await dependentsOf(context, task),
    expansion,
    ended_attempts: await endedAttempts(context, task),
  };
}

async function obstaclesOf(context: EngineContext, task: TaskDetail, expansion: Expansion | null): Promise<Obstacle[]> {
  const { database } = context;
  if (isTerminal(task.state) || task.state === 'running') return [];
  if (task.state === 'expanding') {
    if (expansion === null || expansion.expected === null) return [];
    return [{ type: 'expanding', expected: expansion.expected, created: expansion.created }];
  }
  if (task.state === 'claimed') {
    const delivery = await obstacles.findStartDelivery(database, task.id);
    if (delivery !== null) return [{ type: 'delivering', ...delivery }];
    // The task waits in the queue of its kind, from which only a worker takes it.
    const nobody = await nobodyClaims(context, task, await timeOf(context));
    return nobody === null ? [] : [nobody];
  }
  const found: Obstacle[] = [];
  if (task.state === 'paused') {
    found.push({ type: 'paused', since: (await obstacles.findPausedSince(database, task.id)) ?? task.updated_at });
  }
  const turn = await obstacles.findTurn(database, task.id);
  if (turn !== null) {
    const { id, local_id, state, before } = turn;
    found.push({ type: 'sequence', container: { id, local_id, state: containerStateOf(state) }, before });
  }
  const parents = await parentsOf(context, task.id);
  if (parents !== null) found.push(parents);
  const now = await timeOf(context);
  if (task.run_at !== null && task.run_at > now) {
    found.push({ type: 'delayed', until: task.run_at, attempt: task.attempt + 1 });
  }
  const isDue = found.length === 0;
  found.push(...(await rulesOf(context, task.id)));
  if (task.requirements !== undefined && task.state === 'pending' && isDue) {
    found.push(await runnerObstacle(context, task.id, task.requirements));
  }
  if (found.length > 0) return found;
  const nobody = await nobodyClaims(context, task, now);
  if (nobody !== null) return [nobody];
  return [{ type: 'queued', ahead: await obstacles.countAhead(database, task.id) }];
}

async function dependentsOf({ database }: EngineContext, { id, archived }: TaskDetail): Promise<Dependents> {
  const rows = await findDependents(database, id, archived);
  const { total = 0, held_up = 0 } = rows[0] ?? {};
  return {
    total: Math.min(total, DEPENDENTS_COUNTED),
    total_capped: total > DEPENDENTS_COUNTED,
    held_up,
    tasks: rows.map((row) => ({ id: row.id, name: row.name, state: taskStateOf(row.state) })),
  };
}

async function endedAttempts({ database }: EngineContext, { id, attempt }: TaskDetail): Promise<TaskAttempt[]> {
  if (attempt === 0) return [];
  const latest = await findAttempts(database, id, null, ATTEMPTS_SHOWN + 1);
  return latest.filter(({ outcome }) => outcome !== null).slice(0, ATTEMPTS_SHOWN);
}

async function timeOf(context: EngineContext): Promise<number> {
  return context.now() === null ? await databaseNow(context.database) : context.clock.now();
}

/** Returns the lane of the task if no worker was seen there recently, else null. */
async function nobodyClaims(context: EngineContext, task: TaskDetail, now: number): Promise<Obstacle | null> {
  const { database, knownKinds } = context;
  const seen = await obstacles.findLastClaimer(database, task.id, context.now());
  if (seen !== null && now - seen <= CLAIMER_GONE_MS) return null;
  const lane = task.actions.some((action) => action.trigger === 'start') ? 'webhook' : `kind:${task.kind}`;
  const [unknown] = seen === null ? await knownKinds.unknown(database, kindsForWorkers([task])) : [];
  const never = unknown === undefined ? {} : { never: { did_you_mean: unknown.did_you_mean } };
  return { type: 'no_worker', lane, last_seen: seen, ...never };
}

async function parentsOf(context: EngineContext, id: string): Promise<Obstacle | null> {
  const rows = await obstacles.findOpenParents(context.database, id);
  if (rows.length === 0) return null;
  return {
    type: 'parents',
    total: rows[0]!.total,
    parents: rows.map((row) => ({
      id: row.id,
      name: row.name,
      state: taskStateOf(row.state),
      requires_success: row.requires_success,
    })),
  };
}

/** Returns the values of the fields that distinguish a slot from others of its rule. */
export function slotFields(fields: readonly string[], key: readonly JsonValue[]): JsonObject {
  return Object.fromEntries(fields.map((field, index) => [field, key[index] ?? null]));
}

async function rulesOf(context: EngineContext, id: string): Promise<Obstacle[]> {
  const found: Obstacle[] = [];
  for (const rule of await obstacles.findRules(context.database, id)) {
    if (rule.used < rule.max) continue;
    const holders = await obstacles.findHolders(context.database, rule.slot);
    found.push({
      type: 'rule',
      rule: rule.type === 1 ? 'concurrency' : 'capacity',
      kind: rule.kind,
      fields: slotFields(rule.fields, rule.key),
      max: rule.max,
      used: rule.used,
      holders: holders.map((holder) => ({ ...holder, state: taskStateOf(holder.state) })),
    });
  }
  return found;
}

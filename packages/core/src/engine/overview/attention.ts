import { hashToText } from '../../domain/stored-hash.ts';
import * as troubles from '../../store/overview/troubles.ts';
import { counted, laneInWords } from '../explain-summary.ts';
import type { OverviewContext } from './context.ts';
import { executorItems, jobItems } from './more-attention.ts';
import type { Attention } from './port.ts';
import type { FullSlot, LaneState } from './waiting.ts';

const ITEMS_MAX = 100;
/** A rule at its limit is normal; tasks that wait this long for it are not. */
const RULE_WAIT_MS = 60_000;

/** What is wrong beside tasks that wait. */
export async function findTroubles(context: OverviewContext, now: number): Promise<Attention[]> {
  const { database } = context;
  return [
    ...(await troubles.findDeadLetters(database)).map(deadLetterItem),
    ...(await troubles.findLostAttempts(database, now)).map(lostItem),
    ...jobItems(await troubles.findJobTroubles(database, now), now),
    ...(await troubles.findDeadDeliveries(database)).map(deadDeliveryItem),
    ...(await troubles.findFailingOrigins(database)).map(failingOriginItem),
    ...(await troubles.findFailedLaunches(database)).map(launchItem),
    ...executorItems(context.unreachable()),
  ];
}

/** Everything that needs an operator, errors first, then by the number of tasks. */
export function attentionItems(
  others: readonly Attention[],
  lanes: readonly LaneState[],
  slots: readonly FullSlot[],
  now: number,
): Attention[] {
  const items = [...lanes.flatMap(laneItem), ...slots.flatMap((slot) => slotItem(slot, now)), ...others];
  const isError = ({ severity }: Attention): number => Number(severity === 'error');
  return items.sort((left, right) => isError(right) - isError(left) || right.count - left.count).slice(0, ITEMS_MAX);
}

/** Caps a number of rows that was counted up to one more than the cap. */
function capped(n: number): { count: number; count_capped: boolean } {
  return { count: Math.min(n, troubles.TROUBLE_CAP), count_capped: n > troubles.TROUBLE_CAP };
}

/** `1 task waits`, `2 tasks wait`. */
function waiting(n: number, more: boolean): string {
  return `${more ? 'More than ' : ''}${counted(n, 'task')} ${n === 1 ? 'waits' : 'wait'}`;
}

function laneItem({ row, lane, kind, obstacle }: LaneState): Attention[] {
  if (obstacle === null) return [];
  const meant = obstacle.never?.did_you_mean ?? null;
  const words = laneInWords(lane);
  const last =
    obstacle.last_seen === null ? '' : `; the last one was seen at ${new Date(obstacle.last_seen).toISOString()}`;
  return [
    {
      type: 'no_worker',
      severity: 'error',
      title: `${waiting(row.tasks, row.more)}, and no worker runs ${words}${last}.`,
      remedy: remedyOf(kind, words, meant),
      since: row.since,
      count: row.tasks,
      count_capped: row.more,
      task_id: row.task_id,
      ...(kind === null ? {} : { kind }),
    },
  ];
}

function remedyOf(kind: string | null, words: string, meant: string | null): string {
  if (kind === null) return 'Start a server: servers call webhooks.';
  if (meant === null) return `Start a worker for ${words}, or cancel the tasks if the kind is misspelled.`;
  return `Cancel the tasks and submit them with the kind "${meant}" if you meant that; else start a worker for ${words}.`;
}

function deadLetterItem({ queue, n, since, reason }: troubles.DeadLettersRow): Attention {
  return {
    type: 'dead_letters',
    severity: 'error',
    title: `The queue ${queue} has ${counted(Math.min(n, troubles.TROUBLE_CAP), 'dead letter')}, the latest because: ${reason}.`,
    remedy: `Fix the cause, then return them to the queue: heddle queue redrive ${queue}`,
    since,
    ...capped(n),
    queue,
  };
}

function lostItem({ holder, n, last_at, since, task_id }: troubles.LostAttemptsRow): Attention {
  const attempts = `${counted(Math.min(n, troubles.TROUBLE_CAP), 'attempt')} of its tasks ${n === 1 ? 'was' : 'were'} requeued`;
  return {
    type: 'lost_worker',
    severity: 'warning',
    title: `${holder === null ? 'Workers that read queues' : `The worker ${holder}`} sent no more heartbeats; ${attempts}, the last one at ${new Date(last_at).toISOString()}.`,
    remedy: 'Look at its log and at the memory of its machine, and start it again if it is gone.',
    since,
    ...capped(n),
    ...(holder === null ? {} : { worker: holder }),
    task_id,
  };
}

function slotItem({ row, obstacle, holders }: FullSlot, now: number): Attention[] {
  const canceled = holders.find(({ state }) => state === 'canceled');
  if (canceled === undefined && now - row.since < RULE_WAIT_MS) return [];
  const fields = Object.entries(obstacle.fields).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  const where = fields.length === 0 ? '' : ` (${fields.join(', ')})`;
  const limit =
    obstacle.rule === 'concurrency'
      ? `${counted(obstacle.max, 'task')} of the kind "${obstacle.kind}"${where} may run at once`
      : `tasks of the kind "${obstacle.kind}"${where} may have ${counted(obstacle.max, 'unit')} of work left at once`;
  const holder = canceled ?? holders[0];
  return [
    {
      type: 'full_rule',
      severity: canceled === undefined ? 'warning' : 'error',
      title: `${waiting(row.tasks, row.more)} for a rule: ${limit}.`,
      remedy: slotRemedy(holder, canceled !== undefined),
      since: row.since,
      count: row.tasks,
      count_capped: row.more,
      slot_id: hashToText(row.slot),
      kind: obstacle.kind,
      ...(holder === undefined ? {} : { task_id: holder.id }),
    },
  ];
}

function slotRemedy(holder: { id: string; name: string } | undefined, isCanceled: boolean): string {
  if (holder === undefined) return 'Wait for the tasks that hold it, or raise the limit of the rule.';
  const name = `"${holder.name}" (${holder.id})`;
  if (!isCanceled)
    return `Wait for ${name}, which has held it the longest, or cancel that; or raise the limit of the rule.`;
  return `The canceled task ${name} still holds it: if its worker has stopped, run heddle task release ${holder.id}`;
}

function deadDeliveryItem({ origin, n, since, error, task_id }: troubles.OriginRow): Attention {
  const deliveries = `${Math.min(n, troubles.TROUBLE_CAP)} ${n === 1 ? 'delivery' : 'deliveries'}`;
  return {
    type: 'webhook_dead',
    severity: 'error',
    title: `${deliveries} to ${origin} ${n === 1 ? 'was' : 'were'} abandoned${becauseOf(error)}.`,
    remedy: 'Fix the target, then replay them; if a start was abandoned, retry its task.',
    since,
    ...capped(n),
    origin,
    task_id,
  };
}

function failingOriginItem({ origin, n, since, error, task_id }: troubles.OriginRow): Attention {
  const deliveries = `${n} ${n === 1 ? 'delivery' : 'deliveries'}`;
  return {
    type: 'webhook_failing',
    severity: 'warning',
    title: `${deliveries} to ${origin} failed three times or more${becauseOf(error)}.`,
    remedy: 'Check the target; the deliveries are tried again until their time is up.',
    since,
    ...capped(n),
    origin,
    task_id,
  };
}

function launchItem({ provider, resource_class, n, since, reason }: troubles.FailedLaunchRow): Attention {
  return {
    type: 'runner_launch_failed',
    severity: 'error',
    title: `Runners of the class ${resource_class} cannot be launched by ${provider}: ${reason}.`,
    remedy: 'Fix the cause; launches are retried. heddle pool status shows the limits of the pool.',
    since,
    ...capped(n),
    resource_class,
  };
}

function becauseOf(error: string | null): string {
  return error === null ? '' : `: ${error}`;
}

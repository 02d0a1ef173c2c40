import type { Task } from '@heddle/base/vocabulary/task';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { Obstacle } from './explanation.ts';
import { runnerSentence } from './runners/explain.ts';

/** Summarizes in one sentence why a task is not running: its first obstacle. */
export function summaryOf(task: Task, obstacles: readonly Obstacle[]): string {
  if (isTerminal(task.state)) {
    const why = task.failure_reason === null ? '' : `: ${task.failure_reason}`;
    return `It has ended (${task.state})${why}.`;
  }
  const first = obstacles[0];
  if (first !== undefined) return sentenceOf(first, task.workflow_id);
  // A worker's own claim runs at once, so a claim that has not begun waits in the queue of its kind's workers.
  return task.state === 'claimed'
    ? `It is in the queue of the kind "${task.kind}" and starts as soon as a worker receives it.`
    : 'It is running.';
}

/** Names the worker and when its lease expires unless it sends a heartbeat. */
export function runningSentence(
  task: Task,
  { holder, heard_at, until }: { holder: string; heard_at: number; until: number | null },
): string {
  const at = (ms: number): string => new Date(ms).toISOString();
  const given = until === null ? '' : `; it is marked lost unless it sends a heartbeat by ${at(until)}`;
  const clock = task.deadline_basis === 'start' ? 'its start' : 'the last activity';
  const timeout = ` Its timeout of ${task.timeout_secs} s counts from ${clock}.`;
  return `It is running: attempt ${task.attempt}, taken by ${holder}, last heartbeat at ${at(heard_at)}${given}.${timeout}`;
}

function sentenceOf(obstacle: Obstacle, workflowId: string): string {
  switch (obstacle.type) {
    case 'sequence':
      return turnSentence(obstacle, workflowId);
    case 'expanding':
      return `It announced ${counted(obstacle.expected, 'node')}, of which ${obstacle.created} ${obstacle.created === 1 ? 'exists' : 'exist'}; it ends when all do.`;
    case 'parents':
      return parentsSentence(obstacle);
    case 'rule':
      return ruleSentence(obstacle);
    case 'paused':
      return 'It is paused; resume it to continue.';
    case 'delayed': {
      const attempt = obstacle.attempt > 1 ? ` (attempt ${obstacle.attempt})` : '';
      return `It does not start before ${new Date(obstacle.until).toISOString()}${attempt}.`;
    }
    case 'no_worker':
      return noWorkerSentence(obstacle);
    case 'runner':
      return runnerSentence(obstacle);
    case 'queued':
      return obstacle.ahead === 0
        ? 'It is next in its lane and starts as soon as a worker requests a task.'
        : `It is ready; ${counted(obstacle.ahead, 'task')} of its lane ${obstacle.ahead === 1 ? 'comes' : 'come'} first.`;
    case 'delivering': {
      if (obstacle.tries === 0) return 'Its start webhook is about to be called.';
      const error = obstacle.last_error === null ? '' : ` (${obstacle.last_error})`;
      return `Its start webhook was tried ${counted(obstacle.tries, 'time')}${error} and will be retried.`;
    }
  }
}

/** The lane as a sentence names it: `the kind "Resize"`. */
export function laneInWords(lane: string): string {
  return lane === 'webhook' ? 'tasks that start by a webhook' : `the kind "${lane.slice('kind:'.length)}"`;
}

/** Says since when no worker asks for a lane. */
export function noWorkerSentence({ lane, last_seen, never }: Extract<Obstacle, { type: 'no_worker' }>): string {
  const tasks = lane === 'webhook' ? laneInWords(lane) : `tasks of ${laneInWords(lane)}`;
  if (last_seen !== null)
    return `No worker has requested ${tasks} since ${new Date(last_seen).toISOString()}; start one.`;
  // The kind was taken by workers before, or is built into Heddle.
  if (never === undefined && lane !== 'webhook') return `No worker has requested ${tasks} lately; start one.`;
  const meant = never?.did_you_mean ?? null;
  const hint = meant === null ? '' : ` Did you mean "${meant}"?`;
  return `No worker has ever requested ${tasks}; start one.${hint}`;
}

/** Names the nodes that must end before a task or a container. */
export function turnSentence(
  { container, before }: Extract<Obstacle, { type: 'sequence' }>,
  workflowId: string,
): string {
  const { id, local_id: name, state } = container;
  const where = name === null && id === workflowId ? `root sequence (${state})` : `sequence "${name ?? id}" (${state})`;
  if (before.length === 0) return `It waits for earlier nodes in the ${where}.`;
  const names = before.slice(0, 3).map((name) => `"${name}"`);
  const more = before.length > 3 ? ` and ${before.length - 3} more` : '';
  return `It waits in the ${where} until ${names.join(', ')}${more} ${before.length === 1 ? 'has' : 'have'} ended.`;
}

function parentsSentence({ parents, total }: Extract<Obstacle, { type: 'parents' }>): string {
  const names = parents.slice(0, 3).map((parent) => `"${parent.name}" (${parent.state})`);
  const more = total > 3 ? ` and ${total - 3} more` : '';
  return `It waits for ${total === 1 ? 'a task' : `${total} tasks`} to end: ${names.join(', ')}${more}.`;
}

/** States the limit of a rule, and which canceled task still holds a slot. */
export function ruleSentence({ rule, kind, max, used, holders }: Extract<Obstacle, { type: 'rule' }>): string {
  const limit =
    rule === 'concurrency'
      ? `A rule lets ${counted(max, 'task')} of kind "${kind}" run at once, and ${used} ${used === 1 ? 'does' : 'do'}.`
      : `A rule lets tasks of kind "${kind}" have ${counted(max, 'unit')} of work left at once, and they have ${used}.`;
  const canceled = holders.find(({ state }) => state === 'canceled');
  if (canceled === undefined) return limit;
  return (
    `${limit} One of them, "${canceled.name}", is canceled, but its worker has not reported that it stopped; ` +
    `if it has, "heddle task release ${canceled.id}" frees its slot.`
  );
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

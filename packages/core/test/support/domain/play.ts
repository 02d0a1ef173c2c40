import type { TaskId } from '@heddle/base/ids';
import {
  type Model,
  type ModelEvent,
  type ModelReport,
  type ModelTask,
  type Step,
  emptyModel,
  idealClaim,
  step,
} from '@heddle/test-support/model';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import { buildWorkflow, deterministicIds } from './scenario.ts';
import type { Command, Pick, Pool, Scenario, Speaker } from './scenario.ts';

const POOLS: Record<Pool, (task: ModelTask) => boolean> = {
  any: () => true,
  open: (task) => task.attempt_open,
  claimed: (task) => task.state === 'claimed' && task.delivering,
  unstarted: (task) => task.state === 'waiting' || task.state === 'pending',
  paused: (task) => task.state === 'paused',
  ended: (task) => isTerminal(task.state),
  ended_badly: (task) => isTerminal(task.state) && task.state !== 'succeeded',
};

/** The task that a pick means now; undefined while there are no tasks. */
function resolvePick(model: Model, pick: Pick): ModelTask | undefined {
  const all = [...model.tasks.values()];
  const pool = all.filter(POOLS[pick.pool]);
  const from = pool.length > 0 ? pool : all;
  return from[pick.n % from.length];
}

function resolvePicks(model: Model, picks: readonly Pick[]): TaskId[] {
  const ids = picks.map((pick) => resolvePick(model, pick)?.definition.id);
  return [...new Set(ids.filter((id) => id !== undefined))];
}

export function attemptOf(task: ModelTask, speaker: Speaker): number | null {
  switch (speaker) {
    case 'current':
      return task.attempt;
    case 'stale':
      return task.attempt - 1;
    case 'future':
      return task.attempt + 1;
    case 'anonymous':
      return null;
  }
}

/** The event that a command means where the model alone decides it; null for claims, deliveries, submissions and time. */
export function eventOf(model: Model, command: Command): ModelEvent | null {
  switch (command.type) {
    case 'report': {
      const reports = command.items.flatMap((item): ModelReport[] => {
        const task = resolvePick(model, item.pick);
        if (task === undefined) return [];
        return [
          {
            task_id: task.definition.id,
            attempt: attemptOf(task, item.speaker),
            outcome: item.outcome,
            ...(item.counts ?? {}),
            ...(item.patch === null ? {} : { metadata_patch: item.patch }),
          },
        ];
      });
      return { type: 'report', reports };
    }
    case 'update': {
      const task = resolvePick(model, command.pick);
      if (task === undefined) return null;
      const update = {
        task_id: task.definition.id,
        attempt: attemptOf(task, command.speaker),
        ...(command.counts ?? {}),
        ...(command.patch === null ? {} : { metadata_patch: command.patch }),
      };
      return { type: 'update', updates: [update] };
    }
    case 'progress': {
      const reports = command.items.flatMap(({ pick, counts }) => {
        const task = resolvePick(model, pick);
        return task === undefined ? [] : [{ task_id: task.definition.id, ...counts }];
      });
      return { type: 'progress', reports };
    }
    case 'cancel':
    case 'pause':
    case 'resume':
    case 'retry':
    case 'retry_after':
      return { type: command.type, ids: resolvePicks(model, command.picks) };
    case 'lose_delivery': {
      const task = resolvePick(model, command.pick);
      return task?.delivering === true ? { type: 'lose_delivery', ids: [task.definition.id] } : null;
    }
    case 'submit':
    case 'claim':
    case 'claim_for_delivery':
    case 'deliver':
    case 'advance':
      return null;
  }
}

export type Observer = (before: Model, event: ModelEvent, after: Step, now: number) => void;

/** Plays a scenario on the model alone, with the ideal claim in the engine's place; returns where it ended. */
export function playOnModel(scenario: Scenario, observe: Observer = () => undefined): { model: Model; now: number } {
  const newId = deterministicIds();
  const unsubmitted = [...scenario.workflows];
  let model = emptyModel(30_000);
  let now = 1_000_000;
  const apply = (event: ModelEvent): void => {
    const after = step(model, event, now);
    observe(model, event, after, now);
    model = after.model;
  };
  const submitNext = (): void => {
    const spec = unsubmitted.shift();
    if (spec === undefined) return;
    apply({ type: 'submit', ...buildWorkflow(spec, newId, [...model.tasks.keys()]) });
    claim([0, 1, 2], spec.along ?? 0);
  };
  const claim = (kinds: readonly number[], limit: number): void => {
    const lanes = kinds.map((kind) => `kind:kind-${kind}`);
    if (limit > 0) apply({ type: 'claim', ids: idealClaim(model, lanes, limit, now), into: 'running' });
  };
  submitNext();
  for (const command of scenario.commands) {
    switch (command.type) {
      case 'submit':
        submitNext();
        break;
      case 'claim':
        claim(command.kinds, command.limit);
        break;
      case 'claim_for_delivery':
        apply({ type: 'claim', ids: idealClaim(model, ['webhook'], command.limit, now), into: 'claimed' });
        break;
      case 'deliver':
        for (const event of deliveries(model, command)) apply(event);
        break;
      case 'advance':
        now += command.ms;
        apply({ type: 'expire' });
        break;
      case 'report':
      case 'update':
      case 'progress':
      case 'cancel':
      case 'pause':
      case 'resume':
      case 'lose_delivery':
      case 'retry':
      case 'retry_after': {
        const event = eventOf(model, command);
        if (event !== null) apply(event);
        if (command.type === 'report') claim([0, 1, 2], command.along ?? 0);
      }
    }
  }
  return { model, now };
}

function deliveries(model: Model, command: Extract<Command, { type: 'deliver' }>): ModelEvent[] {
  const claimed = [...model.tasks.values()]
    .filter((task) => task.state === 'claimed' && task.delivering)
    .slice(0, command.limit);
  return claimed.flatMap((task, at): ModelEvent[] => {
    const verdict = command.verdicts[at % command.verdicts.length]!;
    const id = task.definition.id;
    const tried: ModelEvent = { type: 'try_start', ids: [id] };
    if (verdict === 'retry') return [tried];
    if (verdict === 'delivered') return [tried, { type: 'start', ids: [id] }];
    return [tried, { type: 'report', reports: [{ task_id: id, attempt: task.attempt, outcome: 'failed' }] }];
  });
}

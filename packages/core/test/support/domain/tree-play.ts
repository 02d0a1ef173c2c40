import {
  type Model,
  type ModelCreation,
  type ModelEvent,
  type ModelTask,
  containerOf,
  createdBy,
  emptyModel,
  idealClaim,
  step,
} from '@heddle/test-support/model';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { Outcome } from '@heddle/base/vocabulary/task-state';
import { attemptOf } from './play.ts';
import type { Observer } from './play.ts';
import { deterministicIds } from './scenario.ts';
import { buildNode, buildTree, nameOf } from './tree-scenario.ts';
import type { CreationSpec, TreeCommand, TreePick, TreePool, TreeScenario } from './tree-scenario.ts';

const POOLS: Record<TreePool, (task: ModelTask) => boolean> = {
  any: () => true,
  open: (task) => task.attempt_open && !isTerminal(task.state),
  generating: (task) => task.place?.generates === true && task.attempt_open && !isTerminal(task.state),
  unstarted: (task) => task.state === 'waiting' || task.state === 'pending',
  paused: (task) => task.state === 'paused',
  ended: (task) => isTerminal(task.state),
  ended_badly: (task) => isTerminal(task.state) && task.state !== 'succeeded',
};

function resolve(model: Model, pick: TreePick): ModelTask | undefined {
  const all = [...model.tasks.values()];
  const pool = all.filter(POOLS[pick.pool]);
  const from = pool.length > 0 ? pool : all;
  return from[pick.n % from.length];
}

function resolveAll(model: Model, picks: readonly TreePick[]): string[] {
  return [...new Set(picks.flatMap((pick) => resolve(model, pick)?.definition.id ?? []))];
}

/** Turns commands into events; remembers the messages of generators, so that they can be sent again. */
export class TreeScript {
  readonly #newId: () => string;
  readonly #kind: string;
  readonly #sent: ModelCreation[] = [];

  constructor(newId: () => string, kind: string) {
    this.#newId = newId;
    this.#kind = kind;
  }

  /** The event that a command means where the model alone decides it; null for claims, submissions and time. */
  eventOf(model: Model, command: TreeCommand): ModelEvent | null {
    switch (command.type) {
      case 'report':
        return { type: 'report', reports: command.items.flatMap((item) => reportOf(model, item)) };
      case 'decide':
        return { type: 'report', reports: decisionOf(model, command) };
      case 'report_all': {
        const open = [...model.tasks.values()].filter(POOLS.open);
        const outcomeAt = (at: number): Outcome => command.outcomes[at % command.outcomes.length]!;
        const reports = open.map(({ definition }, at) => ({
          task_id: definition.id,
          attempt: null,
          outcome: outcomeAt(at),
        }));
        return { type: 'report', reports };
      }
      case 'create':
        return { type: 'create_nodes', creations: command.items.flatMap((item) => this.#creationOf(model, item)) };
      case 'complete':
        return { type: 'complete_generators' };
      case 'heartbeat':
        return { type: 'heartbeat', beats: beatsOf(model, command.items) };
      case 'release': {
        const tasks = beatsOf(model, command.items).map(({ task_id, attempt }) => ({ task_id, attempt }));
        return { type: 'release', tasks };
      }
      case 'cancel':
      case 'pause':
      case 'resume':
      case 'retry':
      case 'retry_after':
        return { type: command.type, ids: resolveAll(model, command.picks) };
      case 'cancel_workflow':
      case 'pause_workflow':
      case 'resume_workflow':
      case 'retry_workflow': {
        const roots = [...model.containers.values()].filter((container) => container.parent_id === null);
        const root = roots[command.n % roots.length];
        return root === undefined ? null : { type: command.type, workflow_id: root.workflow_id };
      }
      case 'submit':
      case 'submit_again':
      case 'claim':
      case 'advance':
        return null;
    }
  }

  #creationOf(model: Model, spec: CreationSpec): ModelCreation[] {
    const earlier = spec.repeats === null ? undefined : this.#sent.at(-1 - spec.repeats);
    if (earlier !== undefined) {
      // As it was sent then, or by the attempt that runs now.
      const sender = model.tasks.get(earlier.generator_id);
      const again =
        spec.speaker === 'stale' || sender === undefined ? earlier.attempt : attemptOf(sender, spec.speaker);
      return [{ ...earlier, attempt: again }];
    }
    const generator = resolve(model, spec.generator);
    if (generator === undefined) return [];
    const containers = [...model.containers.values()].filter(
      (container) => (container.workflow_id === generator.workflow_id) === (spec.into !== 'stranger'),
    );
    const picked = containers[spec.n % containers.length];
    const parents: Record<CreationSpec['into'], string | null> = {
      own: null,
      id: picked?.id ?? null,
      name: nameOf(spec.n),
      stranger: picked?.id ?? 'a name that no node has',
    };
    const creation = {
      generator_id: generator.definition.id,
      attempt: attemptOf(generator, spec.speaker),
      node: buildNode(spec.node, this.#newId, this.#kind),
      parent: parents[spec.into],
    };
    this.#sent.push(creation);
    return [creation];
  }
}

function reportOf(
  model: Model,
  {
    pick,
    speaker,
    outcome,
    expects,
    final = false,
    disables = [],
  }: Extract<TreeCommand, { type: 'report' }>['items'][number],
) {
  const task = resolve(model, pick);
  if (task === undefined) return [];
  const task_id = task.definition.id;
  const report = {
    task_id,
    attempt: attemptOf(task, speaker),
    outcome,
    ...(final ? { final } : {}),
    ...disableOf(model, task, disables),
  };
  return expects === null
    ? [report]
    : [{ ...report, expected_created: Math.max(createdBy(model, task_id) + expects, 0) }];
}

/** A success of some open task in a sequence, with what it disables of its later siblings. */
function decisionOf(model: Model, { n, disables }: Extract<TreeCommand, { type: 'decide' }>) {
  const deciders = [...model.tasks.values()].flatMap((task) => {
    if (!POOLS.open(task) || task.place === null) return [];
    const { mode, children } = containerOf(model, task.place.container_id);
    const later = children.slice(children.indexOf(task.definition.id) + 1);
    return mode === 'sequential' && later.length > 0 ? [{ task, later }] : [];
  });
  const picked = deciders[n % deciders.length];
  if (picked === undefined) return [];
  const { task, later } = picked;
  const disable = disables.map((at) => later[at % later.length]!);
  return [{ task_id: task.definition.id, attempt: task.attempt, outcome: 'succeeded' as const, disable }];
}

/** Siblings by their ids or names, whatever stands before, after or beside the task; now and then a stranger. */
function disableOf(model: Model, task: ModelTask, disables: readonly number[]): { disable?: string[] } {
  if (disables.length === 0 || task.place === null) return {};
  const { children } = containerOf(model, task.place.container_id);
  const disable = disables.flatMap((n) => {
    const from = n % 5 === 0 ? [...model.containers.keys(), ...model.tasks.keys()] : children;
    const id = from[n % from.length];
    if (id === undefined) return [];
    return [n % 2 === 0 ? id : (model.containers.get(id)?.local_id ?? id)];
  });
  return { disable };
}

function beatsOf(model: Model, items: Extract<TreeCommand, { type: 'heartbeat' | 'release' }>['items']) {
  const seen = new Set<string>();
  return items.flatMap(({ pick, speaker }) => {
    const task = resolve(model, pick);
    if (task === undefined || seen.has(task.definition.id)) return [];
    seen.add(task.definition.id);
    const attempt = Math.max(attemptOf(task, speaker)!, 1);
    return [{ task_id: task.definition.id, attempt, new_success: 0, new_failures: 0 }];
  });
}

/** Plays a scenario on the model alone; returns where it ended. */
export function playTreesOnModel(
  scenario: TreeScenario,
  observe: Observer = () => undefined,
): { model: Model; now: number } {
  const newId = deterministicIds();
  const script = new TreeScript(newId, 'work');
  const trees = scenario.workflows.map((spec) => buildTree(spec, newId, 'work'));
  let submitted = 0;
  let model = emptyModel(30_000);
  let now = 1_000_000;
  const apply = (event: ModelEvent): void => {
    const after = step(model, event, now);
    observe(model, event, after, now);
    model = after.model;
  };
  for (const command of [{ type: 'submit' } as const, ...scenario.commands]) {
    const event = script.eventOf(model, command);
    if (event !== null) apply(event);
    else if (command.type === 'claim') {
      const ids = idealClaim(model, ['kind:work'], command.limit, now);
      apply({ type: 'claim', ids, into: 'running', lease_ms: command.lease_ms });
    } else if (command.type === 'advance') {
      now += command.ms;
      apply({ type: 'expire' });
    } else {
      if (command.type === 'submit' && submitted < trees.length) submitted += 1;
      apply({ type: 'submit_workflow', root: trees[submitted - 1]! });
    }
  }
  return { model, now };
}

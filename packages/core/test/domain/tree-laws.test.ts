import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Model,
  type ModelContainer,
  type ModelEvent,
  childNodes,
  containerOf,
  countChildren,
  createdBy,
  hasEnded,
  idealClaim,
  step,
  withAncestors,
} from '@heddle/test-support/model';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import { derivedState, tolerates } from '@heddle/base/vocabulary/workflow';
import { playTreesOnModel } from '../support/domain/tree-play.ts';
import { treeScenarioArbitrary } from '../support/domain/tree-scenario.ts';
import type { TreeScenario, TreeSize } from '../support/domain/tree-scenario.ts';

const SIZE: TreeSize = { width: 4, depth: 4, commands: 40, workflows: 2, delays: true };
const DECISIONS: TreeSize = { width: 4, depth: 3, commands: 60, workflows: 1, decisions: true };
const runs = { numRuns: Number(process.env['HEDDLE_PROPERTY_RUNS'] ?? 100) };

function law(name: string, holds: (scenario: TreeScenario) => void): void {
  test(name, () => {
    for (const size of [SIZE, DECISIONS]) fc.assert(fc.property(treeScenarioArbitrary(size), holds), runs);
  });
}

function stateLines(model: Model): string[] {
  return [
    ...[...model.tasks].map(([id, task]) => `${id} ${task.state} ${task.attempt}`),
    ...[...model.containers].map(([id, container]) => `${id} ${container.state}`),
  ];
}

function isRetry(event: ModelEvent): boolean {
  return event.type === 'retry' || event.type === 'retry_after' || event.type === 'retry_workflow';
}

/** At work, or about to be. */
function isActive(model: Model, id: string): boolean {
  const task = model.tasks.get(id);
  if (task === undefined) return containerOf(model, id).state === 'running';
  return !isTerminal(task.state) && (task.state === 'pending' || task.attempt_open);
}

law('a node of a tree that ended changes by nothing but the operator’s retry', (scenario) => {
  playTreesOnModel(scenario, (before, event, { model }) => {
    if (isRetry(event)) return;
    for (const [id, task] of before.tasks) {
      if (isTerminal(task.state)) assert.equal(model.tasks.get(id)!.state, task.state, `task after ${event.type}`);
    }
    for (const [id, container] of before.containers) {
      if (isTerminal(container.state)) assert.equal(containerOf(model, id).state, container.state, event.type);
    }
  });
});

law('nothing starts before its turn', (scenario) => {
  playTreesOnModel(scenario, (_, event, { model }) => {
    for (const [id, task] of model.tasks) {
      if (!isActive(model, id)) continue;
      let child: string = id;
      for (const container of withAncestors(model, task.place!.container_id)) {
        assert.equal(container.state, 'running', `around an active task after ${event.type}`);
        const earlier = childNodes(model, container).slice(0, container.children.indexOf(child));
        if (container.mode === 'sequential') {
          assert.ok(
            earlier.every((node) => hasEnded(node) && tolerates(node.policy, node.state)),
            `not its turn after ${event.type}`,
          );
        }
        child = container.id;
      }
    }
  });
});

law('a sequence never has two children at work', (scenario) => {
  playTreesOnModel(scenario, (_, event, { model }) => {
    for (const container of model.containers.values()) {
      if (container.mode === 'parallel') continue;
      const active = container.children.filter((id) => isActive(model, id));
      assert.ok(active.length <= 1, `${active.join(', ')} after ${event.type}`);
    }
  });
});

law('what waits has a reason to', (scenario) => {
  playTreesOnModel(scenario, (_, event, { model }) => {
    for (const task of model.tasks.values()) {
      if (task.state !== 'waiting') continue;
      const container = containerOf(model, task.place!.container_id);
      const itsTurn =
        container.state === 'running' &&
        (container.mode === 'parallel' ||
          childNodes(model, container).find((child) => !hasEnded(child))?.id === task.definition.id);
      assert.ok(!itsTurn, `waits in its turn after ${event.type}`);
    }
  });
});

function isStopped(model: Model, container: ModelContainer): boolean {
  return (
    container.mode === 'sequential' &&
    childNodes(model, container).some((child) => hasEnded(child) && !tolerates(child.policy, child.state))
  );
}

law('the state of a container is what its children make of it', (scenario) => {
  playTreesOnModel(scenario, (_, event, { model }) => {
    for (const container of model.containers.values()) {
      if (!isTerminal(container.state) || container.disabled_by !== null) continue;
      const counts = countChildren(model, container);
      assert.equal(counts.open, 0, `ended around open children after ${event.type}`);
      const lawful = [
        derivedState(counts, false),
        ...(isStopped(model, container) ? [derivedState(counts, true)] : []),
      ];
      assert.ok(
        lawful.some((state) => state === container.state),
        `${container.state} after ${event.type}`,
      );
    }
  });
});

law(
  'what is disabled stands after the end that stopped its sequence, or after the task that decided so',
  (scenario) => {
    playTreesOnModel(scenario, (_, event, { model }) => {
      for (const [id, node] of [...model.tasks, ...model.containers]) {
        if (node.disabled_by === null) continue;
        assert.equal(node.state, 'disabled');
        const cause = model.tasks.get(node.disabled_by) ?? containerOf(model, node.disabled_by);
        assert.ok(isTerminal(cause.state), `its cause is ${cause.state} after ${event.type}`);
        assert.ok(standsAfter(model, id, node.disabled_by), `it does not stand after its cause, after ${event.type}`);
        if (cause.state === 'succeeded') assert.ok(model.tasks.has(node.disabled_by), 'only tasks decide');
      }
    });
  },
);

/** Whether a node, or a container around it, comes after the other one in a sequence. */
function standsAfter(model: Model, id: string, earlier: string): boolean {
  let child = id;
  const parent = model.tasks.get(id)?.place?.container_id ?? model.containers.get(id)?.parent_id ?? null;
  for (const container of parent === null ? [] : withAncestors(model, parent)) {
    const at = container.children.indexOf(earlier);
    if (at >= 0) return container.mode === 'sequential' && at < container.children.indexOf(child);
    child = container.id;
  }
  return false;
}

law('a retry leaves branches that were not taken as they are, unless the task that decided runs again', (scenario) => {
  playTreesOnModel(scenario, (before, event, { model }) => {
    if (!isRetry(event)) return;
    const nodes: [string, { disabled_by: string | null }][] = [...before.tasks, ...before.containers];
    for (const [id, node] of nodes) {
      if (node.disabled_by === null || before.tasks.get(node.disabled_by)?.state !== 'succeeded') continue;
      const decider = model.tasks.get(node.disabled_by)!;
      const now = model.tasks.get(id) ?? containerOf(model, id);
      assert.equal(now.state === 'disabled', decider.state === 'succeeded', `after ${event.type}`);
    }
  });
});

law('a workflow without open tasks has only containers that ended', (scenario) => {
  playTreesOnModel(scenario, (_, event, { model }) => {
    const open = new Set([...model.tasks.values()].filter(({ state }) => !isTerminal(state)).map((t) => t.workflow_id));
    for (const container of model.containers.values()) {
      if (open.has(container.workflow_id)) continue;
      assert.ok(isTerminal(container.state), `${container.id} is ${container.state} after ${event.type}`);
    }
  });
});

law('a container never ends before the generators that may fill it', (scenario) => {
  playTreesOnModel(scenario, (_, event, { model }) => {
    for (const container of model.containers.values()) {
      if (!isTerminal(container.state) || container.disabled_by !== null || isStopped(model, container)) continue;
      for (const id of container.open_generators) {
        assert.ok(isTerminal(model.tasks.get(id)!.state), `a generator that adds to it is at work after ${event.type}`);
      }
    }
  });
});

law('finishing every ready task ends every workflow', (scenario) => {
  let { model, now } = playTreesOnModel(scenario);
  const apply = (event: ModelEvent): void => void ({ model } = step(model, event, now));
  const everyTask = (): string[] => [...model.tasks.keys()];
  for (const container of model.containers.values()) {
    if (container.parent_id === null) apply({ type: 'resume_workflow', workflow_id: container.workflow_id });
  }
  apply({ type: 'resume', ids: everyTask() });
  for (let round = 0; ; round += 1) {
    const open = [...model.tasks.values()].filter((task) => !isTerminal(task.state));
    if (open.length === 0) break;
    assert.ok(round <= model.tasks.size * 4, `stuck: ${open.map((task) => task.state).join(', ')}`);
    now += 4_000_000;
    apply({ type: 'expire' });
    apply({ type: 'claim', ids: idealClaim(model, ['kind:work'], 1_000, now), into: 'running' });
    apply({
      type: 'report',
      reports: everyTask().map((task_id) => ({ task_id, attempt: null, outcome: 'succeeded' as const })),
    });
  }
  for (const container of model.containers.values()) assert.ok(isTerminal(container.state), container.state);
});

law('repeated messages change nothing', (scenario) => {
  playTreesOnModel(scenario, (_, event, after, now) => {
    if (event.type === 'create_nodes') {
      // What was rejected may be accepted now, where the set made its container.
      const creations = event.creations.filter((_, at) => ['created', 'exists'].includes(after.creations[at]!));
      const again = step(after.model, { ...event, creations }, now);
      assert.deepEqual(stateLines(again.model), stateLines(after.model));
      assert.ok(again.creations.every((answer) => answer === 'exists'));
    }
    if (event.type === 'submit_workflow' || event.type === 'complete_generators') {
      assert.deepEqual(step(after.model, event, now).model, after.model);
    }
  });
});

law('an expanding generator has what it announced as soon as that exists', (scenario) => {
  playTreesOnModel(scenario, (_, event, { model }) => {
    for (const [id, task] of model.tasks) {
      if (task.state !== 'expanding') continue;
      assert.ok(task.expanding && task.attempt_open && task.deadline_at !== null);
      if (event.type === 'complete_generators') assert.ok(createdBy(model, id) < task.expected_created!);
    }
  });
});

law('a retry keeps what succeeded, but for what came later in a sequence', (scenario) => {
  playTreesOnModel(scenario, (before, event, { model, workflow }) => {
    if (event.type !== 'retry_workflow' || typeof workflow !== 'number') return;
    const reopened = [...model.tasks.values()].filter(
      (task) => isTerminal(before.tasks.get(task.definition.id)!.state) && !isTerminal(task.state),
    );
    for (const [id, task] of before.tasks) {
      if (task.workflow_id !== event.workflow_id) continue;
      const after = model.tasks.get(id)!;
      if (task.state === 'succeeded' && after.state !== 'succeeded') {
        assert.ok(withAncestors(model, task.place!.container_id).some(({ mode }) => mode === 'sequential'));
        assert.ok(reopened.length > 1, 'it came after something that runs again');
      }
      if (task.place!.disabled) assert.equal(after.state, 'disabled');
    }
  });
});

import { canonicalJson } from '@heddle/base/json';
import type { JsonValue } from '@heddle/base/json';
import type { WorkflowId } from '@heddle/base/ids';
import {
  type Model,
  containerOf,
  countChildren,
  createdBy,
  openGenerators,
  openGates,
  runCounts,
} from '@heddle/test-support/model';
import type { WorkflowSummary } from '@heddle/base/vocabulary/task';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { Container, TreeTask, WorkflowTree } from '@heddle/base/vocabulary/workflow';
import type { Engine } from '../../../../src/engine/port.ts';
import type { Database } from '../../../../src/store/database.ts';
import { incompleteAttempts, lostTasks, runDifferences } from './differences.ts';

/** Where the database says otherwise than the model of these trees, one line each; empty where they agree. */
export async function treeDifferences(engine: Engine, database: Database, model: Model): Promise<string[]> {
  const found: string[] = [];
  const roots = [...model.containers.values()].filter(({ parent_id }) => parent_id === null);
  for (const { workflow_id } of roots) {
    const stored = await engine.getTree(workflow_id);
    if (stored === null) found.push(`workflow ${workflow_id} is missing`);
    else found.push(...summaryDifferences(model, stored.workflow), ...nodeDifferences(model, workflow_id, stored.tree));
    found.push(...(await runDifferences(database, model, workflow_id)));
  }
  found.push(...(await lostTasks(database, model)), ...(await incompleteAttempts(database)));
  return found;
}

type Pair = [field: string, actual: JsonValue, expected: JsonValue];

function unequal(name: string, pairs: readonly Pair[]): string[] {
  return pairs
    .filter(([, actual, expected]) => canonicalJson(actual) !== canonicalJson(expected))
    .map(
      ([field, actual, expected]) => `${name}: ${field} ${canonicalJson(actual)}, expected ${canonicalJson(expected)}`,
    );
}

function summaryDifferences(model: Model, workflow: WorkflowSummary): string[] {
  const { total, remaining } = runCounts(model, workflow.id);
  const root: string = workflow.id;
  return unequal('workflow', [
    ['task_count', workflow.task_count, total],
    ['remaining', workflow.remaining, remaining],
    ['ended', workflow.ended_at !== null, remaining === 0],
    ['root_state', workflow.root_state, containerOf(model, root).state],
    ['paused', workflow.paused, model.paused.has(workflow.id)],
  ]);
}

function nodeDifferences(model: Model, workflowId: WorkflowId, tree: WorkflowTree): string[] {
  const isOfIt = (node: { workflow_id: WorkflowId }): boolean => node.workflow_id === workflowId;
  return [
    ...unequal('workflow', [
      ['containers', tree.containers.length, [...model.containers.values()].filter(isOfIt).length],
      ['tasks', tree.tasks.length, [...model.tasks.values()].filter(isOfIt).length],
    ]),
    ...tree.containers.flatMap((container) => containerDifferences(model, container)),
    ...tree.tasks.flatMap((task) => taskDifferences(model, task)),
  ];
}

function containerDifferences(model: Model, actual: Container): string[] {
  const expected = model.containers.get(actual.id);
  if (expected === undefined) return [`unknown container ${actual.id}`];
  const siblings = expected.parent_id === null ? [] : containerOf(model, expected.parent_id).children;
  return unequal(`container ${actual.id}`, [
    ['state', actual.state, expected.state],
    ['counts', { ...actual.counts }, { ...countChildren(model, expected) }],
    ['open_generators', actual.open_generators, openGenerators(model, expected).length],
    ['parent_id', actual.parent_id, expected.parent_id],
    ['position', actual.position, Math.max(siblings.indexOf(actual.id), 0)],
    ['local_id', actual.local_id, expected.local_id],
    ['mode', actual.mode, expected.mode],
    ['policy', actual.policy, expected.policy],
    ['ended', actual.ended_at !== null, isTerminal(expected.state)],
    ['cause', expected.disabled_by !== null && actual.reason?.includes(expected.disabled_by) !== true, false],
  ]);
}

/** Only generators are read with what they made; others may make nodes, too. */
function expansionPairs(model: Model, actual: TreeTask): Pair[] {
  const expected = model.tasks.get(actual.id)!;
  if (actual.expansion === null && !expected.place!.generates) return [];
  return [
    ['created', actual.expansion?.created ?? 0, createdBy(model, actual.id)],
    ['expected', actual.expansion?.expected ?? null, expected.expected_created],
  ];
}

function taskDifferences(model: Model, actual: TreeTask): string[] {
  const expected = model.tasks.get(actual.id);
  const place = expected?.place;
  if (expected === undefined || place === undefined || place === null) return [`unknown task ${actual.id}`];
  const ended = isTerminal(expected.state);
  return unequal(`task ${actual.id}`, [
    ['state', actual.state, expected.state],
    ['attempt', actual.attempt, expected.attempt],
    ['open_gates', ended ? 0 : actual.open_gates, ended ? 0 : openGates(model, expected)],
    ['container_id', actual.container_id, place.container_id],
    ['position', actual.position, containerOf(model, place.container_id).children.indexOf(actual.id)],
    ['policy', actual.policy, place.policy],
    ['generator_id', actual.generator_id, place.generator_id],
    ...expansionPairs(model, actual),
    ['ended', actual.ended_at !== null, ended],
    ['cause', expected.disabled_by !== null && actual.failure_reason?.includes(expected.disabled_by) !== true, false],
  ]);
}

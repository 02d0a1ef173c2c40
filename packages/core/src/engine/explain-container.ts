import { containerEnded, taskStateOf } from '@heddle/base/vocabulary/task-state';
import type { Container } from '@heddle/base/vocabulary/workflow';
import type { Queryable } from '../store/database.ts';
import * as obstacles from '../store/obstacles.ts';
import { findWorkflow } from '../store/task-reads.ts';
import { containerStateOf, findContainersById } from '../store/tree-reads.ts';
import type { EngineContext } from './context.ts';
import { counted, turnSentence } from './explain-summary.ts';
import type { ContainerExplanation, ContainerObstacle, OpenChild } from './explanation.ts';

/** Maximum number of children and generators per answer. */
const NAMED_MAX = 20;

/**
 * Explains why a container has not started or not ended, in one snapshot. Returns null if the workflow has no such
 * container.
 */
export function explainContainer(
  context: EngineContext,
  workflowId: string,
  containerId: string,
): Promise<ContainerExplanation | null> {
  return context.database.transaction(
    async (tx) => {
      const [container] = await findContainersById(tx, workflowId, [containerId]);
      if (container === undefined) return null;
      const found = containerEnded(container.state) ? [] : await obstaclesOf(tx, container);
      return { container, summary: summaryOf(container, found), obstacles: found };
    },
    { isolation: 'repeatable read', readOnly: true },
  );
}

async function obstaclesOf(tx: Queryable, container: Container): Promise<ContainerObstacle[]> {
  const found: ContainerObstacle[] = [];
  const workflow = await findWorkflow(tx, container.workflow_id);
  if (workflow?.paused === true) found.push({ type: 'workflow_paused' });
  const turn = await obstacles.findTurnOfContainer(tx, container.id);
  if (turn !== null) {
    const { id, local_id, state, before } = turn;
    found.push({ type: 'sequence', container: { id, local_id, state: containerStateOf(state) }, before });
    return found;
  }
  if (container.counts.open > 0) {
    const rows = await obstacles.findOpenChildren(tx, container.id, container.mode === 'sequential' ? 1 : NAMED_MAX);
    found.push({ type: 'children', children: rows.map(childOf), open: container.counts.open });
  }
  const generators = await obstacles.findOpenGenerators(tx, container.id, NAMED_MAX);
  if (generators.length > 0) {
    found.push({
      type: 'generators',
      generators: generators.map(({ id, name, state }) => ({ id, name, state: taskStateOf(state) })),
      total: generators[0]!.total,
    });
  }
  return found;
}

function childOf({ id, name, state, is_container: isContainer }: obstacles.OpenChildRow): OpenChild {
  return isContainer
    ? { type: 'container', id, name, state: containerStateOf(state) }
    : { type: 'task', id, name, state: taskStateOf(state) };
}

function summaryOf(container: Container, found: readonly ContainerObstacle[]): string {
  if (containerEnded(container.state)) {
    return `It has ended (${container.state})${container.reason === null ? '' : `: ${container.reason}`}.`;
  }
  const first = found[0];
  if (first === undefined) return 'Nothing blocks it: it continues as soon as the manager processes it.';
  switch (first.type) {
    case 'workflow_paused':
      return 'Its workflow is paused; resume it to continue.';
    case 'sequence':
      return turnSentence(first, container.workflow_id);
    case 'children':
      return childrenSentence(container, first);
    case 'generators':
      return `It stays open for ${counted(first.total, 'generator')} that may still add children: ${namesOf(first.generators, first.total)}.`;
  }
}

function childrenSentence(
  { mode }: Container,
  { children, open }: Extract<ContainerObstacle, { type: 'children' }>,
): string {
  const names = namesOf(children, mode === 'sequential' ? children.length : open);
  if (mode === 'parallel') return `It waits for ${counted(open, 'node')} to end: ${names}.`;
  const rest = open - children.length;
  return `It has come to ${names}${rest === 0 ? ', its last child' : `; ${counted(rest, 'node')} ${rest === 1 ? 'comes' : 'come'} after that`}.`;
}

function namesOf(nodes: readonly { name: string; state: string }[], total: number): string {
  const names = nodes.slice(0, 3).map(({ name, state }) => `"${name}" (${state})`);
  return `${names.join(', ')}${total > names.length ? ` and ${total - names.length} more` : ''}`;
}

import type { Queryable } from '../../store/database.ts';
import type { Moved } from '../../store/transitions.ts';
import { placeNodes, storeNodes, type Placement } from '../../store/trees.ts';
import type { EngineContext } from '../context.ts';
import type { NodeCreation, NodeCreationResult } from '../port.ts';
import { vocabularyOf, type Vocabulary } from '../submission-rows.ts';
import { flatten, idOf } from './flatten.ts';
import { tasksOf } from './submit-workflows.ts';
import { TreeRowBuilder } from './tree-rows.ts';

const CREATED = 0;
const EXISTS = 1;
const NO_CONTAINER = 4;

/** Adds what generators made, in one transaction. A node may go into a container that an earlier one of the set is. */
export async function createNodes(
  context: EngineContext,
  creations: readonly NodeCreation[],
): Promise<NodeCreationResult[]> {
  if (creations.length === 0) return [];
  const tasks = creations.map(({ node }) => ({ tasks: tasksOf(node) }));
  const vocabulary = await vocabularyOf(context, tasks);
  const { results, moves } = await context.database.transaction((tx) => createAll(context, tx, creations, vocabulary));
  for (const moved of moves) await context.observer.moved(moved);
  const created = tasks.reduce(
    (sum, list, index) => (results[index]!.result === 'created' ? sum + list.tasks.length : sum),
    0,
  );
  context.observer.created(created, created);
  return results;
}

async function createAll(
  context: EngineContext,
  tx: Queryable,
  creations: readonly NodeCreation[],
  vocabulary: Vocabulary,
): Promise<{ results: NodeCreationResult[]; moves: Moved[] }> {
  const results = new Array<NodeCreationResult>(creations.length);
  const moves: Moved[] = [];
  const firstOf = new Map<string, number>();
  for (const [index, { node }] of creations.entries()) {
    const id = idOf({ node });
    if (!firstOf.has(id)) firstOf.set(id, index);
  }
  let waiting = [...firstOf.values()];
  while (waiting.length > 0) {
    const placements = await placeNodes(
      tx,
      waiting.map((n) => {
        const { node, generator_id, parent } = creations[n]!;
        return { n, i: idOf({ node }), g: generator_id, p: parent };
      }),
    );
    const moved = await storeRound(context, tx, creations, placements, vocabulary);
    if (moved !== null) moves.push(moved);
    const made = namesOf(creations, placements);
    waiting = [];
    for (const placement of placements) {
      const parent = creations[placement.n]!.parent;
      if (placement.code === NO_CONTAINER && parent !== null && made.has(parent.toLowerCase()))
        waiting.push(placement.n);
      else results[placement.n] = resultOf(placement, creations[placement.n]!);
    }
  }
  // Of several nodes with one id the first counts.
  for (const [index, { node }] of creations.entries()) {
    const first = results[firstOf.get(idOf({ node }))!]!;
    results[index] ??= first.result === 'created' ? { result: 'exists' } : first;
  }
  return { results, moves };
}

/** Everything that the nodes stored in this round may be called by, as parents of others. */
function namesOf(creations: readonly NodeCreation[], placements: readonly Placement[]): Set<string> {
  const names = new Set<string>();
  for (const { n, code } of placements) {
    if (code !== CREATED) continue;
    for (const { node } of flatten(creations[n]!.node)) {
      if (node.type !== 'container') continue;
      names.add(node.id);
      if (node.local_id !== null) names.add(node.local_id.toLowerCase());
    }
  }
  return names;
}

async function storeRound(
  context: EngineContext,
  tx: Queryable,
  creations: readonly NodeCreation[],
  placements: readonly Placement[],
  vocabulary: Vocabulary,
): Promise<Moved | null> {
  const placed = placements.filter(({ code }) => code === CREATED);
  if (placed.length === 0) return null;
  const builder = new TreeRowBuilder(vocabulary);
  for (const { n, workflow_id, container_id, position, opens, beside, begun } of placed) {
    const { node, generator_id } = creations[n]!;
    builder.add(node, {
      workflow_id: workflow_id!,
      container_id,
      position: position!,
      opens: opens === true,
      generator_id,
      begun: begun === true,
    });
    // One whose turn has not come, whose earlier attempt made this, may wait for just that container.
    if (beside === true && begun === true) builder.addFiller(generator_id, container_id!);
  }
  return storeNodes(tx, builder.rows, context.now());
}

function resultOf({ code, detail }: Placement, { generator_id, parent }: NodeCreation): NodeCreationResult {
  switch (code) {
    case CREATED:
      return { result: 'created' };
    case EXISTS:
      return { result: 'exists' };
    case 2:
      return rejected(`generator_id: there is no task ${generator_id} in a workflow's tree`);
    case 3:
      return rejected(`generator_id: the task ${generator_id} has ended; only one that runs may create nodes`);
    case NO_CONTAINER:
      return { ...rejected(`parent_id: the generator's workflow has no container ${parent ?? ''}`), transient: true };
    default:
      return rejected(`parent_id: the container has ended${detail === null ? '' : `: ${detail}`}`);
  }
}

function rejected(reason: string): { result: 'rejected'; reason: string; transient: boolean } {
  return { result: 'rejected', reason, transient: false };
}

import { placeOf } from '@heddle/base/parse/path';
import type { NewNode } from '@heddle/base/vocabulary/workflow';
import type { Queryable } from '../../store/database.ts';
import { PLACEMENT_CODE } from '../../store/sql-names.ts';
import type { Moved } from '../../store/transitions.ts';
import { adoptNodes, placeNodes, storeNodes, type Placement } from '../../store/trees.ts';
import type { EngineContext } from '../context.ts';
import { planCreated, resolveOutside, type ReadsOutcome } from '../flow/outside-reads.ts';
import type { FlowPlan, TaskReads } from '../flow/plan.ts';
import type { NodeCreation, NodeCreationResult } from '../port.ts';
import { treeClassFaults } from '../runners/check.ts';
import { vocabularyOf, type Vocabulary } from '../submission-rows.ts';
import { flatten, idOf } from './flatten.ts';
import { tasksOf } from './submit-workflows.ts';
import { TreeRowBuilder } from './tree-rows.ts';

const {
  stored: CREATED,
  exists: EXISTS,
  without_container: NO_CONTAINER,
  stale_attempt: STALE_ATTEMPT,
} = PLACEMENT_CODE;
/** Codes of this module: an expression is invalid; it reads a node that does not exist yet. */
const FAULTY = 7;
const NO_NODE = 8;

/** Data looked up for a set of creations before the transaction. */
interface Prepared {
  vocabulary: Vocabulary;
  /** One entry per creation. */
  plans: readonly FlowPlan[];
}

/** Adds nodes that generators created, in one transaction. A node may go into a container created by the same set. */
export async function createNodes(
  context: EngineContext,
  creations: readonly NodeCreation[],
): Promise<NodeCreationResult[]> {
  if (creations.length === 0) return [];
  const tasks = creations.map(({ node }) => ({ tasks: tasksOf(node) }));
  const vocabulary = await vocabularyOf(context, tasks);
  const plans = creations.map(({ node }) => planOf(node, context));
  const { results, moves } = await context.database.transaction((tx) =>
    createAll(context, tx, creations, { vocabulary, plans }),
  );
  for (const moved of moves) await context.observer.moved(moved);
  const created = tasks.reduce(
    (sum, list, index) => (results[index]!.result === 'created' ? sum + list.tasks.length : sum),
    0,
  );
  context.observer.created(created, created);
  return results;
}

// A runner class that the pool does not have is rejected like an invalid expression.
function planOf(node: NewNode, { resourceClasses }: EngineContext): FlowPlan {
  const plan = planCreated(node);
  plan.faults.push(...treeClassFaults(node, placeOf(null, 'task'), resourceClasses));
  return plan;
}

async function createAll(
  context: EngineContext,
  tx: Queryable,
  creations: readonly NodeCreation[],
  prepared: Prepared,
): Promise<{ results: NodeCreationResult[]; moves: Moved[] }> {
  const results = new Array<NodeCreationResult>(creations.length);
  const moves: Moved[] = [];
  let left = creations.map((_, index) => index);
  while (left.length > 0) {
    const firstOf = new Map<string, number>();
    for (const index of left) {
      const id = idOf(creations[index]!);
      if (!firstOf.has(id)) firstOf.set(id, index);
    }
    await createDistinct(context, tx, creations, [...firstOf.values()], prepared, results, moves);
    // Of several nodes with one id the first counts, unless it came from an ended attempt.
    const repeated = left.filter((index) => results[index] === undefined);
    left = [];
    for (const index of repeated) {
      const first = results[firstOf.get(idOf(creations[index]!))!]!;
      if (first.result === 'stale_attempt') left.push(index);
      else results[index] = first.result === 'created' ? { result: 'exists' } : first;
    }
  }
  return { results, moves };
}

/** Selects nodes with distinct ids. */
async function createDistinct(
  context: EngineContext,
  tx: Queryable,
  creations: readonly NodeCreation[],
  distinct: readonly number[],
  prepared: Prepared,
  results: NodeCreationResult[],
  moves: Moved[],
): Promise<void> {
  let waiting = distinct;
  while (waiting.length > 0) {
    const placements = await placeNodes(
      tx,
      waiting.map((n) => {
        const { node, generator_id, attempt, parent } = creations[n]!;
        return { n, id: idOf({ node }), generator_id, attempt, parent };
      }),
    );
    await adoptRound(tx, creations, placements);
    const reads = await readsOf(tx, placements, prepared.plans);
    const moved = await storeRound(context, tx, creations, placements, reads, prepared.vocabulary);
    if (moved !== null) moves.push(moved);
    const made = namesOf(creations, placements);
    const again: number[] = [];
    for (const placement of placements) {
      const parent = creations[placement.n]!.parent;
      const missing =
        placement.code === NO_CONTAINER ? parent : placement.code === NO_NODE ? reads.missing(placement.n) : null;
      if (missing !== null && made.has(missing.toLowerCase())) again.push(placement.n);
      else results[placement.n] = resultOf(placement, creations[placement.n]!);
    }
    waiting = again;
  }
}

/** Collects every name of the nodes stored in this round: as parents of others, or as read by others. */
function namesOf(creations: readonly NodeCreation[], placements: readonly Placement[]): Set<string> {
  const names = new Set<string>();
  for (const { n, code } of placements) {
    if (code !== CREATED) continue;
    for (const { node } of flatten(creations[n]!.node)) {
      const { id, local_id } = node.type === 'container' ? node : node.task;
      names.add(id);
      if (local_id !== null) names.add(local_id.toLowerCase());
    }
  }
  return names;
}

/** Counts nodes of an earlier attempt that the current one creates again for the current one. */
async function adoptRound(
  tx: Queryable,
  creations: readonly NodeCreation[],
  placements: readonly Placement[],
): Promise<void> {
  const adopted = placements
    .filter(({ adopts }) => adopts)
    .map(({ n, attempt }) => ({ id: idOf(creations[n]!), attempt: attempt! }));
  if (adopted.length > 0) await adoptNodes(tx, adopted);
}

/** Resolves what the expressions of a round's nodes read; sets the codes of the nodes with faults. */
interface RoundReads {
  of(n: number): ReadonlyMap<string, TaskReads>;
  missing(n: number): string | null;
}

async function readsOf(
  tx: Queryable,
  placements: readonly Placement[],
  plans: readonly FlowPlan[],
): Promise<RoundReads> {
  const places = placements.flatMap(({ n, code, workflow_id, container_id, position }) =>
    code === CREATED && (plans[n]!.reads.size > 0 || plans[n]!.faults.length > 0)
      ? [{ n, workflow_id: workflow_id!, container_id: container_id!, position: position! }]
      : [],
  );
  const outcomes =
    places.length === 0 ? new Map<number, ReadsOutcome>() : await resolveOutside(tx, places, (n) => plans[n]!);
  for (const placement of placements) {
    const outcome = outcomes.get(placement.n);
    if (outcome === undefined || 'reads' in outcome) continue;
    placement.code = outcome.missing === null ? FAULTY : NO_NODE;
    placement.detail = outcome.fault;
  }
  const outcomeOf = (n: number): ReadsOutcome | undefined => outcomes.get(n);
  return {
    of: (n) => {
      const outcome = outcomeOf(n);
      return outcome !== undefined && 'reads' in outcome ? outcome.reads : NO_READS;
    },
    missing: (n) => {
      const outcome = outcomeOf(n);
      return outcome !== undefined && 'missing' in outcome ? outcome.missing : null;
    },
  };
}

const NO_READS: ReadonlyMap<string, TaskReads> = new Map();

async function storeRound(
  context: EngineContext,
  tx: Queryable,
  creations: readonly NodeCreation[],
  placements: readonly Placement[],
  reads: RoundReads,
  vocabulary: Vocabulary,
): Promise<Moved | null> {
  const placed = placements.filter(({ code }) => code === CREATED);
  if (placed.length === 0) return null;
  const builder = new TreeRowBuilder(vocabulary);
  for (const { n, workflow_id, container_id, position, opens, beside, begun, attempt } of placed) {
    const { node, generator_id } = creations[n]!;
    builder.add(node, {
      workflow_id: workflow_id!,
      container_id,
      position: position!,
      opens: opens === true,
      generator: { id: generator_id, attempt: attempt! },
      begun: begun === true,
      reads: reads.of(n),
    });
    // A generator that waits, and whose earlier attempt created this, may wait for just that container.
    if (beside === true && begun === true) builder.addContainerGenerator(generator_id, container_id!);
  }
  return storeNodes(tx, builder.rows, context.now());
}

function resultOf({ code, detail }: Placement, { generator_id, parent }: NodeCreation): NodeCreationResult {
  switch (code) {
    case CREATED:
      return { result: 'created' };
    case EXISTS:
      return { result: 'exists' };
    case STALE_ATTEMPT:
      return { result: 'stale_attempt' };
    case 2:
      return rejected(`generator_id: there is no task ${generator_id} in a workflow's tree`);
    case 3:
      return rejected(`generator_id: the task ${generator_id} has ended; only a running generator may create nodes`);
    case FAULTY:
      return rejected(detail ?? '');
    case NO_NODE:
      return { ...rejected(detail ?? ''), transient: true };
    case NO_CONTAINER:
      return { ...rejected(`parent_id: the generator's workflow has no container ${parent ?? ''}`), transient: true };
    default:
      return rejected(`parent_id: the container has ended${detail === null ? '' : `: ${detail}`}`);
  }
}

function rejected(reason: string): { result: 'rejected'; reason: string; transient: boolean } {
  return { result: 'rejected', reason, transient: false };
}

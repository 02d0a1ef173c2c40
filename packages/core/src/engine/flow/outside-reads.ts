import { placeOf, quoted } from '@heddle/base/parse/path';
import type { NewNode } from '@heddle/base/vocabulary/workflow';
import type { Queryable } from '../../store/database.ts';
import { findNodesBefore, type NamedRead } from '../../store/flow.ts';
import { planFlow, type FlowPlan, type TaskReads } from './plan.ts';

/** Checked expressions of a node that a generator created, as far as the node alone allows. */
export function planCreated(node: NewNode): FlowPlan {
  return planFlow(node, placeOf(null, 'task'), true);
}

/** Parent of the new node. */
export interface NewPlace {
  n: number;
  workflow_id: string;
  container_id: string;
  position: number;
}

/** Result of resolving the reads of one new node. */
export type ReadsOutcome =
  | { reads: Map<string, TaskReads> }
  /** `missing`: the workflow has no such node yet, but the message that creates it may be on its way. */
  | { fault: string; missing: string | null };

/** Resolves in one statement what the expressions of new nodes read from their workflows. */
export async function resolveOutside(
  tx: Queryable,
  places: readonly NewPlace[],
  planOf: (n: number) => FlowPlan,
): Promise<Map<number, ReadsOutcome>> {
  const asked = places.flatMap((place): NamedRead[] => {
    const names = [...new Set(planOf(place.n).outside.map(({ name }) => name))];
    return names.length === 0 ? [] : [{ ...place, names }];
  });
  const found = new Map((await findNodesBefore(tx, asked)).map((node) => [`${node.n} ${node.name}`, node] as const));
  return new Map(
    places.map(({ n }): [number, ReadsOutcome] => {
      const plan = planOf(n);
      if (plan.faults.length > 0) return [n, { fault: plan.faults.slice(0, 5).join('; '), missing: null }];
      const reads = new Map([...plan.reads].map(([id, { nodes, data }]) => [id, { nodes: { ...nodes }, data }]));
      for (const { task_id, name, field } of plan.outside) {
        const node = found.get(`${n} ${name}`);
        if (node?.id === null || node === undefined) {
          return [
            n,
            {
              fault: `${field}: the workflow must have exactly one node ${quoted(name)}`,
              missing: name,
            },
          ];
        }
        if (!node.before)
          return [n, { fault: `${field}: the node ${quoted(name)} does not precede this task`, missing: null }];
        // Templates read by name when they are rendered.
        const own = reads.get(task_id);
        if (own !== undefined) own.nodes[name] = node.id;
      }
      return [n, { reads }];
    }),
  );
}

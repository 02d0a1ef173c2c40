import type { Container, TreeTask } from '@heddle/client';
import { parseTime } from '../times.ts';
import { stateOf, stateOfTreeTask } from '../ui/state.ts';
import type { State } from '../ui/state.ts';

interface NodeBase {
  readonly id: string;
  readonly parent: string | null;
  readonly label: string;
  readonly localId: string | null;
  readonly position: number;
  readonly state: State;
  readonly policy: Container['policy'];
  readonly reason: string | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

export interface TaskNode extends NodeBase {
  readonly type: 'task';
  readonly kind: string;
  readonly attempt: number;
  readonly updatedAt: number;
  /** For a generator: existing nodes and announced nodes. */
  readonly created: number | null;
  readonly expected: number | null;
}

export interface ContainerNode extends NodeBase {
  readonly type: 'container';
  readonly mode: 'sequential' | 'parallel';
  readonly counts: Container['counts'];
  /** Generators elsewhere that may still add children. */
  readonly openGenerators: number;
}

export type TreeNode = TaskNode | ContainerNode;

const MODE_LABEL = { sequential: 'Sequence', parallel: 'Parallel' } as const;

export function nodeOf(wire: Container | TreeTask, parent: string | null): TreeNode {
  const base = {
    id: wire.id,
    parent,
    localId: wire.local_id,
    position: wire.position,
    policy: wire.policy,
    reason: wire.reason,
    startedAt: parseTime(wire.started_at),
    endedAt: parseTime(wire.ended_at),
  };
  if (wire.type === 'container') {
    const label = wire.local_id ?? MODE_LABEL[wire.mode];
    return {
      type: 'container',
      ...base,
      // A container needs no worker: until it starts, it waits for what precedes it.
      state: wire.state === 'Pending' ? 'waiting' : stateOf(wire.state),
      label,
      mode: wire.mode,
      counts: wire.counts,
      openGenerators: wire.open_generators,
    };
  }
  return {
    type: 'task',
    ...base,
    state: stateOfTreeTask(wire),
    label: wire.name,
    kind: wire.kind,
    attempt: wire.attempt,
    updatedAt: parseTime(wire.last_updated) ?? 0,
    created: wire.expansion?.created ?? null,
    expected: wire.expansion?.expected ?? null,
  };
}

/** Whether two nodes are displayed the same. */
export function sameNode(a: TreeNode, b: TreeNode): boolean {
  return (Object.keys(b) as (keyof TreeNode)[]).every(
    (key) => a[key] === b[key] || ((key as string) === 'counts' && sameCounts(a, b)),
  );
}

function sameCounts(a: TreeNode, b: TreeNode): boolean {
  if (a.type !== 'container' || b.type !== 'container') return false;
  return (Object.keys(b.counts) as (keyof Container['counts'])[]).every((key) => a.counts[key] === b.counts[key]);
}

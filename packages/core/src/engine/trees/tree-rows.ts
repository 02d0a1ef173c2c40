import { TASK_STATE_CODE } from '@heddle/base/vocabulary/task-state';
import {
  COMPLETION_POLICY_CODE,
  CONTAINER_MODE_CODE,
  type NewContainerNode,
  type NewNode,
  type NewTaskNode,
} from '@heddle/base/vocabulary/workflow';
import type { NodeRows } from '../../store/trees.ts';
import type { TaskReads } from '../flow/plan.ts';
import { RowBuilder, type Generator, type Vocabulary } from '../submission-rows.ts';
import { generatorPairsOf, flatten, idOf, isContainer, isTask, type FlatNode } from './flatten.ts';

/** Position of a new subtree. */
export interface Target {
  workflow_id: string;
  /** Null for the root of a workflow. */
  container_id: string | null;
  position: number;
  /** Its container is open and runs its children in parallel, so the node may start. */
  opens: boolean;
  generator: Generator | null;
  /** The generator may start, so its nodes may wait for it. */
  begun: boolean;
  /** Reads of the expressions in its tasks' inputs. */
  reads: ReadonlyMap<string, TaskReads>;
}

const DISABLED = { state: TASK_STATE_CODE.disabled, reason: 'it was submitted as disabled', cause: null };

/** Collects the rows of subtrees for one call of store_nodes. */
export class TreeRowBuilder {
  readonly #tasks: RowBuilder;
  readonly #containers: NodeRows['containers'] = [];
  readonly #containerGenerators = new Map<string, [string, string]>();
  readonly #touched = new Set<string>();
  readonly #opened = new Set<string>();
  readonly #parents = new Map<string, NodeRows['parents'][number]>();
  readonly #counts = new Map<string, NodeRows['counts'][number]>();
  readonly #generators = new Map<string, NodeRows['generators'][number]>();
  readonly #kindIds: readonly number[];

  constructor(vocabulary: Vocabulary) {
    this.#tasks = new RowBuilder(vocabulary);
    this.#kindIds = [...vocabulary.kinds.values()];
  }

  get rows(): NodeRows {
    return {
      containers: this.#containers,
      tasks: this.#tasks.rows.tasks,
      specs: this.#tasks.rows.specs,
      parents: [...this.#parents.values()],
      counts: [...this.#counts.values()],
      generators: [...this.#generators.values()],
      container_generators: [...this.#containerGenerators.values()],
      touched: [...this.#touched],
      opened: [...this.#opened],
      kindIds: this.#kindIds,
    };
  }

  add(root: NewNode, target: Target): void {
    const list = flatten(root);
    for (const flat of list) {
      if (isContainer(flat)) this.#addContainer(flat, list, target);
      else if (isTask(flat)) this.#addTask(flat, list, target);
    }
    for (const pair of generatorPairsOf(list)) this.addContainerGenerator(...pair);
    const { generator } = target;
    if (generator === null) return;
    for (const flat of list) {
      if (!target.begun || !isContainer(flat) || flat.node.children.length > 0) continue;
      this.addContainerGenerator(generator.id, flat.node.id);
    }
    const made = this.#generators.get(generator.id) ?? {
      task_id: generator.id,
      attempt: generator.attempt,
      created: 0,
    };
    made.created += 1;
    this.#generators.set(made.task_id, made);
  }

  addContainerGenerator(generator: string, container: string): void {
    this.#containerGenerators.set(`${generator} ${container}`, [generator, container]);
  }

  #addContainer(flat: FlatNode & { node: NewContainerNode }, list: readonly FlatNode[], target: Target): void {
    const { node } = flat;
    const isRoot = flat.parent < 0;
    const disabled = node.children.filter((child) => child.type === 'task' && child.disabled).length;
    this.#containers.push({
      id: node.id,
      workflow_id: target.workflow_id,
      parent_id: isRoot ? target.container_id : idOf(list[flat.parent]!),
      position: isRoot ? target.position : flat.position,
      mode: CONTAINER_MODE_CODE[node.mode],
      policy: COMPLETION_POLICY_CODE[node.policy],
      local_id: node.local_id,
      children: node.children.length,
      disabled,
      generator_id: isRoot ? (target.generator?.id ?? null) : null,
      generator_attempt: isRoot ? (target.generator?.attempt ?? null) : null,
    });
    this.#countsOf(target.workflow_id);
    if (isRoot) {
      this.#joinContainer(target, false);
      if (target.container_id === null || target.opens) this.#opened.add(node.id);
    }
    if (disabled > 0 && disabled === node.children.length) this.#touched.add(node.id);
  }

  #addTask(flat: FlatNode & { node: NewTaskNode }, list: readonly FlatNode[], target: Target): void {
    const { node } = flat;
    const isRoot = flat.parent < 0;
    const sealed = !node.disabled && !(isRoot && target.opens);
    const reads = target.reads.get(node.task.id);
    this.#tasks.addTask(node.task, target.workflow_id, {
      open_gates: sealed ? 1 : 0,
      linked: true,
      ...(node.disabled ? { ended: DISABLED } : {}),
      ...(reads === undefined ? {} : { reads }),
      place: {
        container_id: isRoot ? target.container_id! : idOf(list[flat.parent]!),
        position: isRoot ? target.position : flat.position,
        policy: COMPLETION_POLICY_CODE[node.policy],
        sealed,
        generates: node.generates,
        generator: isRoot ? target.generator : null,
      },
    });
    const counts = this.#countsOf(target.workflow_id);
    counts.tasks += 1;
    if (!node.disabled) counts.open += 1;
    if (isRoot) this.#joinContainer(target, node.disabled);
  }

  /** Counts one more child of an existing container. */
  #joinContainer({ container_id, opens }: Target, disabled: boolean): void {
    if (container_id === null) return;
    const parent = this.#parents.get(container_id) ?? { id: container_id, children: 0, disabled: 0 };
    parent.children += 1;
    if (disabled) parent.disabled += 1;
    this.#parents.set(container_id, parent);
    // The new child may be the only thing a sequence has left to do.
    if (!opens || disabled) this.#touched.add(container_id);
  }

  #countsOf(workflowId: string): NodeRows['counts'][number] {
    const counts = this.#counts.get(workflowId) ?? {
      workflow_id: workflowId,
      tasks: 0,
      open: 0,
      kinds: this.#tasks.kindsOf(workflowId),
    };
    this.#counts.set(workflowId, counts);
    return counts;
  }
}

import type { CompletionPolicy, ContainerMode } from '@heddle/base/vocabulary/workflow';
import type { UsageClass } from '@heddle/base/vocabulary/resource-class';
import type { GivenSettings } from '@heddle/base/vocabulary/task-fields';
import type { JsonObject } from '@heddle/base/json';
import type { KindDefinition, RetryOptions } from './define-kind.ts';

/** Shared by all copies of this package: a module may bring its own. */
const NODE: unique symbol = Symbol.for('heddle.node') as never;

export interface NodeOptions {
  /**
   * Distinguishes the node from others of its generator, so that a second run creates the same one; also used by
   * `parent`. Nodes without a key are distinguished by their order.
   */
  key?: string;
  /** Unique name in the whole workflow, shown in results. Also the default key. */
  local_id?: string;
  /** Which of its failures the sequence around it tolerates; `FailOnFailure` (none) by default. */
  policy?: CompletionPolicy;
}

/** Delays a task while too many similar ones run: of its kind, with the same input in `fields`. */
export interface ConcurrencyRule {
  type: 'Concurrency';
  matcher: RuleMatcher;
  max_concurrency: number;
}

/** Delays a task while similar ones have too much work left. */
export interface CapacityRule {
  type: 'Capacity';
  matcher: RuleMatcher;
  max_capacity: number;
}

export interface RuleMatcher {
  kind: string;
  status?: 'Running';
  fields: readonly string[];
}

/** Requirements for the runners reserved for a task. */
export interface RequirementsOptions {
  /** Resource class of the runner. */
  resource_class: string;
  /** `on-demand` by default; `spot` runners may be interrupted at any time. */
  usage_class?: UsageClass;
  /** Patterns, with `*` for any string; empty: any type of the class. */
  allowed_instance_types?: readonly string[];
  /** Minimum number of processors. */
  cpu?: number;
  /** Minimum memory, with its unit, such as `4GiB`, or as a whole number of MiB. */
  memory?: string | number;
  /** The same in MiB; use one of the two. */
  memory_mib?: number;
  /** Number of runners required together; 1 by default. */
  count?: number;
}

/**
 * `timeout_secs`: seconds from the last sign of activity, or with a `timeout_basis` of `start` from the start.
 * `priority`: higher starts first; 0 by default.
 */
export interface TaskOptions extends NodeOptions, GivenSettings<'tree'> {
  /** The local id by default, else the key, else the kind. */
  name?: string;
  /** Minimum delay between creation and start. */
  delay_secs?: number;
  retry?: RetryOptions;
  rules?: readonly (ConcurrencyRule | CapacityRule)[];
  /** Runs the task on a runner of the pool, and waits until one is granted. */
  requirements?: RequirementsOptions;
  /** Stored, but never run. */
  disabled?: boolean;
  /** Whether it creates nodes itself; by default as its kind declares. */
  generator?: boolean;
}

export interface TaskNode {
  readonly [NODE]: 'task';
  readonly kind: string;
  readonly input: JsonObject;
  readonly options: TaskOptions;
}

export interface ContainerNode {
  readonly [NODE]: 'container';
  readonly mode: ContainerMode;
  readonly children: readonly Node[];
  readonly options: NodeOptions;
}

/** A part of a workflow that a generator creates. */
export type Node = TaskNode | ContainerNode;

/** A node with its target container. */
export interface Placed {
  readonly [NODE]: 'placed';
  readonly node: Node;
  readonly parent: Parent;
}

/** A container of the same workflow: its id, its name in the submission, its key, or the node itself. */
export type Parent = string | ContainerNode;

/**
 * Creates a task. With a definition, its input is typed, and the definition provides defaults for time limit, retries
 * and whether it generates.
 */
export function task<Input>(kind: KindDefinition<Input>, input: NoInfer<Input>, options?: TaskOptions): TaskNode;
export function task(kind: string, input?: JsonObject, options?: TaskOptions): TaskNode;
export function task(kind: string | KindDefinition, input: unknown = {}, options: TaskOptions = {}): TaskNode {
  if (typeof kind === 'string') return { [NODE]: 'task', kind, input: input as JsonObject, options };
  const { name, timeout_secs, timeout_basis, retry, generator } = kind;
  const defaults = {
    ...(timeout_secs === undefined ? {} : { timeout_secs }),
    ...(timeout_basis === undefined ? {} : { timeout_basis }),
    ...(retry === undefined ? {} : { retry }),
  };
  return { [NODE]: 'task', kind: name, input: input as JsonObject, options: { ...defaults, generator, ...options } };
}

/** Creates a container whose children run one after another. */
export function sequential(children: readonly Node[], options: NodeOptions = {}): ContainerNode {
  return { [NODE]: 'container', mode: 'sequential', children, options };
}

/** Creates a container whose children run concurrently. */
export function parallel(children: readonly Node[], options: NodeOptions = {}): ContainerNode {
  return { [NODE]: 'container', mode: 'parallel', children, options };
}

/** Places a yielded node into that container instead of the generator's own. */
export function into(parent: Parent, node: Node): Placed {
  return { [NODE]: 'placed', node, parent };
}

export function isTaskNode(value: unknown): value is TaskNode {
  return tagOf(value) === 'task';
}

export function isContainerNode(value: unknown): value is ContainerNode {
  return tagOf(value) === 'container';
}

export function isNode(value: unknown): value is Node {
  return isTaskNode(value) || isContainerNode(value);
}

export function isPlaced(value: unknown): value is Placed {
  return tagOf(value) === 'placed';
}

function tagOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? (value as { [NODE]?: unknown })[NODE] : undefined;
}

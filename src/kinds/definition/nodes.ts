import type { CompletionPolicy, ContainerMode } from '../../domain/workflow.ts';
import type { UsageClass } from '../../domain/runner/resource-class.ts';
import type { DeadlineBasis } from '../../domain/task.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { KindDefinition, RetryOptions } from './define-kind.ts';

/** Known across copies of this package: a module may bring its own. */
const NODE: unique symbol = Symbol.for('heddle.node') as never;

export interface NodeOptions {
  /**
   * Tells the node from the others of its generator, so that a second run makes the same one; also what `parent` names
   * it by. Nodes without one are told apart by the order in which they come.
   */
  key?: string;
  /** Its name in the whole workflow, where no other node may have it; what results show. Also its key, without another. */
  local_id?: string;
  /** What its end may be without stopping its sequence; `FailOnFailure` by default. */
  policy?: CompletionPolicy;
}

/** Holds a task back while too many that are like it run: of its kind, with the same input in `fields`. */
export interface ConcurrencyRule {
  type: 'Concurrency';
  matcher: RuleMatcher;
  max_concurrency: number;
}

/** Holds a task back while those that are like it have too much work left. */
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

/** What a task asks of the runners that it is to have to itself. */
export interface RequirementsOptions {
  /** Size of the runner, as the pool names it. */
  resource_class: string;
  /** `on-demand` by default; `spot` runners may be taken away at any moment. */
  usage_class?: UsageClass;
  /** Patterns, `*` for any text; none: any type of the class. */
  allowed_instance_types?: readonly string[];
  /** Least processors. */
  cpu?: number;
  /** Least memory, with its unit, such as `4GiB`, or as a whole number of MiB. */
  memory?: string | number;
  /** The same in MiB; one of the two. */
  memory_mib?: number;
  /** Runners wanted together; 1 by default. */
  count?: number;
}

export interface TaskOptions extends NodeOptions {
  /** The local id by default, else the key, else the kind. */
  name?: string;
  timeout_secs?: number;
  /** `activity` (the default): counted from the last sign of activity; `start`: from the start, whatever happens. */
  timeout_basis?: DeadlineBasis;
  priority?: number;
  /** Not started before so much time has passed since it was made. */
  delay_secs?: number;
  retry?: RetryOptions;
  rules?: readonly (ConcurrencyRule | CapacityRule)[];
  /** It runs on a runner of the pool, and waits until it has one. */
  requirements?: RequirementsOptions;
  /** Stored, but never run. */
  disabled?: boolean;
  /** Whether it makes nodes itself; by default what its kind says. */
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

/** Part of a workflow that a generator makes. */
export type Node = TaskNode | ContainerNode;

/** A node with the place that it goes to. */
export interface Placed {
  readonly [NODE]: 'placed';
  readonly node: Node;
  readonly parent: Parent;
}

/** A container of the same workflow: its id, its name in the submission, the key it was made with, or the node made. */
export type Parent = string | ContainerNode;

/**
 * A task of a workflow. With a definition its input is typed, and the definition's time limit, retries and whether it
 * generates are what the options do not say.
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

/** Children that run one after the other. */
export function sequential(children: readonly Node[], options: NodeOptions = {}): ContainerNode {
  return { [NODE]: 'container', mode: 'sequential', children, options };
}

/** Children that run side by side. */
export function parallel(children: readonly Node[], options: NodeOptions = {}): ContainerNode {
  return { [NODE]: 'container', mode: 'parallel', children, options };
}

/** The node, to go into that container instead of the generator's own: what a generator yields. */
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

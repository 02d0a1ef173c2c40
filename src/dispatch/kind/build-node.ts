import type { JsonObject } from '../../domain/json.ts';
import type { NewTask, RetryPolicy } from '../../domain/task.ts';
import { COMPLETION_POLICIES, type CompletionPolicy, type NewNode } from '../../domain/workflow.ts';
import type { RetryOptions } from './define-kind.ts';
import { toJson } from './json-value.ts';
import { isContainerNode, isTaskNode, type Node, type TaskNode } from './nodes.ts';

/** Limits of one node with all that is below it. */
export const NODES_MAX = 1000;
const DEPTH_MAX = 1000;
const INPUT_BYTES_MAX = 64 * 1024;
const NAME_CHARACTERS_MAX = 255;
const KIND_CHARACTERS_MAX = 100;
const TIMEOUT_SECS = 3600;
const TIMEOUT_SECS_MAX = 86_400;

/** A node ready to be stored, and how many nodes it is made of. */
export interface BuiltNode {
  node: NewNode;
  nodes: number;
}

/** Gives a node its id, by its key or by where it stands under its maker. */
export type NameNode = (spec: Node, makerId: string, ordinal: number) => string;

/**
 * Builds what is stored from what a generator made; ids come from `nameNode`.
 *
 * @throws TypeError that names what is wrong with the node
 */
export function buildNode(spec: Node, id: string, nameNode: NameNode): BuiltNode {
  let nodes = 0;
  const build = (each: unknown, eachId: string, depth: number): NewNode => {
    nodes += 1;
    if (nodes > NODES_MAX) throw new TypeError(`a node may hold ${NODES_MAX} nodes at most; make them one by one`);
    if (depth > DEPTH_MAX) throw new TypeError(`nodes may be nested ${DEPTH_MAX} levels deep at most`);
    if (isTaskNode(each)) return buildTask(each, eachId);
    if (!isContainerNode(each)) throw new TypeError('a node must be made by task(), sequential() or parallel()');
    const children = each.children.map((child, ordinal) => build(child, nameNode(child, eachId, ordinal), depth + 1));
    const policy = policyOf(each.options.policy);
    return { type: 'container', id: eachId, local_id: null, mode: each.mode, policy, children };
  };
  return { node: build(spec, id, 1), nodes };
}

function buildTask(spec: TaskNode, id: string): NewNode {
  const { kind, options } = spec;
  requireText('kind', kind, KIND_CHARACTERS_MAX);
  const name = options.name ?? options.key ?? kind;
  requireText('name', name, NAME_CHARACTERS_MAX);
  const input = toJson(spec.input, `input of ${name}`, INPUT_BYTES_MAX);
  if (input === null || typeof input !== 'object' || Array.isArray(input)) {
    throw new TypeError(`input of ${name}: must be an object`);
  }
  return {
    type: 'task',
    policy: policyOf(options.policy),
    disabled: options.disabled ?? false,
    generates: options.generator ?? kind.endsWith('Generator'),
    task: newTask(id, kind, name, input, options),
  };
}

function newTask(id: string, kind: string, name: string, input: JsonObject, options: TaskNode['options']): NewTask {
  const timeout = options.timeout_secs ?? TIMEOUT_SECS;
  if (!Number.isSafeInteger(timeout) || timeout < 1 || timeout > TIMEOUT_SECS_MAX) {
    throw new TypeError(`timeout_secs of ${name}: must be a whole number between 1 and ${TIMEOUT_SECS_MAX}`);
  }
  const priority = options.priority ?? 0;
  if (!Number.isSafeInteger(priority)) throw new TypeError(`priority of ${name}: must be a whole number`);
  const delaySecs = options.delay_secs ?? 0;
  if (!(delaySecs >= 0 && Number.isFinite(delaySecs))) {
    throw new TypeError(`delay_secs of ${name}: must be a number of at least 0`);
  }
  return {
    id,
    local_id: null,
    name,
    kind,
    timeout_secs: timeout,
    deadline_basis: 'activity',
    priority,
    delay_ms: Math.round(delaySecs * 1000),
    metadata: input,
    expected_count: null,
    actions: [],
    rules: [],
    dedupe: [],
    retry: options.retry === undefined ? null : retryPolicyOf(options.retry),
    dependencies: [],
  };
}

function retryPolicyOf(options: RetryOptions): RetryPolicy {
  return {
    max_attempts: options.max_attempts,
    base_ms: Math.round((options.backoff_secs ?? 1) * 1000),
    factor: options.factor ?? 2,
    max_ms: Math.round((options.max_backoff_secs ?? 300) * 1000),
    jitter: options.jitter ?? 0.5,
  };
}

function policyOf(policy: CompletionPolicy | undefined): CompletionPolicy {
  if (policy === undefined) return 'FailOnFailure';
  if (COMPLETION_POLICIES.includes(policy)) return policy;
  throw new TypeError(`policy: must be one of ${COMPLETION_POLICIES.join(', ')}, not ${policy as string}`);
}

function requireText(field: string, text: unknown, max: number): void {
  if (typeof text === 'string' && text !== '' && text.length <= max) return;
  throw new TypeError(`the ${field} of a task must have 1 to ${max} characters`);
}

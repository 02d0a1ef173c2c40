import type { JsonObject, JsonValue } from '@heddle/base/json';
import type { CreateTaskCollectionMessage, ManagerMessage, StartTaskMessage } from '../message.ts';
import { changedSettings } from '@heddle/base/vocabulary/task-fields';
import type { NewNode, NewTaskNode } from '@heddle/base/vocabulary/workflow';
import { encodeActions } from './actions.ts';
import { encodeWorkflowNotifications } from './notification.ts';
import { encodeDemand } from '../runner/parse-requirements.ts';
import { isGeneratorKind } from './node.ts';
import { encodeRetry } from './retry.ts';
import { encodeRule } from './rules.ts';

/**
 * Encodes a node in its wire form; parsing it gives the same node again. Defaults are omitted, since generators send
 * many messages.
 *
 * @param idsOf the members that identify a node; by default its id and its name
 */
export function encodeNode(node: NewNode, idsOf: (ids: NodeIds) => JsonObject = encodeIds): JsonObject {
  const encoded = encodeAlone(node, idsOf);
  const pending = [{ node, into: encoded }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.node.type !== 'container') continue;
    const children = next.node.children.map((child) => ({ node: child, into: encodeAlone(child, idsOf) }));
    next.into['children'] = children.map(({ into }) => into);
    pending.push(...children);
  }
  return encoded;
}

interface NodeIds {
  id: string;
  local_id: string | null;
}

function encodeIds({ id, local_id }: NodeIds): JsonObject {
  return { id, ...unlessNull('local_id', local_id) };
}

/** Identifies a node by its name alone, for a definition that may be submitted many times. */
export function encodeName({ local_id }: NodeIds): JsonObject {
  return unlessNull('id', local_id);
}

function encodeAlone(node: NewNode, idsOf: (ids: NodeIds) => JsonObject): JsonObject {
  const policy: JsonObject = node.policy === 'FailOnFailure' ? {} : { policy: node.policy };
  if (node.type === 'task') return { ...idsOf(node.task), ...encodeTask(node), ...policy };
  return { ...idsOf(node), mode: node.mode, ...policy, children: [] };
}

function encodeTask({ task, disabled, generates }: NewTaskNode): JsonObject {
  const isDefaultName = task.name === (task.local_id ?? task.kind);
  return {
    kind: task.kind,
    ...(isDefaultName ? {} : { name: task.name }),
    ...(Object.keys(task.metadata).length === 0 ? {} : { input: task.metadata }),
    ...changedSettings('tree', task),
    ...(task.delay_ms === 0 ? {} : { delay: task.delay_ms / 1000 }),
    ...(task.retry === null ? {} : { retry: encodeRetry(task.retry) }),
    ...(task.requirements === undefined ? {} : { requirements: encodeDemand(task.requirements) }),
    ...(task.rules.length === 0 ? {} : { rules: task.rules.map(encodeRule) }),
    ...(task.actions.length === 0 ? {} : encodeActions(task.actions)),
    ...(disabled ? { disabled } : {}),
    ...(generates === isGeneratorKind(task.kind) ? {} : { generator: generates }),
  };
}

function unlessNull(name: string, value: JsonValue): JsonObject {
  return value === null ? {} : { [name]: value };
}

/** Encodes the body of a message to the manager. */
export function encodeManagerMessage(message: ManagerMessage): string {
  switch (message.type) {
    case 'CreateTaskCollection':
      return JSON.stringify({
        ...message,
        collection: encodeCollection(message.collection),
      });
    case 'CreateTask':
      return JSON.stringify({ ...message, task: encodeNode(message.task) });
    case 'CompleteTask':
    case 'HeartbeatTask':
    case 'WorkerSeen':
      return JSON.stringify(message);
  }
}

function encodeCollection({ name, root, notify = [] }: CreateTaskCollectionMessage['collection']): JsonObject {
  const encoded: JsonObject = { name, root: encodeNode(root) };
  return notify.length === 0 ? encoded : { ...encoded, notify: encodeWorkflowNotifications(notify) };
}

/** Encodes the body of a message to a worker. */
export function encodeStartTask(message: StartTaskMessage): string {
  return JSON.stringify(message);
}

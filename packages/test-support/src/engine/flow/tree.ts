import assert from 'node:assert/strict';

import type { JsonObject, JsonValue } from '@heddle/base/json';
import { parseNode, parseWorkflow } from '@heddle/core/domain/parse/workflow';
import type { NewContainerNode, NewNode } from '@heddle/base/vocabulary/workflow';
import type { ClaimedTask, Engine } from '@heddle/core/engine/port';
import { newId } from '@heddle/base/random';
import { claimKind } from '../fixture.ts';

export function parsed(root: JsonObject): NewContainerNode {
  const read = parseWorkflow({ root }, newId);
  assert.ok(read.ok, JSON.stringify(read));
  return read.root;
}

export function parsedNode(node: JsonObject): NewNode {
  const read = parseNode(node, newId);
  assert.ok(read.ok, JSON.stringify(read));
  return read.node;
}

export function seq(...children: JsonObject[]): JsonObject {
  return { mode: 'sequential', children };
}

export function par(...children: JsonObject[]): JsonObject {
  return { mode: 'parallel', children };
}

/** Stores a tree; returns its id. */
export async function submitTree(engine: Engine, root: JsonObject, name: string | null = null): Promise<string> {
  const submission = { name, root: parsed(root), traceparent: null, idempotency: null, job_run_id: null };
  const [result] = await engine.submitWorkflows([submission]);
  return result!.workflow_id;
}

/** Claims one task of a kind and succeeds with this result. */
export async function finishNext(engine: Engine, kind: string, result: JsonValue = null): Promise<ClaimedTask> {
  const [task] = await claimKind(engine, kind, 1);
  assert.ok(task, `no task of the kind ${kind} is ready`);
  await engine.report([{ task_id: task.id, attempt: task.attempt, outcome: 'succeeded', result }]);
  return task;
}

/** The states of a workflow's nodes, tasks and containers, by local id. */
export async function statesOf(engine: Engine, id: string): Promise<Record<string, string>> {
  const read = await engine.getTree(id);
  assert.ok(read);
  const { containers, tasks } = read.tree;
  return Object.fromEntries(
    [...containers, ...tasks].flatMap(({ local_id, state }) => (local_id === null ? [] : [[local_id, state]])),
  );
}

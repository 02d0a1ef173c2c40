import { createHash } from 'node:crypto';

import { HeddleError } from '@heddle/base/errors';
import { canonicalJson, type JsonValue } from '@heddle/base/json';
import type { KnownClasses } from '@heddle/core/domain/runner/parse-requirements';
import type { IdempotencyKey, Submission } from '@heddle/core/engine/port';
import { MAX_DETAILS } from '@heddle/base/json/parse';
import type { DefinitionRepository } from '../ports.ts';
import { FaultList } from '../validation/explain.ts';
import { buildTask } from './build-task.ts';
import { ActionCheck } from './check-action.ts';
import { checkTask } from './check-task.ts';
import { linkDependencies } from './dependencies.ts';
import { readTasks } from './read-tasks.ts';
import { findReferences } from './references.ts';

export interface SubmissionContext {
  batchId: string;
  name: string | null;
  traceparent: string | null;
  idempotency: IdempotencyKey | null;
  newId: () => string;
  definitions: DefinitionRepository;
  ssrf: (url: string) => string | null;
  /** Resource classes of the pool. */
  resourceClasses?: KnownClasses;
}

/** Converts a request's body for the engine; throws VALIDATION_FAILED with every fault, up to a limit. */
export async function buildSubmission(body: unknown, context: SubmissionContext): Promise<Submission> {
  const faults = new FaultList(MAX_DETAILS);
  const tasks = readTasks(body, faults);
  const found = await findReferences(tasks, context.definitions);
  const actions = new ActionCheck(context.ssrf);
  for (const task of tasks) {
    if (faults.full) break;
    checkTask(task, found, actions, context.resourceClasses ?? null, faults);
  }
  const links = linkDependencies(tasks, faults.faults.length === 0, faults);
  if (faults.faults.length > 0) {
    throw new HeddleError('VALIDATION_FAILED', undefined, { details: faults.faults, batchId: context.batchId });
  }
  return {
    workflow_id: context.batchId,
    name: context.name,
    tasks: tasks.map(({ index, dto }) => buildTask(dto, context.newId(), found, links.get(index) ?? [])),
    traceparent: context.traceparent,
    idempotency: context.idempotency,
  };
}

export function idempotencyOf(key: string | null, body: unknown): IdempotencyKey | null {
  if (key === null) return null;
  return {
    key,
    body_hash: createHash('sha256')
      .update(canonicalJson(body as JsonValue))
      .digest('hex'),
  };
}

/** Returns the `Idempotency-Key` of a request, null if there is none. Throws VALIDATION_FAILED if it is invalid. */
export function readIdempotencyKey(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  if (typeof header === 'string' && /^[\x21-\x7e]{1,255}$/.test(header)) return header;
  throw new HeddleError('VALIDATION_FAILED', undefined, {
    details: ['idempotency-key: must be 1 to 255 visible ASCII characters'],
  });
}

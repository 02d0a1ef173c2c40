import { hash } from 'node:crypto';

import type { RemoteFailure } from '../../protocol/codes.ts';
import type { SignedResponse } from '../../protocol/envelope.ts';
import { signResponse } from '../../protocol/mac.ts';
import type { DirectionKeys, Received } from '../../security/port.ts';
import { outcomeTtlMs, type ManagerContext } from '../context.ts';
import { failurePayload, pendingPayload } from '../payloads.ts';
import type { Reply } from '../port.ts';
import type { TaskEntry } from '../task-entry.ts';

/** An unsigned answer. */
export interface Answer {
  readonly payload: Uint8Array;
  /** Empty if the request created or named no task. */
  readonly correlationId: string;
  readonly code: Reply['code'];
  readonly pending: boolean;
  readonly retryAfterSecs?: number | undefined;
}

/** Step 10: builds and signs the reply. @param keys null if the caller's keys are unknown */
export function respond(
  { options }: ManagerContext,
  { request }: Received,
  keys: DirectionKeys | null,
  { payload, correlationId, code, pending, retryAfterSecs }: Answer,
  sequence: number,
): Reply {
  const fields = {
    key_id: request.key_id,
    timestamp_ms: options.clock.now(),
    nonce: request.nonce,
    client: request.client,
    audience: request.audience,
    method: request.method,
    correlation_id: correlationId,
    sequence,
    payload,
  };
  const response: SignedResponse = keys === null ? { ...fields, mac: new Uint8Array(0) } : signResponse(fields, keys);
  return { response, code, pending, retryAfterSecs };
}

/** Returns the task's outcome, or its current state if it has not ended. */
export async function answerOf(context: ManagerContext, { ingress }: Received, task: TaskEntry): Promise<Answer> {
  const { id: correlationId, outcome } = task;
  if (outcome === null || !task.isCompleted) return pendingAnswer(context, task);
  const read = readOutcome(context, task);
  const payload = read instanceof Promise ? await read : read;
  task.delivered = true;
  context.options.audit.append({
    action: 'responded',
    client: task.client,
    correlation_id: correlationId,
    ingress,
    status: outcome.code === null ? 'success' : 'error',
    payload_sha256: hash('sha256', payload, 'hex'),
  });
  return { payload, correlationId, code: outcome.code, pending: false };
}

export function pendingAnswer(context: ManagerContext, task: TaskEntry): Answer {
  const payload = pendingPayload(task, context.options.clock.now(), outcomeTtlMs(context));
  return { payload, correlationId: task.id, code: null, pending: true };
}

export function failureAnswer({ options }: ManagerContext, failure: RemoteFailure, correlationId = ''): Answer {
  const { code, retryAfterSecs } = failure;
  const payload = failurePayload(correlationId, failure, options.clock.now());
  return { payload, correlationId, code, pending: false, retryAfterSecs };
}

function readOutcome({ bytes }: ManagerContext, task: TaskEntry): Uint8Array | Promise<Uint8Array> {
  const { payload } = task.outcome!;
  const read = bytes.read(payload);
  if (!(read instanceof Promise)) return read;
  // The payload may have been moved to another file meanwhile.
  const { segment } = payload.location;
  return read.catch((error: unknown) => {
    if (payload.location.segment === segment) throw error;
    return bytes.read(payload);
  });
}

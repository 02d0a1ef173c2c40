import { REMOTE_CODES, type RemoteCode, type RemoteFailure } from '../protocol/codes.ts';
import type { ErrorResponse, PendingResponse, ResponsePayload } from '../protocol/messages.ts';
import type { JobOutcome } from '../execution/port.ts';
import type { TaskEntry } from './task-entry.ts';

export function encode(payload: ResponsePayload): Buffer {
  return Buffer.from(JSON.stringify(payload));
}

/** Inserts the result's bytes unchanged, because they are validated and may be large. */
function successPayload(correlationId: string, result: Uint8Array, atMs: number): Buffer {
  return Buffer.concat([
    Buffer.from(`{"correlation_id":"${correlationId}","status":"success","result":`),
    result,
    Buffer.from(`,"completed_at":"${new Date(atMs).toISOString()}"}`),
  ]);
}

/** Builds the final response payload of a task. @param atMs milliseconds since the epoch */
export function outcomePayload(correlationId: string, outcome: JobOutcome, atMs: number): Buffer {
  if (outcome.status === 'success') return successPayload(correlationId, outcome.result, atMs);
  const { code, message, details = [] } = outcome;
  return errorPayload(correlationId, code, message, atMs, details.length === 0 ? {} : { details });
}

export function failurePayload(correlationId: string, failure: RemoteFailure, atMs: number): Buffer {
  const { code, message, details, retryAfterSecs, availableEvents } = failure;
  return errorPayload(correlationId, code, message, atMs, {
    ...(details.length === 0 ? {} : { details }),
    ...(retryAfterSecs === undefined ? {} : { retry_after_secs: retryAfterSecs }),
    ...(availableEvents === undefined ? {} : { available_events: availableEvents }),
  });
}

function errorPayload(
  correlation_id: string,
  code: RemoteCode,
  message: string,
  atMs: number,
  more: Partial<ErrorResponse>,
): Buffer {
  return encode({
    correlation_id,
    status: 'error',
    code,
    message: message === '' ? REMOTE_CODES[code].title : message,
    timestamp: new Date(atMs).toISOString(),
    ...more,
  });
}

/** @param ttlMs retention of the outcome once the task has ended */
export function pendingPayload(task: TaskEntry, nowMs: number, ttlMs: number): Buffer {
  const payload: PendingResponse = {
    correlation_id: task.id,
    status: task.state === 'running' || task.state === 'ending' ? 'running' : 'pending',
    event_name: task.accepted.event_name,
    created_at: new Date(task.accepted.created_at_ms).toISOString(),
    expires_at: new Date(nowMs + ttlMs).toISOString(),
    ...(task.progress === null ? {} : { progress: task.progress }),
  };
  return encode(payload);
}

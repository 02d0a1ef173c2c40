import type { LogLimit } from '@heddle/base/log-limit';
import type { Logger } from '@heddle/base/log';
import type { RemoteCode } from '../protocol/codes.ts';
import type { Ingress } from '../protocol/messages.ts';

/** Log fields of a completed task. */
export interface CompletedTask {
  task_id: string;
  correlation_id: string;
  event_name: string;
  duration_ms: number;
  status: 'success' | 'error';
  /** Absent on success. */
  code?: RemoteCode;
  protocol: Ingress;
  client_id: string;
}

export interface RejectedRequest {
  code: RemoteCode;
  message: string;
  protocol: Ingress;
  /** Null if the sender is unknown. */
  client_id: string | null;
  remote_address: string;
  event_name: string | null;
}

/** Logs a completed task as `event: task_completed`. */
export function logTaskCompleted(log: Logger, task: CompletedTask): void {
  const fields = { event: 'task_completed', ...task, duration_ms: Math.round(task.duration_ms * 100) / 100 };
  const end = task.code === undefined ? task.status : task.code;
  log.info(fields, `task ${task.correlation_id} (${task.event_name}): ${end}`);
}

/**
 * Logs a rejected request as `event: task_rejected`; internal errors are logged at error level.
 *
 * @param unknownCallerLines limits log lines of unknown senders, per code
 */
export function logTaskRejected(
  log: Logger,
  { message, ...request }: RejectedRequest,
  unknownCallerLines: LogLimit,
): void {
  const fields = { event: 'task_rejected', ...request };
  const { code, client_id } = request;
  const level = code === 'INTERNAL' ? 'error' : 'info';
  if (client_id === null)
    unknownCallerLines.write(log, level, `task_rejected ${code}`, fields, `request rejected: ${message}`);
  else log[level](fields, `request rejected: ${message}`);
}

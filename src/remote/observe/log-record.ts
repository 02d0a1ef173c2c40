import type { LogLimit } from '../../runtime/log-limit.ts';
import type { Logger } from '../../runtime/log.ts';
import type { RemoteCode } from '../protocol/codes.ts';
import type { Ingress } from '../protocol/messages.ts';

/** A task that is over, as machines filter by it. */
export interface CompletedTask {
  task_id: string;
  correlation_id: string;
  event_name: string;
  duration_ms: number;
  status: 'success' | 'error';
  /** Absent where it succeeded. */
  code?: RemoteCode;
  protocol: Ingress;
  client_id: string;
}

export interface RejectedRequest {
  code: RemoteCode;
  message: string;
  protocol: Ingress;
  /** Null where nobody is known to have sent it. */
  client_id: string | null;
  remote_address: string;
  event_name: string | null;
}

/** One line for each task that is over: `event` is `task_completed`. */
export function logTaskCompleted(log: Logger, task: CompletedTask): void {
  const fields = { event: 'task_completed', ...task, duration_ms: Math.round(task.duration_ms * 100) / 100 };
  const end = task.code === undefined ? task.status : task.code;
  log.info(fields, `task ${task.correlation_id} (${task.event_name}): ${end}`);
}

/**
 * One line for each request that was refused: `event` is `task_rejected`. What is the executor's own fault stands out.
 *
 * @param strangers limits the lines of requests that nobody is known to have sent, by their codes
 */
export function logTaskRejected(log: Logger, { message, ...request }: RejectedRequest, strangers: LogLimit): void {
  const fields = { event: 'task_rejected', ...request };
  const { code, client_id } = request;
  const level = code === 'INTERNAL' ? 'error' : 'info';
  if (client_id === null) strangers.write(log, level, `task_rejected ${code}`, fields, `refused: ${message}`);
  else log[level](fields, `refused: ${message}`);
}

import type { ClientContext } from '../output/client-command.ts';
import { UsageFailure } from '../output/failure.ts';
import { parseJsonObject, printTask } from './task-show.ts';

export interface FinishOptions {
  status: 'Success' | 'Failure';
  reason?: string;
  metadata?: string;
}

export async function finishTask(
  { client, output }: ClientContext,
  { status, reason, metadata }: FinishOptions,
  id: string,
): Promise<undefined> {
  if (status === 'Failure' && reason === undefined) {
    throw new UsageFailure('--reason is needed with --status Failure', { hint: 'give the reason: --reason "…"' });
  }
  if (status === 'Success' && reason !== undefined) {
    throw new UsageFailure('--reason requires --status Failure', { hint: 'remove it' });
  }
  const task = await client.updateTask(id, {
    status,
    ...(reason === undefined ? {} : { failure_reason: reason }),
    ...(metadata === undefined ? {} : { metadata: parseJsonObject(metadata, '--metadata') }),
  });
  printTask(output, task);
  return undefined;
}

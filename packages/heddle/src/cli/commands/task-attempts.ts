import type { Output } from '@heddle/base/terminal/output';
import { writeTable } from '@heddle/base/terminal/table';
import { duration, printable } from '@heddle/base/terminal/text';
import type { ClientContext } from '../output/client-command.ts';
import type { TaskAttempt } from '../output/wire.ts';

export interface AttemptOptions {
  before?: number;
  limit?: number;
}

export async function showAttempts(
  { client, output }: ClientContext,
  { before, limit }: AttemptOptions,
  id: string,
): Promise<undefined> {
  const attempts = await client.taskAttempts(id, {
    ...(before === undefined ? {} : { before }),
    ...(limit === undefined ? {} : { page_size: limit }),
  });
  output.result(attempts, () => {
    if (attempts.length === 0) output.line(before === undefined ? 'it has not been started' : 'no earlier attempts');
    else writeAttempts(output, attempts);
  });
  return undefined;
}

/** Writes attempts as a table, in the given order. */
export function writeAttempts(output: Output, attempts: readonly TaskAttempt[]): void {
  const now = output.clock.now();
  writeTable(
    output,
    [
      { header: 'TRY', value: ({ attempt }) => String(attempt), align: 'right' },
      { header: 'OUTCOME', value: outcomeOf },
      { header: 'STARTED', value: ({ started_at, claimed_at }) => started_at ?? claimed_at ?? '-' },
      { header: 'RAN', value: (attempt) => ranOf(attempt, now), align: 'right' },
      { header: 'BY', value: placeOf, flexible: true },
      { header: 'REASON', value: ({ reason }) => (reason === null ? '' : printable(reason)), flexible: true },
    ],
    attempts,
  );
}

function outcomeOf({ outcome, exit_code }: TaskAttempt): string {
  return `${outcome ?? 'open'}${exit_code === null ? '' : `, exit ${exit_code}`}`;
}

function ranOf({ started_at, ended_at }: TaskAttempt, nowMs: number): string {
  if (started_at === null) return '-';
  return duration((ended_at === null ? nowMs : Date.parse(ended_at)) - Date.parse(started_at));
}

/** The target of its start webhook with the HTTP status of the response, or the worker. */
function placeOf({ target, target_status, claimed_by }: TaskAttempt): string {
  if (target === null) return claimed_by === null ? '-' : printable(claimed_by);
  return `${printable(target)}${target_status === null ? '' : `: ${target_status}`}`;
}
